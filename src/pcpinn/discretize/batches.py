"""Shape functions in batches of cells and facets, and what is done with them: evaluate, test, add up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import skfem
import torch
from torch import Tensor

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
        """Degrees of freedom (N,) -> value and gradient of each component at the points: (e * q, C, 1 + d)."""
        parts = [torch.einsum("eqmb,eb->eqm", s, u[i]) for s, i in zip(self.shapes, self.unknowns, strict=True)]
        return torch.stack(parts, dim=2).flatten(0, 1)

    @property
    def points(self) -> Tensor:
        """(e * q, d)."""
        return self.x.flatten(0, 1)

    def at(self, t: float) -> tuple[Tensor, Tensor]:
        """The points at a moment of time, and their normals in space-time: (e * q, d + 1) each."""
        x = self.points
        time = torch.full((len(x), 1), t, dtype=torch.float64, device=x.device)
        normals = torch.zeros_like(x) if self.normals is None else self.normals.flatten(0, 1)
        return torch.cat([x, time], 1), torch.cat([normals, torch.zeros_like(time)], 1)

    def at_moments(self, times: np.ndarray) -> Tensor:
        """The points at each of some moments, one after another: (len(times) * e * q, d + 1)."""
        x = self.points.expand(len(times), -1, -1)
        time = torch.as_tensor(times, dtype=x.dtype, device=x.device)[:, None, None].expand(-1, x.shape[1], 1)
        return torch.cat([x, time], 2).flatten(0, 1)


def carrying(batch: Batch, coefficients: Tensor | None) -> Batch:
    """A batch whose points are extended by the values of functions there: (values, x).

    Args:
        coefficients: (n, K) nodal values in the space of the first component; None leaves the batch as it is.
    """
    if coefficients is None:
        return batch
    values = torch.einsum("eqb,ebk->eqk", batch.shapes[0][:, :, 0], coefficients[batch.unknowns[0]])
    return replace(batch, x=torch.cat([values, batch.x], dim=2))


def cell_batches(space: Space) -> Iterator[Batch]:
    """The cells of a space, in chunks that fit into caches."""
    quadrature = space.quadrature
    cells, q = quadrature.dx.shape
    width = q * space.components**2 * (1 + space.mesh.dimension) ** 2
    step = max(1, _CHUNK_ENTRIES // width)
    tables = {id(s): s.tabulate(quadrature.X) for s in space.scalar}
    for start in range(0, cells, step):
        part = slice(start, start + step)
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


def _spread(inverse: np.ndarray, q: int) -> np.ndarray:
    return np.broadcast_to(inverse, (inverse.shape[0], q, *inverse.shape[2:]))


def _physical(phi: np.ndarray, gradient: np.ndarray) -> Tensor:
    """(q, b) and (c, q, d, b) -> (c, q, 1 + d, b)."""
    value = np.broadcast_to(phi[None, :, None], (len(gradient), phi.shape[0], 1, phi.shape[1]))
    return torch.from_numpy(np.concatenate([value, gradient], axis=2))


def scatter(r: Tensor, batch: Batch, out: Tensor) -> Tensor:
    """Test (e, q, C, m) against the first m of (value, gradient) of each shape function and add up."""
    for k, (shapes, unknowns) in enumerate(zip(batch.shapes, batch.unknowns, strict=True)):
        local = torch.einsum("eqmb,eqm,eq->eb", shapes[:, :, : out.shape[3]], out[:, :, k], batch.dx)
        r = r.index_add(0, unknowns.reshape(-1), local.reshape(-1))
    return r


def local_matrices(batch: Batch, jacobian: Tensor) -> Entries:
    """Contract (e, q, C, m, C, 1 + d) with the shape functions; blocks of components that do not couple are left out."""
    entries: Entries = []
    weighted = jacobian * batch.dx[:, :, None, None, None, None]
    for i, (test, rows) in enumerate(zip(batch.shapes, batch.unknowns, strict=True)):
        tested = test[:, :, : jacobian.shape[3]].flatten(1, 2)  # (e, q m, b)
        for j, (trial, columns) in enumerate(zip(batch.shapes, batch.unknowns, strict=True)):
            block = weighted[:, :, i, :, j]  # (e, q, m, 1 + d)
            if not block.any():
                continue
            moved = torch.matmul(block, trial).flatten(1, 2)  # (e, q m, b')
            local = torch.matmul(tested.transpose(1, 2), moved)
            entries.append(
                (
                    rows[:, :, None].expand_as(local).reshape(-1).numpy(),
                    columns[:, None, :].expand_as(local).reshape(-1).numpy(),
                    local.reshape(-1).numpy(),
                )
            )
    return entries
