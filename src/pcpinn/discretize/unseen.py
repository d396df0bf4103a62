"""What coefficients do between the points of quadrature: cells in which they vary unseen, and points where jumps cross.

A strip of another material that is thinner than a cell may lie between the points of every rule on that cell, whatever its
degree. So source and flux at some states are looked at along lines through each cell, far more densely than any rule does, and
at very many places beside these: a spot hardly ever lies on a line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import torch
from torch import Tensor

from ..mesh.bisect import bisected
from ..mesh.mesh import Mesh
from ..problem.problem import Problem
from ..problem.shapes import Domain
from .jumps import Values
from .pointwise import Pointwise
from .samples import data_states, sample_points

_STATES = 2  # of the size of the data
_ACROSS = 4  # lines from side to side of each cell, beside its edges
_PLACES = (12, 500)  # along each of them: least, most
_POINTS = 60_000  # in all, if that is enough for the least
_SCATTERED = {1: 100_000, 2: 1_000_000, 3: 1_000_000}  # values at places beside the lines, in all cells, by dimension
_CHUNK = 200_000  # points at once
TURN = (
    0.1  # of the size of a coefficient in a cell: by so much it turns back along a line, or leaves what the rule sees
)
MISFIT = 0.2  # of that size: so far it is from the polynomial through the points of the rule
_NOTHING = 1e-6  # of the largest flux, or source: less is rounding
_OF_FLUX = 1e-10  # of the largest flux over the extent of the domain: a source that is less adds nothing to it
INSIDE = 1e-5  # of a cell: lines end so far from its sides, along which jumps may run
NEARLY_FITTED = 0.04  # the same for meshes whose sides were moved onto bent jumps, and miss them by a little
_ROUNDS = 9  # of cuts
_CLOSE = 0.02  # of the shortest edge at a vertex: so far around it sectors are looked at
_RATIO = 0.5  # by so much of the larger value coefficients differ in neighbouring sectors
_USUAL = (
    0.1  # of the values in the middle of the cells there: smooth coefficients differ by less, so close to each other
)
_WEDGE = 3  # places in each sector


@dataclass(frozen=True)
class Resolved:
    """A mesh that is cut where coefficients vary unseen.

    Attributes:
        mesh: with the cuts.
        unseen: (c,) bool, the cells in which they still do.
    """

    mesh: Mesh
    unseen: np.ndarray


def coefficients(problem: Problem, states: Tensor | None = None, times: Sequence[float] = ()) -> Values:
    """(m, d) -> (m, v, 1 + d): source and flux (and density, where there is one) at points, at the same states everywhere.

    Args:
        problem: the PDE.
        states: (k, C, 1 + d) such as the answer's; beside states of the size of the data.
        times: of a problem over time, moments at which points of space are looked at.
    """
    given = data_states(problem, sample_points(problem, _STATES))
    every = given if states is None else torch.cat([given, states.to(given)])
    pointwise = Pointwise(problem, strong=True)

    def values(x: np.ndarray) -> np.ndarray:
        parts = []
        for state, t in product(every, times or (None,)):
            at = x if t is None else np.column_stack([x, np.full(len(x), t)])
            parts.append(pointwise.evaluate(torch.from_numpy(at), state.expand(len(x), -1, -1)).numpy())
        return np.nan_to_num(np.concatenate(parts, axis=1), posinf=0.0, neginf=0.0)

    return values


def resolved(
    mesh: Mesh,
    values: Values,
    X: np.ndarray,
    most: float,
    domain: Domain | None = None,
    periodic: Sequence[tuple[str, str]] = (),
    walls: Callable[[Mesh], np.ndarray] = lambda mesh: np.zeros(mesh.cell_count, dtype=bool),
) -> Resolved:
    """Cut the cells in which coefficients vary between points of quadrature, and those about crossings of jumps.

    Args:
        mesh: to begin with.
        values: source and flux, as from `coefficients`.
        X: (d, q) points of quadrature of the reference cell.
        most: cells that are affordable.
        domain, periodic: as of `bisected`.
        walls: (c,) bool, cells at which data of boundaries vary between nodes.
    """
    look = np.arange(mesh.cell_count)
    for round_ in range(_ROUNDS):
        unseen = np.zeros(mesh.cell_count, dtype=bool)
        unseen[look] = unseen_cells(values, mesh, X, look, round_)
        wanted = unseen | walls(mesh) | np.isin(mesh.vertices, np.flatnonzero(crossings(values, mesh))).any(axis=1)
        if not wanted.any():
            return Resolved(mesh, unseen)
        finer, parents = bisected(mesh, wanted, domain, periodic)
        if finer.cell_count > most:
            return Resolved(mesh, unseen)
        beside = np.asarray(np.isin(mesh.vertices, mesh.vertices[wanted]).any(axis=1))  # it may go on there
        mesh, look = finer, np.flatnonzero(beside[parents])
    unseen = np.zeros(mesh.cell_count, dtype=bool)
    unseen[look] = unseen_cells(values, mesh, X, look, -1)
    return Resolved(mesh, unseen)


def unseen_cells(
    values: Values,
    mesh: Mesh,
    X: np.ndarray,
    cells: np.ndarray | None = None,
    seed: int = 0,
    inside: float = INSIDE,
) -> np.ndarray:
    """(m,) bool: which cells coefficients vary in, unseen by a rule with reference points X (d, q)."""
    return np.asarray(unseen_values(values, mesh, X, cells, seed, inside).any(axis=1))


def unseen_values(
    values: Values,
    mesh: Mesh,
    X: np.ndarray,
    cells: np.ndarray | None = None,
    seed: int = 0,
    inside: float = INSIDE,
) -> np.ndarray:
    """(m, v) bool: which values vary in a cell, unseen by a rule with reference points X (d, q).

    They do where they are far from the polynomial through the rule's points, and either turn back along a line, as across a
    strip, or leave the range that the rule sees in this cell and its neighbours, or that of the lines, as in a spot. A single
    jump through cells is seen.
    """
    cells = np.arange(mesh.cell_count) if cells is None else cells
    floor = _floor(values, mesh)
    result = np.zeros((len(cells), len(floor)), dtype=bool)
    if not len(cells):
        return result
    lines = lines_through(mesh.dimension, len(cells), seed, inside)
    on_lines = int(np.prod(lines.shape[1:]))
    count = _SCATTERED[mesh.dimension] // (mesh.cell_count * len(floor))
    beside = _scattered(mesh.dimension, count, seed, inside)
    at = np.concatenate([lines.reshape(len(lines), -1), beside], axis=1)
    predict = polynomial(X, at)  # (s, q)
    low, high = ranges(values, mesh, X, cells)
    step = max(1, _CHUNK // len(predict))
    for start in range(0, len(cells), step):
        part = slice(start, start + step)
        own = cells[part]
        rule = values(at_places(mesh, own, X)).reshape(len(own), X.shape[1], -1)
        dense = values(at_places(mesh, own, at)).reshape(len(own), -1, rule.shape[-1])
        size = np.maximum(np.abs(dense).max(axis=1), np.abs(rule).max(axis=1))
        size = np.where(size > floor, size, np.inf)
        misfit = np.abs(dense - np.einsum("sq,cqv->csv", predict, rule)).max(axis=1)
        along = dense[:, :on_lines].reshape(len(own), *lines.shape[1:], -1)
        turns = (np.abs(np.diff(along, axis=2)).sum(axis=2) - np.ptp(along, axis=2)).max(axis=1)
        beyond = np.maximum(dense.max(axis=1) - high[part], low[part] - dense.min(axis=1)) - 0.5 * np.ptp(rule, axis=1)
        islands = np.ptp(dense, axis=1) - np.ptp(dense[:, :on_lines], axis=1)
        result[part] = (misfit > MISFIT * size) & (np.maximum.reduce([turns, beyond, islands]) > TURN * size)
    return result


def ranges(values: Values, mesh: Mesh, X: np.ndarray, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(m, v) each: the least and the largest values at the rule's points of some cells and all that share a vertex with them."""
    near = np.isin(mesh.vertices, mesh.vertices[cells]).any(axis=1)
    among, found = np.flatnonzero(near), []
    step = max(1, _CHUNK // X.shape[1])
    for start in range(0, len(among), step):
        own = among[start : start + step]
        rule = values(at_places(mesh, own, X)).reshape(len(own), X.shape[1], -1)
        found.append((rule.min(axis=1), rule.max(axis=1)))
    lows, highs = (np.concatenate(part) for part in zip(*found, strict=True))
    low = np.full((len(mesh.nodes), lows.shape[1]), np.inf)
    high = -low
    np.minimum.at(low, mesh.vertices[among], lows[:, None])
    np.maximum.at(high, mesh.vertices[among], highs[:, None])
    around = mesh.vertices[cells]
    return low[around].min(axis=1), high[around].max(axis=1)


def crossings(values: Values, mesh: Mesh) -> np.ndarray:
    """(n,) bool: vertices of a plane mesh about which a coefficient of the flux jumps three times or more.

    There solutions may begin as a small power of the distance, which no degree sees the most of.
    """
    result = np.zeros(len(mesh.nodes), dtype=bool)
    if mesh.dimension != 2:
        return result
    corners = mesh.nodes[mesh.vertices]
    edges = np.stack([np.roll(corners, -k, axis=1) - corners for k in (1, 2)])  # (2, c, 3, 2) from each corner
    shortest = np.full(len(mesh.nodes), np.inf)
    np.minimum.at(shortest, mesh.vertices, np.linalg.norm(edges, axis=-1).min(axis=0))
    unit = edges / np.linalg.norm(edges, axis=-1, keepdims=True)
    part = (np.arange(_WEDGE) + 0.5) / _WEDGE
    ray = unit[0][..., None, :] * (1 - part)[:, None] + unit[1][..., None, :] * part[:, None]  # (c, 3, w, 2)
    node = np.repeat(mesh.vertices[..., None], _WEDGE, axis=2).ravel()
    ray = ray.reshape(-1, 2)
    found = values(mesh.nodes[node] + _CLOSE * shortest[node, None] * ray)[..., 1:].reshape(len(node), -1)
    usual = np.zeros((len(mesh.nodes), found.shape[1]))  # of the cells about a vertex; at it, a smooth flux may vanish
    middle = np.abs(values(corners.mean(axis=1))[..., 1:].reshape(len(corners), -1))
    np.maximum.at(usual, mesh.vertices, middle[:, None])
    order = np.lexsort((np.arctan2(ray[:, 1], ray[:, 0]), node))
    node, found = node[order], found[order]
    first = np.flatnonzero(np.diff(node, prepend=-1))
    following = np.arange(1, len(node) + 1)
    following[np.append(first[1:], len(node)) - 1] = first  # around a vertex
    least = np.maximum(_RATIO * np.maximum(np.abs(found), np.abs(found[following])), _USUAL * usual[node])
    jumps = np.abs(found - found[following]) > np.maximum(least, _NOTHING * middle.max())
    count = np.zeros(usual.shape, dtype=np.int64)
    np.add.at(count, node, jumps)
    return np.asarray((count >= 3).any(axis=1))


def spread(values: Values, mesh: Mesh, cells: np.ndarray, X: np.ndarray) -> np.ndarray:
    """(m,) of given cells: by how much the largest of their coefficients' arithmetic means exceeds the harmonic one, in parts.

    What a coefficient that varies inside a cell does as a whole lies between these: across layers it is the harmonic mean.
    What a rule with points X sees in a cell does not count, though something else may vary there unseen: a source that
    passes through zero has a harmonic mean next to nothing.
    """
    lines = lines_through(mesh.dimension, len(cells), 0)
    floor = _floor(values, mesh)
    size = np.abs(values(at_places(mesh, cells, lines.reshape(len(lines), -1)))).reshape(len(cells), -1, len(floor))
    mean = size.mean(axis=1)
    harmonic = 1 / (1 / np.maximum(size, np.where(floor > 0, floor, 1.0))).mean(axis=1)
    unseen = unseen_values(values, mesh, X, cells)
    unseen[~unseen.any(axis=1)] = True  # found along other lines
    return np.asarray(np.where(unseen & (mean > floor), mean / harmonic - 1, 0.0).max(axis=1))


def lines_through(d: int, cells: int, seed: int, inside: float = INSIDE) -> np.ndarray:
    """(d, l, s) points along lines through the reference cell, at uneven distances: even ones could meet a pattern's own."""
    random = np.random.default_rng(seed + 1)
    corners = np.eye(d + 1)
    ends = np.array([(corners[a], corners[b]) for a, b in combinations(range(d + 1), 2)])  # (l, 2, d + 1)
    if d > 1:
        across = random.dirichlet(np.full(d + 1, 0.5), size=(_ACROSS, 2))
        for line in across:
            line[0, random.integers(d + 1)] = line[1, random.integers(d + 1)] = 0.0  # from side to side
        ends = np.concatenate([ends, across / across.sum(axis=2, keepdims=True)])
    count = len(ends)
    s = int(np.clip(_POINTS // (cells * count), *_PLACES))
    ends = inside + (1 - (d + 1) * inside) * ends
    part = np.sort((np.arange(s) + random.uniform(size=(count, s))) / s, axis=1)
    part[:, 0], part[:, -1] = 0.0, 1.0
    at = ends[:, :1] * (1 - part)[..., None] + ends[:, 1:] * part[..., None]  # (l, s, d + 1)
    return np.moveaxis(at[..., 1:], -1, 0)


def _scattered(d: int, count: int, seed: int, inside: float) -> np.ndarray:
    """(d, count) points of the reference cell at random."""
    at = np.random.default_rng(seed + 2).dirichlet(np.ones(d + 1), size=count)
    return np.asarray((inside + (1 - (d + 1) * inside) * at)[:, 1:].T)


def polynomial(X: np.ndarray, at: np.ndarray) -> np.ndarray:
    """(s, q): from values at points X (d, q) to those at other points (d, s) of the polynomial that fits them best."""
    d, q = X.shape
    degree = 0
    while len(_powers(d, degree + 1)) <= q:
        degree += 1
    while True:
        powers = _powers(d, degree)
        table, other = (np.prod(x.T[:, None] ** powers[None], axis=2) for x in (X, at))
        if np.linalg.matrix_rank(table) == len(powers) or degree == 0:
            return np.asarray(other @ np.linalg.pinv(table))
        degree -= 1


def _powers(d: int, degree: int) -> np.ndarray:
    return np.array([p for p in product(range(degree + 1), repeat=d) if sum(p) <= degree])


def _floor(values: Values, mesh: Mesh) -> np.ndarray:
    """(v,) below which a source, or a flux, is as good as zero."""
    corners = mesh.nodes[mesh.vertices]
    found = np.abs(values(np.concatenate([corners.mean(axis=1), corners[:, 0]])))  # (m, v, 1 + d)
    of_source, of_flux = found[..., 0].max(), found[..., 1:].max()
    floor = np.full(found.shape[1:], _NOTHING * of_flux)
    extent = np.linalg.norm(np.ptp(mesh.nodes, axis=0))
    floor[:, 0] = max(_NOTHING * of_source, _OF_FLUX * of_flux / extent)
    return floor.ravel()


def at_places(mesh: Mesh, cells: np.ndarray, X: np.ndarray) -> np.ndarray:
    """(c q, d) points X (d, q) of the reference cell in given cells."""
    x = mesh.skfem.mapping().F(X, tind=cells.astype(np.int32))
    return np.ascontiguousarray(np.moveaxis(x, 0, -1).reshape(-1, mesh.dimension))
