"""Signs and coefficients with which a problem has no solution, or no unique one."""

from __future__ import annotations

from ..discretize.outflow import refuse_outflow
from ..discretize.samples import sample_points
from ..discretize.signs import steady_signs
from ..discretize.wellposed import growing, not_finite, undetermined
from ..errors import PcpinnError
from ..problem.problem import Problem
from .findings import Finding
from .view import View, view_of

_POINTS, _FEW = 2000, 100
_MODES = {
    "hyperbolic": "accuracy mode tries, and its levels may not agree",
    "mixed": "accuracy mode tries, and its levels may not agree where the sign changes",
    "reversed": "accuracy mode solves it as it is written",
}
_REFUSED = "accuracy mode refuses the problem with this message before it spends any time"


def refusals(problem: Problem) -> list[Finding]:
    """What accuracy mode refuses; nothing can be measured where there is some."""
    x = sample_points(problem, _POINTS)
    few = x[: min(len(x), 40)]
    found = [not_finite(problem, x), growing(problem, few), undetermined(problem, few)] if len(x) else []
    result = [
        Finding("well-posed", "problem", f.number, f.sentence, f.remedy, _REFUSED)
        for f in found
        if f is not None and (f.kind != "grows" or f.part >= 1)
    ]
    if not result:
        mesh = view_of(problem).mesh
        try:
            refuse_outflow(problem, mesh)
        except PcpinnError as error:
            result.append(Finding("well-posed", "problem", 1.0, error.problem, error.remedy, _REFUSED))
    return result


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
    result = [
        Finding(
            "well-posed", "note" if f.kind == "reversed" else "problem", f.number, f.sentence, f.remedy, _MODES[f.kind]
        )
        for f in steady_signs(problem, view.symbol)
    ]
    return result or [Finding("well-posed", "fine", 0.0, "diffusion is positive everywhere")]
