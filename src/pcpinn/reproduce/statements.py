"""Definitions, theorems, lemmas and assumptions that a second of arithmetic can check, on problems small enough for it.

What a study is needed for stands in `study_items.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..bench import suite
from ..catalog import find_entry
from ..condition.number import condition_number
from ..discretize.pointwise import Pointwise
from ..precondition.inverse_norm import largest_singular
from ..problem.conditions import Dirichlet
from ..problem.problem import Problem
from ..problem.shape_base import Domain
from ..problem.shapes import Interval
from .compare import NOTHING, Comparison, Line, of_claim
from .found import Found
from .item import ITEMS, Item, nothing

HEADER = ("on", "ours", "paper")
_AGREE = 1e-3  # relative, of numbers that should be the same but for a mesh
_MESH: dict[str, Any] = {"cells": (60,), "degree": 2}
_NO_F = "only the absolute number is defined (Remark A.4); the paper's discrete b has boundary and initial values in it"

Checked = tuple[str, str, str, bool, str]  # on what, ours, the paper's, whether it holds, why not
Check = Callable[[], list[Checked]]


def _same(on: str, ours: float, theirs: float, words: str) -> Checked:
    return (
        on,
        f"{ours:.5g}",
        f"{theirs:.5g}: {words}",
        abs(ours / theirs - 1) < _AGREE,
        f"apart by {ours / theirs - 1:.1e}",
    )


def by_definition() -> list[Checked]:
    """Definition 3.1: errors sin(k P x / 2) of the model problem, whose residuals are known."""
    P = 2.0
    amplified = [P**2 / (k * P / 2) ** 2 for k in range(1, 40)]  # ||f|| / ||u|| = P^2, ||du|| / ||df|| = (2 / (k P))^2
    number = condition_number(find_entry("poisson1d").problem(P=P), **_MESH).condition
    return [_same("poisson1d, P = 2", number, max(amplified), "the largest amplification of 39 errors")]


def bounded() -> list[Checked]:
    """Theorem 3.3: the Lipschitz constant near f, of a nonlinear problem, makes a bound."""
    lines = []
    for radius in (0.3, 0.03):
        u, f = cubic()
        K = max(_inverse_norm(_solve((1 + s) * f)) for s in (-radius, 0.0, radius))
        ours, bound = _relative(u, f, _inverse_norm(u)), _relative(u, f, K)
        on = f"-u'' + u^3 = f, within {radius:g} ||f||"
        lines.append((on, f"{ours:.5g}", f"at most {bound:.5g}", ours <= bound * (1 + 1e-9), "larger than its bound"))
    return lines


@cache
def linear() -> list[Checked]:
    """Theorem A.8: ||f|| / ||u|| ||F^-1|| in closed form, for a linear problem with zero values on the boundary."""
    found = condition_number(find_entry("helmholtz2d").problem(A=2.0), cells=(8, 8), degree=4)
    theory = (8 * math.pi**2 - 1) / (2 * math.pi**2 - 1)
    return [_same("helmholtz2d, A = 2", found.condition, theory, "||f|| / ||u|| ||F^-1||")]


@cache
def lifted() -> list[Checked]:
    """Theorem A.9: with other values on the boundary the number is finite, by the inverse without them."""
    problem = Problem(
        Interval(0.0, 1.0),
        flux=lambda x, u: u.grad,
        source=lambda x, u: -1.0 + 0.0 * x[0],
        boundary={"left": Dirichlet(1.0), "right": Dirichlet(2.0)},
    )
    x, w = np.polynomial.legendre.leggauss(8)
    x = (x + 1) / 2
    norm_u = math.sqrt(w @ (1 + x + x * (1 - x) / 2) ** 2 / 2)
    found = condition_number(problem, **_MESH).condition
    return [_same("-u'' = 1, u(0) = 1, u(1) = 2", found, 1 / (norm_u * math.pi**2), "||f|| / ||u|| ||G||")]


@cache
def differentiable() -> list[Checked]:
    """Theorem A.10: small changes of f are amplified by the derivative's norm; the library linearises, this solves again."""
    u, f = cubic()
    _, _, directions = np.linalg.svd(np.linalg.inv(_derivative(u)))
    size = 1e-4 * np.linalg.norm(f)
    amplified = np.linalg.norm(_solve(f + size * directions[0]) - u) / size
    found = condition_number(_cubic_problem(), **_MESH).condition
    return [_same("-u'' + u^3 = f", found, _relative(u, f, float(amplified)), "a change of f, solved for again")]


