"""How much of a nonlinear PDE its linear part at u = 0 knows."""

from __future__ import annotations

import numpy as np
import torch

from ..discretize.pointwise import Pointwise
from ..problem.problem import Problem
from .findings import Finding, graded
from .view import View


def nonlinearity_findings(view: View) -> list[Finding]:
    """The derivative of the PDE at the states of solution or data against that at zero, in units of these states."""
    problem = view.problem
    pointwise = Pointwise(problem, strong=True)
    here, zero = (pointwise.jacobian(view.x, s).numpy() for s in (view.state, torch.zeros_like(view.state)))
    kept = np.isfinite(here).reshape(len(here), -1).all(axis=1)
    known = kept & np.isfinite(zero).reshape(len(zero), -1).all(axis=1)
    mode = (
        "accuracy mode uses Newton's method in each step, begins from the last one, and shortens steps where that fails"
        if problem.over_time
        else "accuracy mode uses Newton's method from the linear part, and steps in pseudo-time where that fails"
    )
    advice = "give start= near the solution, or continue from an easier parameter, if Newton's method fails"
    if not known.any():
        text = "the PDE has no finite derivative at u = 0: nothing follows from a linear part"
        return [Finding("nonlinearity", "warning", None, text, advice, mode)]
    units = np.sqrt((view.state.numpy()[known] ** 2).mean(axis=0))  # (C, 1 + d)
    change, size = (
        np.sqrt(((J[known] * units) ** 2).sum(axis=(3, 4)).mean(axis=0)) for J in (here - zero, zero)
    )  # (C, 1 + d): by equation, source and fluxes
    total = np.sqrt((size**2).sum(axis=1))
    moved = np.sqrt((change**2).sum(axis=1))
    if moved.max() <= 1e-9 * max(total.max(), 1e-300):
        return [Finding("nonlinearity", "fine", 0.0, "the PDE is linear")]
    ratio = float((moved / np.maximum(total, 1e-12 * max(moved.max(), total.max()))).max())
    of = "the solution" if view.solved else "the data"
    text = f"at states of {of} the derivative of the PDE differs from its linear part at u = 0 by {ratio:.2g} times that part"
    if ratio >= 1:
        text += ": the linear part says little"
    return [Finding("nonlinearity", graded(ratio, 0.3, 30), ratio, text, advice if ratio >= 30 else "", mode)]


def is_linear(problem: Problem) -> bool:
    """Whether source, flux and density have one derivative at all states, tried at a few; conditions are not looked at."""
    box = problem.domain.bounds  # type: ignore[attr-defined]
    generator = torch.Generator().manual_seed(0)
    lower, upper = (torch.as_tensor(corner, dtype=torch.float64) for corner in box)
    x = lower + (upper - lower) * (0.1 + 0.8 * torch.rand(8, len(lower), generator=generator, dtype=torch.float64))
    states = 1 + torch.rand(2, 8, problem.components, 1 + len(lower), generator=generator, dtype=torch.float64)
    here, there = (Pointwise(problem, strong=True).jacobian(x, state) for state in states)
    return bool((here - there).abs().max() <= 1e-9 * (here.abs().max() + 1e-300))
