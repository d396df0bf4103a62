"""Initial values against what holds on the boundary at the start: where they disagree, the solution begins with a jump."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.func import jacfwd, vmap

from ..discretize.guarded import guard
from ..discretize.pointwise import dirichlet_values, place_and_time
from ..discretize.samples import given_size
from ..errors import PcpinnError
from ..mesh.mesh import Mesh
from ..problem.conditions import Dirichlet, Initial, Value, evaluate
from ..problem.field import Field
from .findings import Finding, graded
from .view import View


def start_findings(view: View) -> list[Finding]:
    """Gaps of values, and of rates where the equation is of second order in time, relative to the larger of both data."""
    problem = view.problem
    given = problem.conditions.get("initial", {}) if problem.over_time else {}
    gaps = [
        (*found, what, f.name, boundary)
        for f in problem.unknowns
        if isinstance(given.get(f.name), Initial)
        for boundary, by_field in problem.conditions.items()
        if boundary not in ("initial", "final") and isinstance(by_field.get(f.name), Dirichlet)
        for what, found in _compared(view, f, given[f.name], by_field[f.name], boundary)  # type: ignore[arg-type]
    ]
    if not gaps:
        return []
    result = []
    for what, word in (("value", "jumps"), ("rate", "has a rate that jumps")):
        own = [g for g in gaps if g[3] == what]
        if not own:
            continue
        gap, at, size, _, name, boundary = max(own, key=lambda g: g[0])
        place = ", ".join(f"{v:.4g}" for v in at)
        if gap <= 1e-6:
            text = f"initial {what}s agree with those given on the boundary"
            result.append(Finding("start", "fine", gap, text))
            continue
        text = (
            f"the initial {what} of {name} and that given on {boundary!r} differ by {gap:.2g} of their size ({size:.3g}) at "
            f"({place}): the solution {word} there at the start"
        )
        advice = "make them agree, if the jump is not meant (a ramp in time, or the right initial values)"
        mode = "accuracy mode shortens steps towards the start and refines cells at that boundary"
        result.append(Finding("start", graded(gap, 0, 0.01), gap, text, advice, mode))
    return result


Compared = tuple[str, tuple[float, np.ndarray, float]]


def _compared(view: View, f: Field, start: Initial, condition: Dirichlet, boundary: str) -> list[Compared]:
    x = _points(view.mesh, boundary, float(view.problem.domain.bounds[0][-1]))  # type: ignore[attr-defined]
    if x is None:
        return []
    result: list[Compared] = []
    try:
        ours = dirichlet_values(start, f, x, "initial", over_time=True)
        theirs = dirichlet_values(condition, f, x, boundary, over_time=True)
        size = given_size(view.problem, f.name, view.x)
        result.append(("value", _gap(ours, theirs, x, size)))
        if start.rate is not None:
            rates = dirichlet_values(Dirichlet(start.rate), f, x, "initial", over_time=True)
            moved = [
                None if part is None else _time_derivative(condition.value, f, k, x) for k, part in enumerate(theirs)
            ]
            result.append(("rate", _gap(rates, moved, x, size / view.duration)))
    except PcpinnError:
        return result
    return result


def _points(mesh: Mesh, boundary: str, t: float) -> Tensor | None:
    facets = mesh.boundaries.get(boundary)
    if facets is None:
        return None
    x = mesh.nodes[np.unique(facets)]
    return torch.from_numpy(np.column_stack([x, np.full(len(x), t)]))


def _gap(
    ours: list[Tensor | None], theirs: list[Tensor | None], x: Tensor, least: float = 0.0
) -> tuple[float, np.ndarray, float]:
    """The largest difference beside the largest value, where it is, and that value."""
    pairs = [(a, b) for a, b in zip(ours, theirs, strict=True) if a is not None and b is not None]
    size = max([least, *(float(torch.maximum(a.abs(), b.abs()).max()) for a, b in pairs)])
    best = (0.0, x[0].numpy(), size)
    for a, b in pairs:
        k = int((a - b).abs().argmax())
        best = max(best, (float((a - b).abs()[k]) / (size or 1.0), x[k].numpy(), size), key=lambda g: g[0])
    return best


def _time_derivative(value: Value, f: Field, component: int, x: Tensor) -> Tensor:
    """d/dt of a component of a boundary value at points with time last: (m,)."""
    own: Value = value
    if isinstance(value, list | tuple):
        own = value[component]

    def at_point(p: Tensor) -> Tensor:
        place, t = place_and_time(p, over_time=True)
        found = torch.as_tensor(evaluate(own, place, t), dtype=p.dtype)
        return found[component] if found.ndim else found

    derivative: Callable[[Tensor], Tensor] = jacfwd(at_point)
    return guard(vmap(derivative), x)[:, -1]