def _all_special_cases() -> list[Checked]:
    return [*linear(), *lifted(), *differentiable()]


def even() -> list[Checked]:
    """Lemma A.11: what is amplified most has no sine of a whole period in it."""
    P = 1.0
    found = condition_number(find_entry("poisson1d").problem(P=P), **_MESH).worst
    x = np.linspace(0, 2 * np.pi / P, 400, endpoint=False)
    u = found(x[:, None])[:, 0]
    share = max(abs(u @ np.sin(k * P * x)) for k in range(1, 10)) / np.linalg.norm(u) / math.sqrt(len(x) / 2)
    return [
        ("poisson1d, P = 1", f"a_k at most {share:.1e}", "a_k = 0", bool(share < 1e-6), "it has sines of whole periods")
    ]


def any_size() -> list[Checked]:
    """Lemma B.1, and what follows it: norms by arbitrarily small vectors, and the condition number with P."""
    A = np.random.default_rng(0).normal(size=(30, 30))
    _, worst = largest_singular(lambda v: A @ v, lambda v: A.T @ v, 30, tolerance=1e-10)
    known, small = float(np.linalg.norm(A, 2)), 1e-6 * worst
    lines = [_same("a random matrix", float(np.linalg.norm(A @ small) / np.linalg.norm(small)), known, "its norm")]
    exact = condition_number(find_entry("poisson1d").problem(P=1.0), preconditioner="lu", **_MESH).preconditioned
    assert exact is not None
    assert exact.condition is not None
    return [*lines, _same("poisson1d with P = A", exact.condition, 1.0, "||P^-1 b|| / ||u|| ||A^-1 P||")]


def bounded_domains() -> list[Checked]:
    """Assumption A.1, for all problems of the benchmark."""
    lines = []
    for name in suite("paper"):
        lower, upper = _bounds(_catalog_problem(name))
        sides = np.asarray(upper) - np.asarray(lower)
        holds = bool(np.isfinite(sides).all() and (sides > 0).all())
        lines.append((name, " x ".join(f"{s:.4g}" for s in sides), "bounded, not empty", holds, "not bounded"))
    return lines


def right_hand_sides() -> list[Checked]:
    """Assumption A.3: whether the equations have a right-hand side, by their residual at u = 0."""
    lines = []
    for name in suite("paper"):
        problem = _catalog_problem(name)
        pointwise, (lower, upper) = Pointwise(problem, strong=True), _bounds(problem)
        x = torch.from_numpy(np.random.default_rng(0).uniform(lower, upper, (50, len(lower))))
        zero: Tensor = x.new_zeros((50, problem.components, 1 + problem.domain.dimension))
        holds = bool(pointwise.evaluate(x, zero).abs().max() > 0)
        ours = "there is one" if holds else "f = 0"
        lines.append((name, ours, "||f|| is not 0", holds, _NO_F))
    return lines


def absolute() -> list[Checked]:
    """Remark A.4: without a right-hand side the absolute number is taken."""
    problem = Problem(
        Interval(0.0, 1.0), flux=lambda x, u: u.grad, boundary={"left": Dirichlet(0.0), "right": Dirichlet(1.0)}
    )
    found = condition_number(problem, **_MESH)
    lines = [_same("-u'' = 0, u(1) = 1", found.condition, 1 / math.pi**2, "||F^-1||, the absolute number")]
    return [*lines, ("the same", "absolute", "absolute", not found.relative, "called relative")]


# -u'' + u^3 = f on (0, 1) with u = 0 at both ends, by finite differences: nothing of the library is in it.
_N = 199


@cache
def cubic() -> tuple[np.ndarray, np.ndarray]:
    """u and f at the points."""
    x = np.linspace(0, 1, _N + 2)[1:-1]
    f = 3 * math.pi**2 * np.sin(math.pi * x) + 27 * np.sin(math.pi * x) ** 3
    return _solve(f), f


def _cubic_problem() -> Problem:
    def f(x: Tensor) -> Tensor:
        return 3 * torch.pi**2 * torch.sin(torch.pi * x[0]) + 27 * torch.sin(torch.pi * x[0]) ** 3

    return Problem(
        Interval(0.0, 1.0, name="ends"),
        flux=lambda x, u: u.grad,
        source=lambda x, u: u.value**3 - f(x),
        boundary={"ends": Dirichlet(0.0)},
    )


def _laplacian() -> np.ndarray:
    return (2 * np.eye(_N) - np.eye(_N, k=1) - np.eye(_N, k=-1)) * (_N + 1) ** 2


