"""Shape functions in batches of cells and facets, and what is done with them: evaluate, test, add up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
import skfem
import torch
from torch import Tensor

from .curved_faces import Faces, curved_faces
from .space import ScalarSpace, Space

_CHUNK_ENTRIES = 4_000_000  # numbers in the largest temporary of one chunk of cells

Entries = list[tuple[np.ndarray, np.ndarray, np.ndarray]]  # rows, columns and values of a sparse matrix, in parts


@dataclass(frozen=True)
class Batch:
    """Points in a batch of cells or facets, with everything needed to evaluate and test there."""

    x: Tensor  # (e, q, d)
    dx: Tensor  # (e, q)
    shapes: list[Tensor]  # per component (e, q, 1 + d, b): shape functions and their gradients
    unknowns: list[Tensor]  # per component (e, b)
    normals: Tensor | None = None  # (e, q, d)

    def state(self, u: Tensor) -> Tensor:
        """Degrees of freedom (N,) -> value and gradient of each component at the points: (e * q, C, 1 + d).

        Those of several moments (z, N) give (z * e * q, C, 1 + d), moment by moment.
        """
        parts = [
            torch.einsum("eqmb,...eb->...eqm", s, u[..., i]) for s, i in zip(self.shapes, self.unknowns, strict=True)
        ]
        return torch.stack(parts, dim=-2).flatten(0, -3)

    def jet(self, now: Tensor, rate: Tensor) -> Tensor:
        """The same with rates: (..., C, 2, 1 + d)."""
        return torch.stack([self.state(now), self.state(rate)], 2)

    @property
    def points(self) -> Tensor:
        """(e * q, d)."""
        return self.x.flatten(0, 1)

    @property
    def outward(self) -> Tensor:
        """Normals (e * q, d); zero in cells."""
        return torch.zeros_like(self.points) if self.normals is None else self.normals.flatten(0, 1)

    def some(self, cells: slice) -> Batch:
        """Some of its cells or facets."""
        return Batch(
            self.x[cells],
            self.dx[cells],
            [s[cells] for s in self.shapes],
            [u[cells] for u in self.unknowns],
            None if self.normals is None else self.normals[cells],
        )

    def at(self, *times: float) -> tuple[Tensor, Tensor]:
        """The points at moments of time, and their normals in space-time: (z * e * q, d + 1) each, moment by moment."""
        return at_moments(self.points, times), at_moments(self.outward, [0.0] * len(times))


def at_moments(x: Tensor, times: Sequence[float]) -> Tensor:
    """Points (n, d) at moments of time: (z * n, d + 1), moment by moment."""
    t = torch.cat([x.new_full((len(x), 1), float(t)) for t in times])  # made on the device: nothing is copied to it
    return torch.cat([x.repeat(len(times), 1), t], 1)


def carrying(batch: Batch, coefficients: Tensor | None) -> Batch:
    """A batch whose points are extended by the values of functions there: (values, x).

    Args:
        coefficients: (n, K) nodal values in the space of the first component; None leaves the batch as it is.
    """
    if coefficients is None:
        return batch
    values = torch.einsum("eqb,ebk->eqk", batch.shapes[0][:, :, 0], coefficients[batch.unknowns[0]])
    return replace(batch, x=torch.cat([values, batch.x], dim=2))


def on_device(batch: Batch, device: torch.device, identified: np.ndarray) -> Batch:
    """A batch on a device, periodic degrees of freedom merged; components that share shape functions share them there too."""
    shapes: dict[int, Tensor] = {}
    for s in batch.shapes:
        shapes.setdefault(id(s), s.contiguous().to(device))
    return Batch(
        x=batch.x.to(device),
        dx=batch.dx.to(device),
        shapes=[shapes[id(s)] for s in batch.shapes],
        unknowns=[torch.from_numpy(identified[u.numpy()]).to(device) for u in batch.unknowns],
        normals=None if batch.normals is None else batch.normals.to(device),
    )


def cell_batches(space: Space, first: int = 0, end: int | None = None) -> Iterator[Batch]:
    """The cells of a space, or those from `first` up to `end`, in chunks that fit into caches."""
    quadrature = space.quadrature
    cells, q = quadrature.dx.shape
    width = q * space.components**2 * (1 + space.mesh.dimension) ** 2
    step = max(1, _CHUNK_ENTRIES // width)
    tables = {id(s): table for s, table in zip(space.scalar, space.tables, strict=True)}
    end = cells if end is None else end
    for start in range(first, end, step):
        part = slice(start, min(start + step, end))
        shapes = {
            key: _physical(phi, np.einsum("qbk,cqkd->cqdb", dphi, _spread(quadrature.inverse_jacobian[part], q)))
            for key, (phi, dphi) in tables.items()
        }
        yield Batch(
            x=torch.from_numpy(quadrature.x[part]),
            dx=torch.from_numpy(quadrature.dx[part]),
            shapes=[shapes[id(s)] for s in space.scalar],
            unknowns=[
                torch.from_numpy(o + s.cell_nodes[part]) for s, o in zip(space.scalar, space.offsets, strict=False)
            ],
        )


def facet_batch(space: Space, facets: np.ndarray) -> Batch:
    """The given facets of a space's mesh, with outward normals."""
    if space.mesh.curved and space.mesh.dimension == 3:
        return batch_on(space, curved_faces(space.mesh, facets, space.quadrature_order))

    def basis_of(scalar: ScalarSpace) -> skfem.FacetBasis:
        return skfem.FacetBasis(space.mesh.skfem, scalar.element, facets=facets, intorder=space.quadrature_order)

    bases = {id(s): basis_of(s) for s in space.scalar}
    first = bases[id(space.scalar[0])]
    shapes, unknowns = [], []
    for s, offset in zip(space.scalar, space.offsets, strict=False):
        functions = [bases[id(s)].basis[b][0] for b in range(s.cell_nodes.shape[1])]
        value = np.stack([np.asarray(f) for f in functions], axis=-1)  # (f, q, b)
        gradient = np.stack([np.moveaxis(np.asarray(f.grad), 0, -1) for f in functions], axis=-1)  # (f, q, d, b)
        shapes.append(torch.from_numpy(np.concatenate([value[:, :, None], gradient], axis=2)))
        unknowns.append(torch.from_numpy(offset + bases[id(s)].element_dofs.T.astype(np.int64)))
    return Batch(
        x=torch.from_numpy(np.moveaxis(np.asarray(first.global_coordinates()), 0, -1).copy()),
        dx=torch.from_numpy(np.asarray(first.dx)),
        shapes=shapes,
        unknowns=unknowns,
        normals=torch.from_numpy(np.moveaxis(np.asarray(first.normals), 0, -1).copy()),
    )


