"""Prescribed fluxes that jump along edges of a plane mesh, such as those of an electrode on a part of a side: piece by piece.

A rule on an edge as a whole may miss an end of such a part, and a rule of a higher order on the same edge the same end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from skfem.quadrature import get_quadrature
from skfem.refdom import RefLine

from ..mesh.mesh import Mesh
from ..problem.problem import Problem
from .batches import at_moments
from .curved_faces import Faces
from .jumps import jumps_between
from .pointwise import BoundaryFlux
from .samples import data_states, sample_points

_PLACES = 33  # along each edge
_MOMENTS = (0.071, 0.437, 0.893)  # parts of the span of time, at which fluxes over time are looked at
_SAME = 9  # digits of a place along an edge
_CORNERS = np.vstack([np.zeros(2), np.eye(2)])


@dataclass(frozen=True)
class BrokenEdges:
    """Edges along which a flux jumps.

    Attributes:
        rows: (e,) which of the edges that were looked at.
        breaks: (e, k) where, as parts of the edge in ascending order; 1 where there are fewer.
    """

    rows: np.ndarray
    breaks: np.ndarray


def broken_edges(problem: Problem, mesh: Mesh) -> Mapping[str, BrokenEdges]:
    """By boundary, the edges of a plane mesh along which prescribed fluxes jump; boundaries without such are left out.

    Over time, of a mesh of space, they are those along which fluxes jump at one of some moments.
    """
    result: dict[str, BrokenEdges] = {}
    for name in problem.conditions:
        flux = BoundaryFlux(problem, name)
        if name in mesh.boundary_names and not flux.vanishes and not flux.is_zero:
            found = _broken(problem, flux, _Edges(mesh, mesh.facets(name)))
            result |= {} if found is None else {name: found}
    return result


def edges_in_pieces(mesh: Mesh, facets: np.ndarray, breaks: np.ndarray, order: int) -> Faces:
    """Points of a rule of this order on each piece of edges, by their numbers in `mesh.skfem`, with breaks (e, k)."""
    (at,), weights = get_quadrature(RefLine, order)
    ends = np.column_stack([np.zeros(len(facets)), breaks, np.ones(len(facets))])
    lengths = np.diff(ends, axis=1)[:, :, None]
    places, shares = (part.reshape(len(facets), -1) for part in (ends[:, :-1, None] + lengths * at, lengths * weights))
    return _Edges(mesh, facets).at(places, shares)


class _Edges:
    """Edges of a plane mesh, straight or curved, with the cells that they belong to."""

    def __init__(self, mesh: Mesh, facets: np.ndarray) -> None:
        known, self.dimension = mesh.skfem, mesh.dimension
        self.mapping, self.cells = known.mapping(), known.f2t[0, facets].astype(np.int32)
        own = known.t[:, self.cells].T  # (e, 3)
        local = (own[:, None, :] == known.facets[:, facets].T[:, :, None]).argmax(axis=2)  # (e, 2) corners in the cell
        self.corners = _CORNERS[local]
        self.away = self.corners.mean(axis=1) - _CORNERS[3 - local.sum(axis=1)]  # from the corner opposite

    def at(self, places: np.ndarray, weights: np.ndarray, rows: np.ndarray | slice = slice(None)) -> Faces:
        """Points at parts (r, q) of some edges, all by default, with these parts of their lengths as weights."""
        corners, cells = self.corners[rows], self.cells[rows]
        X = np.moveaxis(corners[:, :1] + places[..., None] * (corners[:, 1:] - corners[:, :1]), -1, 0)
        slope = self.mapping.DF(X, cells)  # (2, 2, r, q)
        along = np.einsum("ijrq,rj->rqi", slope, corners[:, 1] - corners[:, 0])
        across = np.stack([along[..., 1], -along[..., 0]], axis=-1)
        across *= np.sign(np.einsum("rqi,ijrq,rj->rq", across, slope, self.away[rows]))[..., None]
        size = np.linalg.norm(across, axis=2)
        x = np.moveaxis(self.mapping.F(X, cells), 0, -1)
        return Faces(cells, X, x, size * weights, across / size[..., None], self.mapping.invDF(X, cells))


def _broken(problem: Problem, flux: BoundaryFlux, edges: _Edges) -> BrokenEdges | None:
    state = data_states(problem, sample_points(problem, 1))[:1].abs() + 0.1

    def values(at: np.ndarray, time: tuple[float, ...]) -> np.ndarray:
        """(m, C) at rows and places (m, 2)."""
        points = edges.at(at[:, 1:], np.ones((len(at), 1)), at[:, 0].astype(int))
        x, n = (torch.from_numpy(np.ascontiguousarray(part[:, 0])) for part in (points.x, points.normals))
        x, n = at_moments(x, time) if time else x, at_moments(n, [0.0]) if time else n
        return flux.evaluate(x, n, state.expand(len(x), -1, -1)).numpy()

    count = len(edges.cells)
    s = np.tile(np.linspace(0, 1, _PLACES), (count, 1))
    at = np.stack([np.repeat(np.arange(count)[:, None], _PLACES, axis=1), s], axis=-1)
    ends = at[:, :-1].reshape(-1, 2), at[:, 1:].reshape(-1, 2)
    found = [jumps_between(partial(values, time=time), *ends) for time in _times(problem, edges.dimension)]
    places = [jumps.at for jumps in found if jumps is not None]
    if not places:
        return None
    every = np.unique(np.round(np.concatenate(places), _SAME), axis=0)
    rows, first, numbers = np.unique(every[:, 0].astype(int), return_inverse=True, return_counts=True)
    breaks = np.ones((len(rows), numbers.max()))
    for k in range(len(rows)):
        own = every[first == k, 1]
        breaks[k, : len(own)] = own
    return BrokenEdges(rows, breaks)


def _times(problem: Problem, dimension: int) -> list[tuple[float, ...]]:
    """Moments at which fluxes are looked at; none where time is a coordinate of the mesh, of this dimension, or there is none."""
    lower, upper = problem.domain.bounds  # type: ignore[attr-defined]
    if len(lower) == dimension:
        return [()]
    return [(float(lower[-1] + part * (upper[-1] - lower[-1])),) for part in _MOMENTS]
