"""Points of a problem's domain, and states there of the size that its data have: for looking at its functions before a mesh."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.func import jacfwd, vmap

from ..errors import PcpinnError
from ..mesh.mesh import Mesh
from ..problem.conditions import Dirichlet, Initial, evaluate
from ..problem.problem import Problem
from ..problem.shape_base import Domain
from .pointwise import dirichlet_values, place_and_time

_DRAWS = 60  # rounds of drawing points in the box around a domain


def sample_points(problem: Problem, count: int, seed: int = 0) -> Tensor:
    """(n, d) points at random inside the domain, time last; n is `count` unless the domain fills little of its box."""
    random, domain = np.random.default_rng(seed), problem.domain
    if isinstance(domain, Mesh):
        corners = domain.nodes[domain.vertices[random.integers(len(domain.vertices), size=count)]]
        weights = random.dirichlet(np.ones(corners.shape[1]), size=count)
        return torch.from_numpy(np.einsum("ck,ckd->cd", weights, corners))
    assert isinstance(domain, Domain)
    lower, upper = domain.bounds
    found = np.empty((0, domain.dimension))
    for _ in range(_DRAWS):
        x = random.uniform(lower, upper, (count, len(lower)))
        found = np.concatenate([found, x[domain.contains(x)]])
        if len(found) >= count:
            break
    return torch.from_numpy(np.ascontiguousarray(found[:count]))


def lengths(problem: Problem) -> tuple[float, float]:
    """The longest side of the domain, and the length of time (0 where there is none)."""
    lower, upper = (np.asarray(b) for b in problem.domain.bounds)  # type: ignore[attr-defined]
    sides = upper - lower
    return float(sides[: problem.dimension].max()), float(sides[-1]) if problem.over_time else 0.0


def data_states(problem: Problem, x: Tensor) -> Tensor:
    """(n, C, 1 + d): states of the size of the data: initial values with their slopes, else values as given on the boundary.

    Fields that nothing is given for get values about the size of the others, or of one.
    """
    n, d = len(x), x.shape[1]
    generator = torch.Generator().manual_seed(1)
    length, duration = lengths(problem)
    unit = torch.full((d,), 1 / length, dtype=x.dtype)
    if problem.over_time:
        unit[-1] = 1 / duration
    sizes = {f.name: given_size(problem, f.name, x) for f in problem.unknowns}
    usual = max(sizes.values()) or 1.0
    parts = []
    for f in problem.unknowns:
        size = sizes[f.name] or usual
        value = size * (2 * torch.rand((n, f.components, 1), generator=generator, dtype=x.dtype) - 1)
        slope = size * torch.randn((n, f.components, d), generator=generator, dtype=x.dtype) * unit
        state = torch.cat([value, slope], dim=2)
        start = problem.conditions.get("initial", {}).get(f.name) if problem.over_time else None
        if isinstance(start, Initial) and sizes[f.name]:
            state = with_start(problem, start, f.name, x, state)
        parts.append(state)
    return torch.cat(parts, dim=1)


def given_size(problem: Problem, name: str, x: Tensor) -> float:
    """The largest value that is given for a field, as far as its formulas say something at points x."""
    largest, f = 0.0, problem.field(name)
    for boundary, by_field in problem.conditions.items():
        condition = by_field.get(name)
        if not isinstance(condition, Dirichlet):
            continue
        try:
            parts = dirichlet_values(condition, f, x, boundary, problem.over_time)
        except PcpinnError:
            continue
        largest = max([largest, *(float(p.abs().max()) for p in parts if p is not None)])
    return largest


def with_start(problem: Problem, start: Initial, name: str, x: Tensor, state: Tensor) -> Tensor:
    """The state with initial values, and their slopes in space; as it is where these cannot be had."""
    components = problem.field(name).components

    def values(p: Tensor) -> Tensor:
        place, t = place_and_time(p, over_time=True)
        return torch.as_tensor(evaluate(start.value, place, t), dtype=p.dtype).expand(components)

    at = x.clone()
    at[:, -1] = float(problem.domain.bounds[0][-1])  # type: ignore[attr-defined]
    try:
        value, slope = vmap(values)(at), vmap(jacfwd(values))(at)
    except Exception:  # whatever a user's function may raise: it is examined elsewhere
        return state
    started = torch.cat([value[:, :, None], slope[:, :, :-1], state[:, :, -1:]], dim=2)
    return torch.where(torch.isfinite(started), started, state)
