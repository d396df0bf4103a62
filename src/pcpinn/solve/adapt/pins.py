"""Cells at pins: an equation is given up there, so errors from elsewhere show there, the more the finer the cells."""

from __future__ import annotations

import numpy as np

from ...mesh.mesh import Mesh
from ...problem.problem import Problem
from .level import marked

_LOUD = 0.5  # part of the whole that cells at pins carry, from which on the mesh is refined evenly


def marked_but_for_pins(indicators: np.ndarray, mesh: Mesh, problem: Problem, bulk: float) -> np.ndarray:
    """(c,) bool: the fewest cells that carry a part `bulk` of the whole, none of them at a pin; all, if pins carry much of it."""
    at = cells_at_pins(mesh, problem)
    if indicators[at].sum() > _LOUD * indicators.sum():
        return np.ones(len(indicators), dtype=bool)
    return marked(np.where(at, 0.0, indicators), bulk)


def cells_at_pins(mesh: Mesh, problem: Problem) -> np.ndarray:
    """(c,) bool: those with the vertex nearest to a pin."""
    space = mesh.nodes[:, : problem.dimension]
    vertices = np.unique(mesh.vertices)
    distance = [np.linalg.norm(space[vertices] - np.asarray(pin.at), axis=1) for pin in problem.pins]
    return np.asarray(np.isin(mesh.vertices, [vertices[d.argmin()] for d in distance]).any(axis=1))
