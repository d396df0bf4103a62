"""Signs and coefficients with which a problem has no solution, or no unique one."""

from __future__ import annotations

import numpy as np

from ..discretize.samples import sample_points
from ..discretize.wellposed import growing, not_finite, undetermined
from ..problem.field import component_names
from ..problem.problem import Problem
from .findings import Finding
from .view import View

_POINTS, _FEW = 2000, 100
_REFUSED = "accuracy mode refuses the problem with this message before it spends any time"


def refusals(problem: Problem) -> list[Finding]:
    """What accuracy mode refuses; nothing can be measured where there is some."""
    x = sample_points(problem, _POINTS)
    few = x[: min(len(x), 40)]
    found = [not_finite(problem, x), growing(problem, few), undetermined(problem, few)] if len(x) else []
    return [
        Finding("well-posed", "problem", f.number, f.sentence, f.remedy, _REFUSED)
        for f in found
        if f is not None and (f.kind != "grows" or f.part >= 1)
    ]


def sign_findings(view: View) -> list[Finding]:
    """Diffusion of the wrong sign in a part of the domain or at the solution's states; in steady problems, of either sign."""
    problem = view.problem
    if problem.over_time:
        found = growing(problem, view.x[:_FEW], [view.state[:_FEW]])
        if found is None:
            text = "the equation can be solved forwards in time: no wave grows the faster the shorter it is"
            return [Finding("well-posed", "fine", 0.0, text)]
        mode = "accuracy mode tries, and its levels will not agree: finer meshes let finer ripples grow"
        return [Finding("well-posed", "problem", found.number, found.sentence, found.remedy, mode)]
    if problem.domain.has_time:
        return []  # signs along time are those of the equation's kind
    result = []
    for c, name in enumerate(component_names(problem.unknowns)):
        own = view.symbol.diffusion[:, c, :, c]
        values = np.linalg.eigvalsh((own + own.swapaxes(1, 2)) / 2)
        size = np.abs(values).max(initial=0.0)
        if size == 0:
            continue
        up, down = (values > 1e-12 * size).any(axis=1), (values < -1e-12 * size).any(axis=1)
        both, part = float((up & down).mean()), float((down & ~up).mean())
        if both > 0.02:
            text = f"the equation of {name} is hyperbolic at {both:.0%} of the points: diffusion has both signs there"
            remedy = "check the signs of flux; conditions all around do not fit a hyperbolic equation"
            mode = "accuracy mode tries, and its levels may not agree"
            result.append(Finding("well-posed", "problem", both, text, remedy, mode))
        elif 0 < part < 1:
            text = f"the diffusion of {name} is negative at {part:.0%} of the points and positive at the others"
            remedy = "the flux must be +k u.grad with k > 0: check its sign"
            mode = "accuracy mode tries, and its levels may not agree where the sign changes"
            result.append(Finding("well-posed", "problem", part, text, remedy, mode))
        elif part == 1:
            text = f"the flux of {name} is -k u.grad everywhere: the equation with all signs changed, also those of Neumann data"
            remedy = "write +k u.grad, and change the sign of the source, unless that is meant"
            mode = "accuracy mode solves it as it is written"
            result.append(Finding("well-posed", "note", part, text, remedy, mode))
    return result or [Finding("well-posed", "fine", 0.0, "diffusion is positive everywhere")]
