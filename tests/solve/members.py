"""Solves that several processes share, and the program that each of them runs: members.py RANK SIZE STORE OUT CASE..."""

import sys

import numpy as np
import torch
import torch.distributed as dist

from pcpinn import Dirichlet, Initial, Interval, Problem, Rectangle, solve
from pcpinn.team import end_member

TEN = {"optimiser": "gauss-newton", "iterations": 10, "patience": 0}
COMMON = {"preconditioner": "schwarz", "parts": 4, "width": 8, "depth": 2, "feature_count": 2, "device": "cpu"}
WHOLE = {**COMMON, "size": 0.15, "degree": 2, "certify": False, "tolerance": 0.0}


def reaction(strength):
    """-Laplace u + strength u^3 = f on a square."""
    return Problem(
        Rectangle((0, 0), (1, 1)),
        flux=lambda x, u: u.grad,
        source=lambda x, u: strength * u.value**3 - 20 * torch.sin(3 * x[0]) * x[1],
        boundary=dict.fromkeys(("left", "right", "bottom", "top"), Dirichlet(0.0)),
        name="reaction",
    )


def burgers():
    """u_t + (u^2 / 2)_x = 0.05 u_xx."""
    return Problem(
        Interval(0, 1).over(0, 0.2),
        density=lambda x, t, u: u.value,
        flux=lambda x, t, u: 0.05 * u.grad - 0.5 * u.value**2,
        source=lambda x, t, u: 0.0 * u.value,
        boundary={
            "left": Dirichlet(0.0),
            "right": Dirichlet(0.0),
            "initial": Initial(lambda x: torch.sin(2 * torch.pi * x[0])),
        },
        name="burgers",
    )


MARCH = {**COMMON, "width": 16, "time": "march", "steps": 2, "order": 2, "cells": 16, "mesh.degree": 2}
MARCH |= {"start_iterations": 5, "split_errors": False}
SHORT = {"start_iterations": 2, "newton_iterations": 2}  # some ten iterations in all
CASES = {
    "linear": (reaction(0.0), {**WHOLE, **TEN}),
    "adam": (reaction(0.0), {**WHOLE, "optimiser": "adam", "iterations": 10}),
    "newton": (reaction(30.0), {**WHOLE, **TEN, "forcing": 0.1, "newton_iterations": 3}),
    "march": (burgers(), {**MARCH, "iterations": 0, "newton_iterations": 3}),
}
MORE = {  # by `make test-together`
    "linear, exact matrix": (reaction(0.0), {**WHOLE, **TEN, "matrix": "exact"}),
    "linear, sampled": (reaction(0.0), {**WHOLE, **TEN, "sample": 60}),
    # one step: conjugate gradients magnify rounding a millionfold in each
    "linear, matrix-free": (reaction(0.0), {**WHOLE, **TEN, "iterations": 1, "matrix": "matrix-free"}),
    "newton, adam": (reaction(30.0), {**WHOLE, "optimiser": "adam", "iterations": 10, "newton_iterations": 2}),
    "march, gauss-newton": (burgers(), {**MARCH, **SHORT, "iterations": 2, "head_steps": 1}),
    "march, adam": (burgers(), {**MARCH, **SHORT, "optimiser": "adam", "iterations": 4}),
}
ALL = CASES | MORE


def values(name, **more):
    """The answer to a case on a grid, and the losses on the way."""
    problem, settings = ALL[name]
    answer = solve(problem, settings, accuracy=None, **more)
    lower, upper = (np.asarray(b, dtype=float) for b in problem.domain.bounds)
    x = lower + (upper - lower) * np.random.default_rng(0).random((200, len(lower)))
    return answer(x), np.array([row[2] for row in answer.history.rows])


if __name__ == "__main__":
    rank, size = int(sys.argv[1]), int(sys.argv[2])
    dist.init_process_group("gloo", init_method=f"file://{sys.argv[3]}", rank=rank, world_size=size)
    found = {}
    for case in sys.argv[5:]:
        found[f"{case}: values"], found[f"{case}: losses"] = values(case)
    if rank == 0:
        np.savez(sys.argv[4], **found)
    dist.destroy_process_group()
    end_member(0)
