"""Prescribed fluxes that jump along edges of a plane mesh, such as those of an electrode on a part of a side: piece by piece.

A rule on an edge as a whole may miss an end of such a part, and a rule of a higher order on the same edge the same end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from skfem.quadrature import get_quadrature
from skfem.refdom import RefLine

from ..mesh.mesh import Mesh
from ..problem.problem import Problem
from .curved_faces import Faces
from .jumps import jumps_between
from .pointwise import BoundaryFlux
from .samples import data_states, sample_points

_PLACES = 33  # along each edge
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
    """By boundary, the edges of a plane mesh along which prescribed fluxes jump; boundaries without such are left out."""
    result: dict[str, BrokenEdges] = {}
    for name in problem.conditions:
        flux = BoundaryFlux(problem, name)
        if not flux.vanishes and not flux.is_zero:
            found = _broken(problem, flux, _Edges(mesh, mesh.facets(name)))
            result |= {} if found is None else {name: found}
    return result


def edges_in_pieces(mesh: Mesh, facets: np.ndarray, breaks: np.ndarray, order: int) -> Faces:
    """Points of a rule of this order on each piece of edges, by their numbers in `mesh.skfem`, with breaks (e, k)."""
    (at,), weights = get_quadrature(RefLine, order)
    ends = np.column_stack([np.zeros(len(facets)), breaks, np.ones(len(facets))])
    lengths = np.diff(ends, axis=1)[:, :, None]
    places, shares = (
        (part).reshape(len(facets), -1) for part in (ends[:, :-1, None] + lengths * at, lengths * weights)
    )
    return _Edges(mesh, facets).at(places, shares)


class _Edges:
    """Edges of a plane mesh, straight or curved, with the cells that they belong to."""

    def __init__(self, mesh: Mesh, facets: np.ndarray) -> None:
        known = mesh.skfem
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

    def values(at: np.ndarray) -> np.ndarray:
        """(m, C) at rows and places (m, 2)."""
        points = edges.at(at[:, 1:], np.ones((len(at), 1)), at[:, 0].astype(int))
        x, n = (torch.from_numpy(np.ascontiguousarray(part[:, 0])) for part in (points.x, points.normals))
        return flux.evaluate(x, n, state.expand(len(x), -1, -1)).numpy()

    count = len(edges.cells)
    s = np.tile(np.linspace(0, 1, _PLACES), (count, 1))
    at = np.stack([np.repeat(np.arange(count)[:, None], _PLACES, axis=1), s], axis=-1)
    found = jumps_between(values, at[:, :-1].reshape(-1, 2), at[:, 1:].reshape(-1, 2))
    if found is None:
        return None
    rows, first, numbers = np.unique(found.at[:, 0].astype(int), return_inverse=True, return_counts=True)
    breaks = np.ones((len(rows), numbers.max()))
    for k in range(len(rows)):
        own = found.at[first == k, 1]
        breaks[k, : len(own)] = own
    return BrokenEdges(rows, np.sort(breaks, axis=1))
