"""The sides of cells across which coefficients jump: where slopes of a solution jump, too."""

from __future__ import annotations

import numpy as np

from ..mesh.mesh import Mesh
from ..mesh.topology import edges_of, facets_of
from .jumps import Values

_BESIDE = 1e-3  # of a side's length: so far from it both sides are looked at
_CHANGE = 1e-3  # of the larger value: less is no jump
_STRAIGHT = 1e-9  # of a piece: less is no bend


def jump_facets(values: Values, mesh: Mesh) -> np.ndarray:
    """(k, d, d) corners of the sides of cells of a line or a plane across which functions (m, d) -> (m, v) jump: points (d = 1),
    or pieces of lines, as long as they are straight; of a curved side two.

    Empty for other meshes.
    """
    if mesh.dimension == 1 and not mesh.has_time:
        facets = facets_of(mesh.vertices)
        at = mesh.nodes[facets.nodes[facets.count == 2, 0]]
        reach = np.full_like(at, _BESIDE * np.ptp(mesh.nodes[mesh.vertices], axis=1).min())
        return np.asarray(at[_across(values, at, reach)][:, None])
    if mesh.dimension != 2 or mesh.has_time:
        return np.zeros((0, mesh.dimension, mesh.dimension))
    ends, (of_cell,) = edges_of(mesh.vertices)
    a, b = mesh.nodes[ends[:, 0]], mesh.nodes[ends[:, 1]]
    middle = (a + b) / 2
    if mesh.curved:
        middle[of_cell] = mesh.nodes[mesh.cells[:, 3:]]
    normal = np.column_stack([a[:, 1] - b[:, 1], b[:, 0] - a[:, 0]])
    rows = np.flatnonzero(np.bincount(of_cell.ravel(), minlength=len(ends)) == 2)
    rows = rows[_across(values, middle[rows], _BESIDE * normal[rows])]
    a, b, middle = a[rows], b[rows], middle[rows]
    bent = np.linalg.norm(middle - (a + b) / 2, axis=1) > _STRAIGHT * np.linalg.norm(b - a, axis=1)
    halves = np.concatenate([np.stack([a, middle], axis=1)[bent], np.stack([middle, b], axis=1)[bent]])
    return np.concatenate([_joined(ends[rows][~bent], mesh.nodes), halves])


def _across(values: Values, at: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """(m,) whether some value jumps between at - reach and at + reach (m, d)."""
    if not len(at):
        return np.zeros(0, dtype=bool)
    left, right = values(at - reach), values(at + reach)
    larger = np.maximum(np.abs(left), np.abs(right))
    return np.asarray((np.abs(left - right) > np.maximum(_CHANGE * larger, 1e-9 * larger.max())).any(axis=1))


def _joined(ends: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """(k, 2, 2) pieces of edges (e, 2), those that continue each other as one."""
    pieces: dict[int, tuple[int, int]] = dict(enumerate(map(tuple, ends.tolist())))
    touching: dict[int, set[int]] = {}
    for number, pair in pieces.items():
        for node in pair:
            touching.setdefault(node, set()).add(number)
    for node, at in touching.items():
        if len(at) != 2:
            continue
        first, second = at
        u, v = (other for number in at for other in pieces[number] if other != node)
        one, two = nodes[u] - nodes[node], nodes[v] - nodes[node]
        size = np.linalg.norm(one) * np.linalg.norm(two)
        if abs(one[0] * two[1] - one[1] * two[0]) <= _STRAIGHT * size and one @ two < 0:
            pieces[first] = (u, v)
            del pieces[second]
            touching[v].discard(second)
            touching[v].add(first)
    return nodes[np.array(list(pieces.values()), dtype=np.int64).reshape(-1, 2)]