def _derivative(u: np.ndarray) -> np.ndarray:
    return _laplacian() + np.diag(3 * u**2)


def _solve(f: np.ndarray) -> np.ndarray:
    """By Newton's method."""
    u = np.zeros(_N)
    for _ in range(30):
        step = np.linalg.solve(_derivative(u), f - _laplacian() @ u - u**3)
        u = u + step
        if np.abs(step).max() < 1e-13 * np.abs(u).max():
            break
    return u


def _inverse_norm(u: np.ndarray) -> float:
    return float(1 / np.linalg.svd(_derivative(u), compute_uv=False)[-1])


def _relative(u: np.ndarray, f: np.ndarray, inverse_norm: float) -> float:
    return float(np.linalg.norm(f) / np.linalg.norm(u)) * inverse_norm


def _catalog_problem(name: str) -> Problem:
    entry = find_entry(name)
    return entry.problem(**entry.parameters)


def _bounds(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    assert isinstance(problem.domain, Domain)
    return problem.domain.bounds


def compare(check: Check, found: Found) -> Comparison:
    """One line per number."""
    lines = (Line((on, ours, paper), of_claim(holds), "" if holds else why) for on, ours, paper, holds, why in check())
    return Comparison(HEADER, tuple(lines))


def only_said(where: str, found: Found) -> Comparison:
    """Where something is, of which there are no numbers."""
    return Comparison(HEADER, (Line(("-", where, "-"), NOTHING),))


def _item(name: str, order: int, title: str, statement: str, compared: Callable[[Found], Comparison]) -> Item:
    return ITEMS.register(Item(name, title, statement, nothing, compared, order=order))


_item(
    "definition-3.1", 2031, "The condition number",
    "the largest relative error of u per relative error of f, for errors that tend to zero.", partial(compare, by_definition),
)  # fmt: skip
_item(
    "theorem-3.3", 2033, "A bound of the condition number by a Lipschitz constant",
    "cond is at most ||f|| / ||u|| K, if F^-1 is K-Lipschitz near f.", partial(compare, bounded),
)  # fmt: skip
_item("assumption-a.1", 2101, "Domains are open, bounded and not empty", "so it is.", partial(compare, bounded_domains))
_item(
    "assumption-a.2", 2102, "Well-posedness", "there is exactly one solution, and F^-1 is defined.",
    partial(only_said, "checked before each solve: discretize/wellposed.py refuses what it finds not to be so"),
)  # fmt: skip
_item(
    "assumption-a.3",
    2103,
    "Neither u nor f is zero",
    "needed for the relative number.",
    partial(compare, right_hand_sides),
)
_item(
    "remark-a.4", 2104, "The absolute condition number", "without u or f it is defined without their norms.",
    partial(compare, absolute),
)  # fmt: skip
_item(
    "assumption-a.5", 2105, "The network approximates everything", "any continuous function, as closely as one likes.",
    partial(only_said, "no network does; what ours misses is the training error of every result"),
)  # fmt: skip
_item(
    "remark-a.6", 2106, "The error of approximation is ignored", "as is said.",
    partial(only_said, "it is not ignored here: verdicts and errors are of the network, not of the discrete solution"),
)  # fmt: skip
_item(
    "proposition-a.7", 2107, "The condition number in three special cases", "Theorems A.8, A.9 and A.10 together.",
    partial(compare, _all_special_cases),
)  # fmt: skip
_item(
    "theorem-a.8",
    2108,
    "Linear equations, zero boundary values",
    "cond = ||f|| / ||u|| ||F^-1||.",
    partial(compare, linear),
)
_item(
    "theorem-a.9", 2109, "Linear equations, other boundary values", "cond is finite: ||f|| / ||u|| ||G||, G without them.",
    partial(compare, lifted),
)  # fmt: skip
_item(
    "theorem-a.10", 2110, "Nonlinear equations", "cond = ||f|| / ||u|| ||DF^-1[f]||.", partial(compare, differentiable)
)
_item(
    "lemma-a.11", 2111, "What the inverse of the 1D Poisson problem amplifies most",
    "its coefficients of sin(k P x) vanish, in the proof of Theorem 3.5.", partial(compare, even),
)  # fmt: skip
_item(
    "lemma-b.1", 2201, "Norms by small vectors, and the condition number with P",
    "sup ||A v|| / ||v|| over small v is ||A||; with P = A the condition number becomes 1.", partial(compare, any_size),
)  # fmt: skip
