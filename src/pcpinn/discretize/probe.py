"""Values and derivatives of discrete functions at any points, as sparse matrices on the degrees of freedom."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .finite_elements import FiniteElements
from .slabs import TimeSlabs
from .space import ScalarSpace
from .time_scheme import derivatives


def probe(
    discretisation: FiniteElements | TimeSlabs, x: np.ndarray, component: int, axis: int | None = None
) -> sp.csr_matrix:
    """(m, N): from the degrees of freedom to a component at points x (m, d), or to its derivative along an axis."""
    space = discretisation.space
    own, offset = space.scalar[component], int(space.offsets[component])
    if not isinstance(discretisation, TimeSlabs):
        return _placed(_in_space(own, x, axis), offset, space.size)
    d = x.shape[1] - 1
    at = _placed(_in_space(own, x[:, :d], None if axis == d else axis), offset, space.size)
    return _row_products(_in_time(discretisation, x[:, d], axis == d), at)


def _in_space(space: ScalarSpace, x: np.ndarray, axis: int | None) -> sp.csr_matrix:
    if axis is None:
        return space.interpolation(x)
    cells, X = space.locate(x)
    _, slopes = space.tabulate(X)  # (m, b, k)
    inverse = space.mesh.skfem.mapping().invDF(X[:, :, None], cells.astype(np.int32))[:, axis, :, 0]  # (k, m)
    values = np.einsum("mbk,km->mb", slopes, inverse)
    rows = np.repeat(np.arange(len(x)), values.shape[1])
    return sp.csr_matrix((values.ravel(), (rows, space.cell_nodes[cells].ravel())), shape=(len(x), space.size))


def _in_time(form: TimeSlabs, t: np.ndarray, rate: bool) -> sp.csr_matrix:
    values = form.scheme.interpolation(t)
    if not rate:
        return values
    scheme = form.scheme
    slab = np.clip(np.searchsorted(scheme.times, t, side="left") - 1, 0, scheme.slabs - 1)
    length = np.diff(scheme.times)[slab]
    slopes = derivatives(scheme.inner, (t - scheme.times[slab]) / length)[1] / length[:, None]
    return sp.csr_matrix((slopes.ravel(), values.indices, values.indptr), shape=values.shape)


def _placed(matrix: sp.csr_matrix, offset: int, size: int) -> sp.csr_matrix:
    """Its columns moved to the place of a component among all degrees of freedom."""
    if offset == 0 and matrix.shape[1] == size:
        return matrix
    return sp.csr_matrix((matrix.data, matrix.indices + offset, matrix.indptr), shape=(matrix.shape[0], size))


def _row_products(time: sp.csr_matrix, space: sp.csr_matrix) -> sp.csr_matrix:
    """Row by row the Kronecker product: (m, L) and (m, n) -> (m, L n). Rows have equally many entries each."""
    m, n = space.shape
    a, b = (np.diff(matrix.indptr) for matrix in (time, space))
    first, second = int(a.max()), int(b.max())
    assert (a == first).all()
    assert (b == second).all()
    ti, si = time.indices.reshape(m, first), space.indices.reshape(m, second)
    td, sd = time.data.reshape(m, first), space.data.reshape(m, second)
    columns = (ti[:, :, None].astype(np.int64) * n + si[:, None, :]).reshape(m, -1)
    values = (td[:, :, None] * sd[:, None, :]).reshape(m, -1)
    rows = np.repeat(np.arange(m), first * second)
    return sp.csr_matrix((values.ravel(), (rows, columns.ravel())), shape=(m, time.shape[1] * n))
