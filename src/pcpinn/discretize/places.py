"""Where something is integrated or looked up: all cells, a part of the domain, a boundary, single points."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap

from ..errors import PcpinnError
from ..problem.problem import unknown_boundary
from .batches import Batch, cell_batches, facet_batch
from .guarded import called, guard
from .quadrature import quadrature_of
from .space import Space

Inside = Callable[[Tensor], Tensor]  # a point x (d,) -> whether it belongs to a part of the domain

CUTS = {1: 14, 2: 12, 3: 9}  # bisections of the cells that the rim of a part runs through
_LOOKS = {1: 3, 2: 4, 3: 3}  # bisections of every cell, to find out which these are
_POINTS = 50_000  # of one batch
_BESIDE = 0.05  # how far beside a cell, in its own coordinates, a point still belongs to it


def resampled(space: Space, order: int | None) -> Space:
    """The same space with quadrature of another order; None leaves it as it is."""
    if order is None:
        return space
    other = copy.copy(space)
    for known in ("quadrature", "tables"):
        other.__dict__.pop(known, None)
    other.quadrature_order = order
    return other


def places(space: Space, on: str | Inside | None, fewer_cuts: int = 0) -> Iterator[Batch]:
    """Points of quadrature: in all cells (None), on a named boundary, or in the part of the domain where a function holds.

    Raises:
        PcpinnError: for a boundary that the mesh does not have, or a part without points.
    """
    if on is None:
        return cell_batches(space)
    if isinstance(on, str):
        return iter([facet_batch(space, space.mesh.facets(known_boundary(space, on)))])
    return _part(space, on, CUTS[space.mesh.dimension] - fewer_cuts)


def known_boundary(space: Space, name: str) -> str:
    """The name itself.

    Raises:
        PcpinnError: when the mesh has no such boundary.
    """
    if name not in space.mesh.boundary_names:
        raise unknown_boundary(name, space.mesh.boundary_names)
    return name


def single_points(space: Space, x: np.ndarray) -> Batch:
    """The given points (m, d), each with weight 1; those on a curved side may lie a little outside the cells.

    Raises:
        PcpinnError: when one of them lies outside the mesh.
    """
    cells, X = space.scalar[0].locate(x, _BESIDE)
    back = space.mesh.skfem.mapping().F(X[:, :, None], cells.astype(np.int32))[:, :, 0].T
    missed = np.linalg.norm(back - x, axis=1) > 1e-6 * np.ptp(space.mesh.nodes, axis=0).max()
    outside = missed | (np.minimum(X.min(axis=0), 1 - X.sum(axis=0)) < -_BESIDE)
    if outside.any():
        raise PcpinnError(f"the point {x[outside][0].tolist()} lies outside the domain", "give a point inside")
    return in_cells_at(space, cells, X[:, :, None], np.ones((len(x), 1)))


def in_cells_at(space: Space, cells: np.ndarray, X: np.ndarray, dx: np.ndarray) -> Batch:
    """Given cells (m,) at reference points X (d, m, q), with weights (m, q)."""
    mapping, numbers = space.mesh.skfem.mapping(), cells.astype(np.int32)
    inverse = np.moveaxis(np.broadcast_to(mapping.invDF(X, numbers), (len(X), *X.shape)), (0, 1), (-2, -1))
    shapes = {}
    for s in space.scalar:
        if id(s) not in shapes:
            phi, dphi = s.tabulate(X)  # (m, q, b) and (m, q, b, d)
            gradient = np.einsum("cqbk,cqkd->cqdb", dphi, inverse)
            shapes[id(s)] = torch.from_numpy(np.concatenate([phi[:, :, None], gradient], axis=2))
    return Batch(
        x=torch.from_numpy(np.moveaxis(mapping.F(X, numbers), 0, -1).copy()),
        dx=torch.from_numpy(np.ascontiguousarray(dx)),
        shapes=[shapes[id(s)] for s in space.scalar],
        unknowns=[torch.from_numpy(o + s.cell_nodes[cells]) for s, o in zip(space.scalar, space.offsets, strict=False)],
    )


def _part(space: Space, inside: Inside, cuts: int) -> Iterator[Batch]:
    """Cells that lie inside as a whole, and pieces of those that the rim runs through."""
    d, mapping = space.mesh.dimension, space.mesh.skfem.mapping()
    X, w = quadrature_of(space.scalar[0].element, space.quadrature_order)
    barycentric = np.vstack([1 - X.sum(axis=0), X])  # (d + 1, q)

    def holds(cells: np.ndarray, at: np.ndarray) -> np.ndarray:
        x = np.moveaxis(mapping.F(at, cells.astype(np.int32)), 0, -1)
        return _asked(inside, x.reshape(-1, d)).reshape(x.shape[:-1])

    def corners_agree(cells: np.ndarray, pieces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        spread = np.concatenate([np.eye(d + 1), np.full((1, d + 1), 1 / (d + 1))])
        found = holds(cells, np.einsum("pv,mvk->kmp", spread, pieces))
        return np.asarray(found.all(axis=1)), np.asarray(~found.any(axis=1))

    cells = np.arange(len(space.mesh.cells))
    reference = np.vstack([np.zeros(d), np.eye(d)])
    lattice = np.tile(reference, (1, 1, 1))
    for _ in range(_LOOKS[d]):
        lattice = _bisected(lattice)
    spots = np.unique(lattice.reshape(-1, d).round(12), axis=0).T  # (d, s)
    seen = holds(cells, np.repeat(spots[:, None], len(cells), axis=1))
    whole, cut = cells[seen.all(axis=1)], cells[seen.any(axis=1) & ~seen.all(axis=1)]
    owners, kept = [whole], [np.tile(reference, (len(whole), 1, 1))]
    pieces = np.tile(reference, (len(cut), 1, 1))
    for step in range(cuts):
        cut, pieces = np.tile(cut, 2), _bisected(pieces)
        if step < _LOOKS[d]:
            continue
        all_in, all_out = corners_agree(cut, pieces)
        owners.append(cut[all_in])
        kept.append(pieces[all_in])
        open_ = ~(all_in | all_out)
        cut, pieces = cut[open_], pieces[open_]
    owners.append(cut)
    kept.append(pieces)
    own, simplices, rim = np.concatenate(owners), np.concatenate(kept), len(cut)
    if not len(own):
        raise PcpinnError("no part of the domain belongs to the region", "check the function of on=")
    sizes = np.abs(np.linalg.det(simplices[:, 1:] - simplices[:, :1]))
    step = max(1, _POINTS // len(w))
    for start in range(0, len(own), step):
        part = slice(start, start + step)
        at = np.einsum("vq,mvk->kmq", barycentric, simplices[part])
        volumes = np.abs(mapping.detDF(at, own[part].astype(np.int32)))
        dx = np.broadcast_to(volumes, at.shape[1:]) * sizes[part, None] * w
        on_rim = np.arange(len(own))[part] >= len(own) - rim
        if on_rim.any():
            dx[on_rim] *= holds(own[part][on_rim], at[:, on_rim])
        yield in_cells_at(space, own[part], at, dx)


def _asked(inside: Inside, x: np.ndarray) -> np.ndarray:
    def at_point(p: Tensor) -> Tensor:
        with called("the function of on=", "write a function of the place alone, such as lambda x: x[0] < 0.5"):
            return torch.as_tensor(inside(p))

    found = guard(vmap(at_point), torch.from_numpy(np.ascontiguousarray(x)))
    if found.shape != (len(x),):
        raise PcpinnError(
            f"the function of on= returned shape {tuple(found.shape[1:])} at one point",
            "write a function of one point with a truth value, such as lambda x: x[0] < 0.5",
        )
    return found.bool().numpy()


def _bisected(pieces: np.ndarray) -> np.ndarray:
    """Simplices (m, d + 1, d) cut in two at the middle of their longest edges: (2 m, d + 1, d), first halves first."""
    pairs = np.array(list(combinations(range(pieces.shape[1]), 2)))
    lengths = np.linalg.norm(pieces[:, pairs[:, 0]] - pieces[:, pairs[:, 1]], axis=-1)
    a, b = pairs[lengths.argmax(axis=1)].T
    rows = np.arange(len(pieces))
    middle = (pieces[rows, a] + pieces[rows, b]) / 2
    first, second = pieces.copy(), pieces.copy()
    first[rows, b], second[rows, a] = middle, middle
    return np.concatenate([first, second])
