"""Signs of diffusion with which a problem may have no solution, or many: not refused, since states and points are samples."""

from __future__ import annotations

import numpy as np

from ..problem.field import component_names
from ..problem.problem import Problem
from .samples import data_states, sample_points
from .symbol import Symbol, symbol
from .wellposed import IllPosed, growing

_POINTS, _FEW = 200, 100
_BOTH = 0.02  # of the points: at fewer of them it may be rounding


def steady_signs(problem: Problem, at: Symbol) -> list[IllPosed]:
    """Of a problem without time: components whose diffusion is not positive, by kind "hyperbolic", "mixed" or "reversed"."""
    result = []
    for c, name in enumerate(component_names(problem.unknowns)):
        own = at.diffusion[:, c, :, c]
        values = np.linalg.eigvalsh((own + own.swapaxes(1, 2)) / 2)
        size = np.abs(values).max(initial=0.0)
        if size == 0:
            continue
        up, down = (values > 1e-12 * size).any(axis=1), (values < -1e-12 * size).any(axis=1)
        both, part = float((up & down).mean()), float((down & ~up).mean())
        if both > _BOTH:
            text = f"the equation of {name} is hyperbolic at {both:.0%} of the points: diffusion has both signs there"
            remedy = "check the signs of flux; conditions all around do not fit a hyperbolic equation"
            result.append(IllPosed("hyperbolic", both, both, text, remedy))
        elif 0 < part < 1:
            text = f"the diffusion of {name} is negative at {part:.0%} of the points and positive at the others"
            result.append(IllPosed("mixed", part, part, text, "the flux must be +k u.grad with k > 0: check its sign"))
        elif part == 1:
            text = f"the flux of {name} is -k u.grad everywhere: the equation with all signs changed, also those of Neumann data"
            remedy = "write +k u.grad, and change the sign of the source, unless that is meant"
            result.append(IllPosed("reversed", part, part, text, remedy))
    return result


def doubtful(problem: Problem) -> IllPosed | None:
    """What makes a problem unsolvable at some points and states of the size of the data; None where nothing does."""
    x = sample_points(problem, _POINTS)
    if not len(x) or (problem.domain.has_time and not problem.over_time):
        return None
    if problem.over_time:
        return growing(problem, x[:_FEW])
    at = symbol(problem, x, data_states(problem, x))
    return next((f for f in steady_signs(problem, at.at(at.finite)) if f.kind != "reversed"), None)
