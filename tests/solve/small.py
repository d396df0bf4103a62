"""Small solves for the tests of solutions and run folders."""

import torch

from pcpinn import Dirichlet, Field, Interval, Natural, Problem, Rectangle, Robin, solve

QUICK = {"cells": (8,), "degree": 2, "width": 6, "depth": 1, "feature_count": 2, "iterations": 3, "device": "cpu"}


def line():
    """-u'' = pi^2 sin(pi x), u = sin(pi x)."""
    return Problem(
        Interval(0, 1),
        flux=lambda x, u: u.grad,
        source=lambda x, u: -(torch.pi**2) * torch.sin(torch.pi * x[0]),
        boundary={"left": Dirichlet(0.0), "right": Dirichlet(0.0)},
        name="line",
    )


def plane():
    """-Laplace u + u = f with u = x + y^2, a Robin side and natural ones."""
    u = lambda x: x[0] + x[1] ** 2  # noqa: E731
    return Problem(
        Rectangle((0, 0), (1, 1)),
        flux=lambda x, u: u.grad,
        source=lambda x, v: v.value - u(x) + 2.0,
        boundary={
            "left": Dirichlet(u),
            "right": Robin(1.0, lambda x: 1 + u(x)),
            "bottom": Dirichlet(u),
            "top": Natural(lambda x, n, v: 2.0),
        },
        name="plane",
    )


def vector():
    """Two components that follow each other: -Laplace v1 + v2 = 0, -Laplace v2 - v1 = 0."""
    return Problem(
        Rectangle((0, 0), (1, 1)),
        flux=lambda x, v: v.grad,
        source=lambda x, v: torch.stack([v.value[1], -v.value[0]]),
        boundary=dict.fromkeys(("left", "right", "bottom", "top"), Dirichlet(lambda x: torch.stack([x[0], 1 - x[1]]))),
        fields=Field("v", components=2),
        name="vector",
    )


def two_fields():
    """A scalar of degree 1 beside a scalar of degree 2."""
    sides = {name: {"p": Dirichlet(lambda x: x[0]), "q": Dirichlet(1.0)} for name in ("left", "right")}
    return Problem(
        Interval(0, 1),
        flux=lambda x, p, q: (p.grad, q.grad),
        source=lambda x, p, q: (q.value, p.value),
        boundary=sides,
        fields=(Field("p", degree=1), Field("q", degree=2)),
        name="two",
    )


def quick(problem=None, **changes):
    """Three iterations on eight cells."""
    return solve(problem or line(), **{**QUICK, **changes})
