"""What boundary data do between the nodes of a wall: a spike of the values given there that is thinner than a facet.

Values, normal fluxes and coefficients of conditions are looked at along lines through each facet, far more densely than at nodes;
and initial values along lines through cells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch
from torch.func import vmap

from ..mesh.mesh import Mesh
from ..problem.conditions import Dirichlet, Initial, Natural, Neumann, Robin, Value, evaluate
from ..problem.problem import Problem
from .guarded import called, guard
from .jumps import Values
from .pointwise import BoundaryFlux, place_and_time
from .samples import data_states, sample_points
from .unseen import MISFIT, TURN, lines_through, polynomial

_SMALL = 1e-3  # of the largest value of the same data on a wall: less does not count
_ROUNDING = 8 * np.finfo(float).eps  # of coordinates: what moving by so much changes is no more than rounding
_NOISE = 100  # times that change: less does not count


@dataclass(frozen=True)
class Walls:
    """Data that vary along boundaries.

    Attributes:
        functions: boundary and the data given on it, each points (m, d) -> (m, v).
        degree: of the elements that are to see them.
    """

    functions: list[tuple[str, Callable[[np.ndarray], np.ndarray]]]
    degree: int

    def unseen(self, mesh: Mesh) -> np.ndarray:
        """(c,) bool: cells at facets between whose nodes data vary unseen."""
        result = np.zeros(mesh.cell_count, dtype=bool)
        for name, function in self._on(mesh):
            facets = mesh.boundaries[name]
            hidden, _, _ = self._looked_at(mesh, facets, function)
            for facet in facets[hidden]:
                result |= np.isin(mesh.vertices, facet).sum(axis=1) == len(facet)
        return result

    def hidden_part(self, mesh: Mesh) -> float:
        """Which part of the data is lost between nodes, by the worst of them: its mean square where they vary unseen."""
        worst = 0.0
        for name, function in self._on(mesh):
            facets = mesh.boundaries[name]
            hidden, missed, square = self._looked_at(mesh, facets, function)
            area = _areas(mesh.nodes[facets])
            whole = float(area @ square)
            if hidden.any() and whole > 0:
                worst = max(worst, float(np.sqrt((area * missed)[hidden].sum() / whole)))
        return worst / (1 + worst)

    def _on(self, mesh: Mesh) -> list[tuple[str, Callable[[np.ndarray], np.ndarray]]]:
        return [(name, f) for name, f in self.functions if mesh.dimension > 1 and len(mesh.boundaries.get(name, ()))]

    def _looked_at(
        self, mesh: Mesh, facets: np.ndarray, function: Callable[[np.ndarray], np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(f,) each: whether data vary unseen, the mean square of what the interpolation misses, and of the data."""
        d = mesh.dimension - 1
        lines = lines_through(d, len(facets), 0)  # (d, l, s)
        at, X = lines.reshape(d, -1), _nodes(d, self.degree)
        corners = mesh.nodes[facets]
        seen, dense = (_values(function, corners, places) for places in (X, at))  # (f, q, v)
        missed = np.abs(dense - np.einsum("sq,fqv->fsv", polynomial(X, at), seen))
        size = np.maximum(np.abs(dense).max(axis=1), np.abs(seen).max(axis=1))
        moved = _values(function, corners + _ROUNDING * np.abs(corners).max(), X)
        noise = np.median(np.abs(moved - seen), axis=(0, 1))  # jumps, where a step changes much, are few
        counts = np.where(size > np.maximum(_SMALL * size.max(axis=0), _NOISE * noise), size, np.inf)
        along = dense.reshape(len(facets), *lines.shape[1:], -1)
        turns = (np.abs(np.diff(along, axis=2)).sum(axis=2) - np.ptp(along, axis=2)).max(axis=1)
        own = np.maximum(dense.max(axis=1) - seen.max(axis=1), seen.min(axis=1) - dense.min(axis=1))
        beyond = own - 0.5 * np.ptp(seen, axis=1)
        hidden = (missed.max(axis=1) > MISFIT * counts) & (np.maximum(turns, beyond) > TURN * counts)
        squares = (np.mean(part**2, axis=1).sum(axis=1) for part in (missed, dense))
        return hidden.any(axis=1), *squares


