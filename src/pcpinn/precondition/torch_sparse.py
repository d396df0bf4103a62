"""Sparse matrices as torch tensors."""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor


def csr_tensor(M: sp.spmatrix, dtype: torch.dtype, device: torch.device | str) -> Tensor:
    """A scipy matrix (m, n) as a CSR tensor, with 32-bit indices where they suffice: 12 bytes per entry in double."""
    M = M.tocsr()
    M.sort_indices()
    index = np.int32 if max(M.nnz, *M.shape) < 2**31 else np.int64
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "CSR support is in beta state"
        return torch.sparse_csr_tensor(
            torch.from_numpy(M.indptr.astype(index)).to(device),
            torch.from_numpy(M.indices.astype(index)).to(device),
            torch.from_numpy(M.data).to(device, dtype),
            size=M.shape,
            check_invariants=False,
        )


def add_product(y: Tensor, M: Tensor, x: Tensor) -> Tensor:
    """y + M x for vectors or for matrices of columns."""
    return torch.addmv(y, M, x) if x.dim() == 1 else torch.addmm(y, M, x)


def scale_rows(d: Tensor, x: Tensor) -> Tensor:
    """diag(d) x for x (N,) or (N, k); element by element where d has the shape of x."""
    return d * x if x.dim() == d.dim() else d[:, None] * x
