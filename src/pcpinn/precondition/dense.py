"""P^-1 A as a dense matrix, a block of columns at a time."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from .protocol import DeviceSolver, Preconditioner
from .torch_sparse import scale_rows

_BLOCK_BYTES = 2**30


def dense_on_host(
    A: sp.csr_matrix,
    preconditioner: Preconditioner,
    state: object,
    scale: np.ndarray,
    block: int,
    dtype: torch.dtype,
    device: torch.device,
) -> Tensor:
    """diag(scale) P^-1 A, (N, N), by host solves with `block` columns at a time."""
    n = A.shape[0]
    result = torch.empty((n, n), dtype=dtype, device=device)
    columns = A.tocsc()
    for start in range(0, n, block):
        part = columns[:, start : start + block].toarray()
        solved = (preconditioner.apply(state, part).T * scale).T
        result[:, start : start + block] = torch.as_tensor(solved, dtype=dtype)
    return result


def dense_on_device(
    A: sp.csr_matrix, solver: DeviceSolver, scale: Tensor, dtype: torch.dtype, block: int | None = None
) -> Tensor:
    """diag(scale) P^-1 A, (N, N) in `dtype`, by solves where `scale` (N,) is and in its precision."""
    n = A.shape[0]
    columns = A.tocsc()
    rows = torch.from_numpy(columns.indices.astype(np.int64)).to(scale.device)
    column_of = torch.from_numpy(np.repeat(np.arange(n), np.diff(columns.indptr))).to(scale.device)
    values = torch.from_numpy(columns.data).to(scale)
    block = block or max(64, min(n, _BLOCK_BYTES // (8 * n)))
    result = torch.empty((n, n), dtype=dtype, device=scale.device)
    for start in range(0, n, block):
        stop = min(start + block, n)
        inside = slice(int(columns.indptr[start]), int(columns.indptr[stop]))
        part = torch.zeros((n, stop - start), dtype=scale.dtype, device=scale.device)
        part.index_put_((rows[inside], column_of[inside] - start), values[inside], accumulate=True)
        result[:, start:stop] = scale_rows(scale, solver.apply(part)).to(dtype)
    return result