def walls_of(problem: Problem, degree: int, times: Sequence[float] = ()) -> Walls:
    """The data of a problem that are functions of the place on a boundary.

    Args:
        problem: the PDE.
        degree: of the elements that are to see them.
        times: moments at which points of space are looked at, where time is treated apart.
    """
    functions = []
    for name, by_field in problem.conditions.items():
        given = [value for condition in by_field.values() for value in _given(condition)]
        functions += [(name, _sampled(value, name, problem.over_time, times)) for value in given if callable(value)]
        if not problem.over_time and any(isinstance(condition, Natural) for condition in by_field.values()):
            functions.append((name, _natural(problem, name)))
    return Walls(functions, degree)


def starts_of(problem: Problem, t: float) -> Values | None:
    """(m, d) -> (m, v, 2): initial values and rates that are functions of the place, at points of space; None without any.

    They stand where sources do (`unseen.coefficients`), beside fluxes of zero.
    """
    conditions = problem.conditions.get("initial", {}).values() if problem.over_time else ()
    given = [v for c in conditions if isinstance(c, Initial) for v in (*_given(c), c.rate) if callable(v)]
    functions = [_sampled(value, "initial", True, [t]) for value in given]
    if not functions:
        return None

    def values(x: np.ndarray) -> np.ndarray:
        found = np.concatenate([function(x) for function in functions], axis=1)
        return np.stack([found, np.zeros_like(found)], axis=2)

    return values


def _given(condition: object) -> list[Value]:
    """What a condition is told: numbers and functions."""
    if isinstance(condition, Dirichlet | Neumann):
        value = condition.value
        return list(value) if isinstance(value, list | tuple) else [value]
    return [condition.value, condition.coefficient] if isinstance(condition, Robin) else []


def _natural(problem: Problem, boundary: str) -> Callable[[np.ndarray], np.ndarray]:
    """Fluxes at a state of the size of the data, with a normal along the diagonal: it matters only where they vary."""
    flux = BoundaryFlux(problem, boundary)
    state = data_states(problem, sample_points(problem, 1))[:1].abs() + 0.1

    def values(x: np.ndarray) -> np.ndarray:
        at = torch.from_numpy(np.ascontiguousarray(x))
        found = flux.evaluate(at, torch.full_like(at, x.shape[1] ** -0.5), state.expand(len(x), -1, -1))
        return np.nan_to_num(found.numpy(), posinf=0.0, neginf=0.0)

    return values


def _sampled(value: Value, on: str, over_time: bool, times: Sequence[float]) -> Callable[[np.ndarray], np.ndarray]:
    def at_point(p: torch.Tensor) -> torch.Tensor:
        with called(f"the condition on {on!r}"):
            return torch.as_tensor(evaluate(value, *place_and_time(p, over_time)), dtype=p.dtype).reshape(-1)

    def values(x: np.ndarray) -> np.ndarray:
        moments = [x] if not times else [np.column_stack([x, np.full(len(x), t)]) for t in times]
        parts = [guard(vmap(at_point), torch.from_numpy(np.ascontiguousarray(at))).numpy() for at in moments]
        return np.nan_to_num(np.concatenate(parts, axis=1), posinf=0.0, neginf=0.0)

    return values


def _values(function: Callable[[np.ndarray], np.ndarray], corners: np.ndarray, X: np.ndarray) -> np.ndarray:
    """(f, q, v) at places X (d, q) of the reference facet, in facets with corners (f, d + 1, d + 1)."""
    share = np.concatenate([1 - X.sum(axis=0, keepdims=True), X])  # (d + 1, q)
    x = np.einsum("kq,fkj->fqj", share, corners)
    return function(x.reshape(-1, x.shape[-1])).reshape(len(corners), X.shape[1], -1)


def _nodes(d: int, degree: int) -> np.ndarray:
    """(d, q) nodes of a reference facet, evenly spread."""
    places = [p for p in product(range(degree + 1), repeat=d) if sum(p) <= degree]
    return np.array(places, dtype=float).T / degree


def _areas(corners: np.ndarray) -> np.ndarray:
    """(f,) lengths or areas of facets with corners (f, d, d)."""
    edges = corners[:, 1:] - corners[:, :1]
    gram = np.einsum("fid,fjd->fij", edges, edges)
    return np.sqrt(np.maximum(np.linalg.det(gram), 0.0))
