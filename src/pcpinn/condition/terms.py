"""The solution and the terms of its equation at points, by differences: sizes, not exact values."""

from __future__ import annotations

import numpy as np
import torch

from ..discretize.discretisation import Discretisation
from ..mesh.slab_mesh import AnyMesh, SlabMesh

_POINTS = 200


def states(discretisation: Discretisation, u: np.ndarray, count: int) -> np.ndarray:
    """(m, d + C (1 + d)): some points, and values and gradients of a discrete function there."""
    x, _ = _inside(discretisation, count)
    return np.column_stack([x, _state(discretisation, u, x).reshape(len(x), -1)])


def largest_term(discretisation: Discretisation, u: np.ndarray) -> float:
    """L2 norm of the largest term of the equation at a discrete function: its source, or the change of its flux along an axis."""
    x, own = _inside(discretisation, _POINTS)
    volume = float(discretisation.weights.sum()) / discretisation.components
    step = 0.7 * np.minimum(
        _step(discretisation.mesh), own
    )  # where cells are small, a typical one may reach across a hole
    lower, upper = discretisation.mesh.bounds

    def evaluated(points: np.ndarray) -> np.ndarray:
        state = torch.from_numpy(_state(discretisation, u, points))
        return discretisation.pointwise.evaluate(torch.from_numpy(points), state).numpy()

    sizes = [np.abs(evaluated(x)[:, :, 0])]
    for axis in range(x.shape[1]):
        above, below = x.copy(), x.copy()
        above[:, axis] = np.minimum(x[:, axis] + step[:, axis], upper[axis])
        below[:, axis] = np.maximum(x[:, axis] - step[:, axis], lower[axis])
        change = evaluated(above)[:, :, 1 + axis] - evaluated(below)[:, :, 1 + axis]
        sizes.append(np.abs(change) / (above - below)[:, [axis]])
    return float(np.sqrt(volume * max((s**2).mean(axis=0).sum() for s in sizes)))


def _state(discretisation: Discretisation, u: np.ndarray, x: np.ndarray) -> np.ndarray:
    """(n, C, 1 + d)."""
    upper = discretisation.mesh.bounds[1]
    here = discretisation.interpolate(u, x)
    slopes = []
    for axis in range(x.shape[1]):
        step = 1e-4 * _step(discretisation.mesh)[axis]
        moved = x.copy()
        moved[:, axis] += np.where(x[:, axis] + step <= upper[axis], step, -step)
        slopes.append((discretisation.interpolate(u, moved) - here) / (moved - x)[:, [axis]])
    return np.concatenate([here[:, :, None], np.stack(slopes, axis=2)], axis=2)


def _inside(discretisation: Discretisation, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Centres (n, d) and extents (n, d) of cells away from the boundary, where there are any.

    Looking for a point outside the mesh is slow.
    """
    mesh = discretisation.mesh.simplices
    outer = np.zeros(len(mesh.nodes), dtype=bool)
    for facets in mesh.boundaries.values():
        outer[facets] = True
    near = outer.copy()
    near[mesh.vertices[outer[mesh.vertices].any(axis=1)]] = True  # one more layer of cells
    every = np.arange(len(mesh.vertices))
    inner = [every[~marked[mesh.vertices].any(axis=1)] for marked in (near, outer)]
    cells = next((cells for cells in inner if len(cells) >= 10), every)
    chosen = cells[np.unique(np.linspace(0, len(cells) - 1, count).astype(int))]
    corners = mesh.nodes[mesh.vertices[chosen]]
    return np.ascontiguousarray(corners.mean(axis=1)), np.ptp(corners, axis=1)


def _step(mesh: AnyMesh) -> np.ndarray:
    """(d,) a typical cell's extent along each axis."""
    if isinstance(mesh, SlabMesh):
        return np.append(_step(mesh.space), np.median(np.diff(mesh.times)))
    return np.median(np.ptp(mesh.nodes[mesh.vertices], axis=1), axis=0)
