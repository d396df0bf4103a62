"""Functions of one finite element space in another: prolonged, compared cell by cell."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import scipy.sparse as sp

from .space import ScalarSpace, Space

_BESIDE = 0.1  # how far beside a cell, in its own coordinates, nodes on a curved side may lie


def prolongation(source: Space, target: Space) -> sp.csr_matrix:
    """(N of target, N of source): values at the target's nodes of a function of the source.

    On the same mesh it is exact cell by cell; between a mesh and its refinement cells are found among parents or children,
    between other meshes by place.
    """
    made: dict[tuple[int, int], sp.csr_matrix] = {}
    blocks = []
    for a, b in zip(source.scalar, target.scalar, strict=True):
        key = (id(a), id(b))
        if key not in made:
            made[key] = _between(a, b)
        blocks.append(made[key])
    return sp.block_diag(blocks, format="csr")


def values_in_cells(space: Space, component: int, u: np.ndarray) -> np.ndarray:
    """(c, q) a component of u (N,) at the points of quadrature."""
    scalar, (phi, _) = space.scalar[component], space.tables[component]
    return u[space.offsets[component] + scalar.cell_nodes] @ phi.T


def squares(space: Space, u: np.ndarray) -> np.ndarray:
    """(c, C) integrals over each cell of the square of each component of u (N,)."""
    quadrature = space.quadrature
    result = np.empty((len(quadrature.dx), space.components))
    for k in range(space.components):
        result[:, k] = (quadrature.dx * values_in_cells(space, k, u) ** 2).sum(axis=1)
    return result


def gradients(space: Space, component: int, u: np.ndarray) -> np.ndarray:
    """(c, q, d) the gradient of a component of u (N,) at the points of quadrature."""
    quadrature, scalar, (_, dphi) = space.quadrature, space.scalar[component], space.tables[component]
    reference = np.einsum("cb,qbi->cqi", u[space.offsets[component] + scalar.cell_nodes], dphi)
    inverse = quadrature.inverse_jacobian
    return np.einsum("cqi,cqid->cqd", reference, np.broadcast_to(inverse, (*quadrature.dx.shape, *inverse.shape[2:])))


def slopes(space: Space, u: np.ndarray) -> np.ndarray:
    """(C, d) root of the integral of the square of each derivative of each component of u (N,)."""
    of = range(space.components)
    return np.stack([np.sqrt(np.einsum("cq,cqd->d", space.quadrature.dx, gradients(space, k, u) ** 2)) for k in of])


def variations(space: Space, u: np.ndarray, components: Iterable[int]) -> np.ndarray:
    """(c q, d) how much u (N,) varies along each axis at the points of quadrature: parts of 1, the mean over components."""
    total = np.zeros((space.quadrature.dx.size, space.mesh.dimension))
    for k in components:
        part = (np.abs(gradients(space, k, u)) * space.quadrature.dx[:, :, None]).reshape(total.shape)
        total += part / np.maximum(part.sum(axis=0), np.finfo(float).tiny)
    return total / np.maximum(total.sum(axis=0), np.finfo(float).tiny)


def by_field(space: Space, per_component: np.ndarray) -> np.ndarray:
    """(..., C) sums of components -> (..., F), one per field."""
    parts, at = [], 0
    for f in space.fields:
        parts.append(per_component[..., at : at + f.components].sum(axis=-1))
        at += f.components
    return np.stack(parts, axis=-1)


def mass_times(space: Space, u: np.ndarray) -> np.ndarray:
    """(N,) the mass matrix of the space times u."""
    quadrature = space.quadrature
    result = np.zeros(space.size)
    for k, scalar in enumerate(space.scalar):
        phi, _ = space.tables[k]
        numbers = space.offsets[k] + scalar.cell_nodes
        local = (quadrature.dx * (u[numbers] @ phi.T)) @ phi  # (c, b)
        result += np.bincount(numbers.ravel(), local.ravel(), minlength=space.size)
    return result


def _between(source: ScalarSpace, target: ScalarSpace) -> sp.csr_matrix:
    if source.mesh is target.mesh:
        return _same_mesh(source, target)
    found = _related(source, target)
    return source.interpolation(target.nodes) if found is None else found


def _related(source: ScalarSpace, target: ScalarSpace) -> sp.csr_matrix | None:
    """The same where one mesh is the uniform refinement of the other (children in the order of `refined`); else None."""
    ours, theirs = len(source.mesh.cells), len(target.mesh.cells)
    children = 2**source.mesh.dimension
    if children * min(ours, theirs) != max(ours, theirs):
        return None
    nodes, first = np.unique(target.cell_nodes.ravel(), return_index=True)
    cell = first // target.cell_nodes.shape[1]
    x = target.nodes[nodes]
    candidates = [cell % ours] if ours < theirs else [cell + k * theirs for k in range(children)]
    tries = [(c, *source.fitted(x, c)) for c in candidates]
    best = np.argmax([fit for _, _, fit in tries], axis=0)
    at = np.arange(len(nodes))
    if np.array([fit for _, _, fit in tries])[best, at].min() < -_BESIDE:
        return None  # of as many cells, but not of these
    cells = np.array([c for c, _, _ in tries])[best, at]
    X = np.array([X for _, X, _ in tries])[best, :, at].T
    phi, _ = source.tabulate(X)
    columns = source.cell_nodes[cells]
    rows = np.repeat(nodes, columns.shape[1])
    return sp.csr_matrix((phi.ravel(), (rows, columns.ravel())), shape=(target.size, source.size))


def _same_mesh(source: ScalarSpace, target: ScalarSpace) -> sp.csr_matrix:
    phi, _ = source.tabulate(np.asarray(target.element.doflocs, dtype=float).T)  # (b of target, b of source)
    nodes, first = np.unique(target.cell_nodes.ravel(), return_index=True)
    cell, local = np.divmod(first, target.cell_nodes.shape[1])
    columns = source.cell_nodes[cell]
    rows = np.repeat(nodes, columns.shape[1])
    matrix = sp.csr_matrix((phi[local].ravel(), (rows, columns.ravel())), shape=(target.size, source.size))
    matrix.eliminate_zeros()
    return matrix
