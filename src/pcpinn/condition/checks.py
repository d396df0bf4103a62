"""Checks of what a user wrote: boundaries without a condition, values that contradict each other, sizes far apart."""

from __future__ import annotations

import math

import numpy as np
import torch

from ..discretize.pointwise import dirichlet_values
from ..mesh.slab_mesh import ENDS, AnyMesh
from ..problem.conditions import Dirichlet, Initial
from ..problem.problem import Problem
from .findings import Finding, graded


def boundary_findings(problem: Problem, mesh: AnyMesh, name: str) -> list[Finding]:
    """Unset boundaries and values that disagree where boundaries meet."""
    partners = {partner for _, partner in problem.periodic_pairs}
    ends = ENDS if problem.over_time else ()  # what belongs there is checked when the problem is discretised
    unset = [
        f"{f.name} on {b}"
        for b in mesh.boundary_names
        for f in problem.unknowns
        if b not in ends and b not in partners and f.name not in problem.conditions.get(b, {})
    ]
    silent = [b for b in mesh.boundary_names if b not in problem.conditions and b not in partners and b not in ends]
    result = []
    if silent:
        text = f"no condition on {', '.join(silent)}: flux . n = 0 is taken"
        result.append(
            Finding("conditions", "warning", float(len(silent)), text, "say Neumann(0) there, if that is meant")
        )
    elif unset and len(problem.unknowns) > 1:
        text = f"natural by default: {', '.join(unset[:4])}" + (f" and {len(unset) - 4} more" if len(unset) > 4 else "")
        result.append(Finding("conditions", "fine", float(len(unset)), text))
    gap, where = corner_gap(problem, mesh, at_start=False)
    if gap > 1e-8:
        text = f"values given on {where[0]!r} and {where[1]!r} differ by {gap:.0%} of their size where they meet: u jumps there"
        advice = "make them meet, or expect slow convergence near there (corners=... with kinks for a network)"
        result.append(Finding("conditions", graded(gap, 0, 0.01), gap, text, advice))
    else:
        result.append(Finding("conditions", "fine", gap, "values given on different boundaries agree where these meet"))
    return result


def corner_gap(problem: Problem, mesh: AnyMesh, at_start: bool = True) -> tuple[float, tuple[str, str]]:
    """The largest difference of two prescribed values at one node, beside the largest value; and the boundaries.

    Args:
        problem, mesh: the values, and where they are compared.
        at_start: whether initial values count.
    """
    cells = mesh.simplices
    worst, where = 0.0, ("", "")
    for f in problem.unknowns:
        low = np.full((f.components, len(cells.nodes)), math.inf)
        high = -low
        who: list[dict[int, str]] = [{} for _ in range(f.components)]
        for boundary, by_field in problem.conditions.items():
            condition = by_field.get(f.name)
            if not isinstance(condition, Dirichlet) or boundary not in cells.boundaries:
                continue
            if isinstance(condition, Initial) and not at_start:
                continue
            nodes = np.unique(cells.boundaries[boundary])
            at = torch.from_numpy(cells.nodes[nodes])
            for k, part in enumerate(dirichlet_values(condition, f, at, boundary, problem.over_time)):
                if part is None:
                    continue
                values = part.numpy()
                both = np.isfinite(low[k, nodes])
                low[k, nodes], high[k, nodes] = (
                    np.minimum(low[k, nodes], values),
                    np.maximum(high[k, nodes], values),
                )
                gap = np.where(both, high[k, nodes] - low[k, nodes], 0.0)
                scale = float(np.abs(high[k][np.isfinite(high[k])]).max(initial=0.0)) or 1.0
                if len(gap) and gap.max() / scale > worst:
                    worst = float(gap.max()) / scale
                    where = (who[k].get(int(nodes[gap.argmax()]), "?"), boundary)
                who[k].update(dict.fromkeys(nodes.tolist(), boundary))
    return worst, where


def scaling_findings(norms: dict[str, float], name: str) -> list[Finding]:
    """Sizes of the solution's components, root mean squares."""
    sizes = {k: v for k, v in norms.items() if v > 0}
    if not sizes:
        return [Finding("scaling", "note", 0.0, "the solution vanishes")]
    result = []
    large, small = max(sizes, key=sizes.__getitem__), min(sizes, key=sizes.__getitem__)
    spread = sizes[large] / sizes[small]
    if spread > 30:
        text = f"{large} is {spread:.3g} times as large as {small}: one norm of all fields sees little of {small}"
        advice = f"write {small} in other units, so that both are of size one"
        result.append(Finding("scaling", graded(spread, 30, 1e3), spread, text, advice))
    size = sizes[large]
    if not 1e-2 < size < 1e2:
        text = f"the solution is of size {size:.2g}: networks like 1 (pcpinn rescales their outputs, an ordinary PINN does not)"
        result.append(Finding("scaling", "note", size, text, f"pcpinn solve {name} --method pcpinn"))
    return result or [
        Finding("scaling", "fine", size, f"the solution is of size {size:.2g}, its parts within {spread:.2g}")
    ]