def batch_on(space: Space, faces: Faces) -> Batch:
    """Facets of a space's mesh with points of their own."""
    made = {}
    for s in space.scalar:
        if id(s) not in made:
            phi, dphi = s.tabulate(faces.X)  # (f, q, b), (f, q, b, d)
            gradient = np.einsum("fqbk,kdfq->fqdb", dphi, faces.inverse)
            made[id(s)] = torch.from_numpy(np.concatenate([phi[:, :, None], gradient], axis=2))
    return Batch(
        x=torch.from_numpy(faces.x.copy()),
        dx=torch.from_numpy(faces.dx),
        shapes=[made[id(s)] for s in space.scalar],
        unknowns=[
            torch.from_numpy(o + s.cell_nodes[faces.cells]) for s, o in zip(space.scalar, space.offsets, strict=False)
        ],
        normals=torch.from_numpy(faces.normals),
    )


def _spread(inverse: np.ndarray, q: int) -> np.ndarray:
    return np.broadcast_to(inverse, (inverse.shape[0], q, *inverse.shape[2:]))


def _physical(phi: np.ndarray, gradient: np.ndarray) -> Tensor:
    """(q, b) and (c, q, d, b) -> (c, q, 1 + d, b)."""
    value = np.broadcast_to(phi[None, :, None], (len(gradient), phi.shape[0], 1, phi.shape[1]))
    return torch.from_numpy(np.concatenate([value, gradient], axis=2))


def scatter(r: Tensor, batch: Batch, out: Tensor, at_once: bool = False) -> Tensor:
    """Test (..., e, q, C, m) against the first m of (value, gradient) of each shape function and add up in r (..., N).

    Args:
        r: what to add to.
        batch: where.
        out: of each moment, if there are several.
        at_once: apply the weights of the quadrature before all sums, not between them: faster for many moments.
    """
    if at_once:
        out = out * batch.dx[..., None, None]
    for k, (shapes, unknowns) in enumerate(zip(batch.shapes, batch.unknowns, strict=True)):
        test, tested = shapes[:, :, : out.shape[-1]], out[..., k, :]
        local = (
            torch.einsum("eqmb,...eqm->...eb", test, tested)
            if at_once
            else torch.einsum("eqmb,...eqm,eq->...eb", test, tested, batch.dx)
        )
        r = r.index_add(-1, unknowns.reshape(-1), local.flatten(-2))
    return r


def local_matrices(batch: Batch, jacobian: Tensor) -> Entries:
    """Contract (e, q, C, m, C, 1 + d) with the shape functions; blocks of components that do not couple are left out."""
    C = range(len(batch.shapes))
    blocks = ((i, j, jacobian[:, :, i, :, j]) for i in C for j in C)
    return [
        placed(batch.unknowns[i], batch.unknowns[j], contracted(batch, i, j, block))
        for i, j, block in blocks
        if block.any()
    ]


def contracted(batch: Batch, i: int, j: int, block: Tensor) -> Tensor:
    """Integrate (..., e, q, m, 1 + d) with test functions of component i and trial functions of j: (..., e, b, b')."""
    moved = torch.matmul(block * batch.dx[:, :, None, None], batch.shapes[j]).flatten(-3, -2)  # (..., e, q m, b')
    tested = batch.shapes[i][:, :, : block.shape[-2]].flatten(1, 2)  # (e, q m, b)
    return torch.matmul(tested.transpose(1, 2), moved)


def placed(rows: Tensor, columns: Tensor, local: Tensor) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Local matrices (e, b, b') as entries, with the numbers of their rows (e, b) and columns (e, b')."""
    spread = rows[:, :, None].expand_as(local), columns[:, None, :].expand_as(local), local
    return tuple(part.reshape(-1).numpy() for part in spread)  # type: ignore[return-value]


def sparse(entries: Entries, shape: tuple[int, int]) -> sp.csr_matrix:
    """The matrix of entries, those that meet added up."""
    if not entries:
        return sp.csr_matrix(shape)
    rows, columns, values = (np.concatenate(part) for part in zip(*entries, strict=True))
    matrix = sp.coo_matrix((values, (rows, columns)), shape=shape).tocsr()
    matrix.sum_duplicates()
    return matrix
