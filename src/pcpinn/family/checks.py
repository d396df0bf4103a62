"""What would make a family senseless, found by sampling before time is spent; the parameter is named."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.func import jacfwd, vmap

from ..discretize.pointwise import Pointwise
from ..discretize.samples import sample_points
from ..discretize.wellposed import refuse_ill_posed, tried_states
from ..errors import PcpinnError
from ..problem.conditions import Condition, Dirichlet, Periodic
from ..problem.mapped import MappedProblem
from ..problem.problem import Problem
from .family import Family

_SAMPLES = 8  # parameters at random, beside the ends of each range
_POINTS = 200


def check_family(family: Family) -> None:
    """Refuse a family whose problems do not fit together, or are ill-posed somewhere in the ranges.

    Raises:
        PcpinnError: with the parameters at fault.
    """
    base = family.base
    x = sample_points(base, _POINTS)
    refuse_ill_posed(base, x)
    usual = _sign(base, x)
    named = family.corners()
    some = family.sample(_SAMPLES, seed=0)
    named += [
        (", ".join(f"{n}={v:.3g}" for n, v in zip(family.labels[:6], mu.tolist(), strict=False)), mu) for mu in some
    ]
    for label, mu in named:
        problem = family.at(mu)
        _require_same(base, problem, label)
        _require_one_to_one(problem, x, label)
        try:
            refuse_ill_posed(problem, x)
        except PcpinnError as error:
            raise PcpinnError(
                f"at {label} the problem is ill-posed: {error.problem}", f"narrow the range; {error.remedy}"
            ) from error
        sign = _sign(problem, x)
        if usual and sign != usual:
            how = {0: "vanishes or has both signs", 1: "is positive", -1: "is negative"}[sign]
            raise PcpinnError(
                f"at {label} the diffusion {how}, unlike in the middle of the ranges: on the way there the problem is ill-posed",
                "narrow the range so that the diffusion keeps its sign; Range(..., log=True) for positive numbers",
            )


def _require_same(base: Problem, problem: Problem, label: str) -> None:
    """Refuse what would change the degrees of freedom or the pattern of the matrix."""
    if problem.domain is not base.domain and problem.domain != base.domain:
        raise PcpinnError(
            f"at {label} the domain is another one, which changes mesh and matrix",
            "keep one reference domain and move it: pcpinn.mapped(problem, lambda X: ...)",
        )
    kept = {"fields": lambda p: p.unknowns, "pins": lambda p: p.pins, "conditions": _kinds, "density": _has("density")}
    for what, of in kept.items():
        if of(problem) != of(base):
            raise PcpinnError(
                f"at {label} the {what} are others than in the middle of the ranges, which changes the pattern of the matrix",
                "let parameters change numbers and functions, not which conditions there are; "
                "Natural(...) goes over from one kind of flux to another",
            )
    for what in ("flux", "source"):
        if _has(what)(problem) != _has(what)(base):
            raise PcpinnError(f"at {label} there is a {what}, or none, unlike elsewhere", "write it for all parameters")


def _require_one_to_one(problem: Problem, x: Tensor, label: str) -> None:
    if isinstance(problem, MappedProblem) and problem.map is not None:
        det = torch.linalg.det(vmap(jacfwd(problem.map))(x[:, : problem.dimension]))
        if not bool((det > 0).all()):
            at = [float(f"{v:.3g}") for v in x[int(det.argmin())].tolist()]
            raise PcpinnError(
                f"at {label} the map folds or turns the domain over: its Jacobian is {float(det.min()):.2g} at {at}",
                "narrow the range, or write a map whose Jacobian stays positive",
            )


def _has(what: str) -> Any:
    return lambda problem: getattr(problem, what) is not None


def _kinds(problem: Problem) -> dict[tuple[str, str], Any]:
    return {(b, f): _kind(c) for b, by_field in problem.conditions.items() for f, c in by_field.items()}


def _kind(condition: Condition) -> Any:
    if isinstance(condition, Periodic):
        return "periodic", condition.partner
    if isinstance(condition, Dirichlet):
        free = [v is None for v in condition.value] if isinstance(condition.value, list | tuple) else None
        return type(condition).__name__, free
    return "natural"


def _sign(problem: Problem, x: Tensor) -> int:
    """1 or -1 where the diffusion of a steady scalar problem is definite at all points, in a usual state; else 0."""
    if problem.components > 1 or problem.domain.has_time or not len(x):
        return 0
    d = problem.dimension
    J = Pointwise(problem).jacobian(x, tried_states(problem, x)[0])[:, 0, 1:, 0, 1:]
    values = torch.linalg.eigvalsh((J + J.mT) / 2)
    if J.shape[-1] != d or not bool(torch.isfinite(values).all()):
        return 0
    small = 1e-12 * float(values.abs().max())
    return 1 if bool((values > small).all()) else -1 if bool((values < -small).all()) else 0


def check_memory(
    family: Family, samples: int, size: int, entries: int, steps: int, weights: int, memory: float
) -> None:
    """Refuse what would not fit: systems of all samples of a step, and the network's inputs at all their nodes.

    Raises:
        PcpinnError: with what to change.
    """
    systems = 8 * samples * (2 * entries + size * (2 * steps + 6))
    inputs = 8 * samples * size * (family.count + 4)
    needed = (systems + inputs) / 2**30
    if needed > memory:
        most = "the parameters themselves" if inputs > systems else "the matrices"
        raise PcpinnError(
            f"{samples} samples of {size} degrees of freedom and {family.count} parameters need {needed:.1f} GiB, "
            f"mostly for {most}, and memory={memory:g}",
            "take fewer samples (samples=32), a coarser mesh or fewer parameters, or raise memory",
        )
    if 8 * weights**2 / 2**30 > 8 * memory:
        raise PcpinnError(
            f"a network of {weights} weights for {family.count} parameters is too large for memory={memory:g}",
            "take a smaller network, fewer parameters, or raise memory",
        )
