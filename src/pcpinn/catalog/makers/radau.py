"""Radau IIA with three stages for M u' + K u = b(t): order five, L-stable, so rough starts are damped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import SuperLU, splu

_S = np.sqrt(6.0)
_A = np.array(
    [
        [(88 - 7 * _S) / 360, (296 - 169 * _S) / 1800, (-2 + 3 * _S) / 225],
        [(296 + 169 * _S) / 1800, (88 + 7 * _S) / 360, (-2 - 3 * _S) / 225],
        [(16 - _S) / 36, (16 + _S) / 36, 1 / 9],
    ]
)
_C = _A.sum(axis=1)


def radau(
    M: sp.spmatrix, K: sp.spmatrix, load: Callable[[float], np.ndarray], u: np.ndarray, times: np.ndarray
) -> Iterator[np.ndarray]:
    """u at times[1], times[2], ..., by one step from each time to the next; steps of equal length share their factors.

    With Z the stages' increments, (A^-1 ⊗ M / h + I ⊗ K) Z = b - K u. The eigenvalues of A^-1, one real and a conjugate
    pair, turn that into one real and one complex system of the size of u.
    """
    eigenvalues, T = np.linalg.eig(np.linalg.inv(_A))
    real = int(np.argmin(np.abs(eigenvalues.imag)))
    upper = int(np.argmax(eigenvalues.imag))
    to_modes = np.linalg.inv(T)
    length, factors = 0.0, {}
    for start, end in pairwise(times):
        h = end - start
        if abs(h - length) > 1e-9 * h:
            length = h
            factors = {
                real: _factorise(K + eigenvalues[real].real / h * M),
                upper: _factorise(K + eigenvalues[upper] / h * M),
            }
        residual = np.stack([load(start + c * h) for c in _C]) - K @ u  # (3, N)
        first = factors[real].solve((to_modes[real] @ residual).real)
        second = factors[upper].solve(to_modes[upper] @ residual)
        u = u + (T[2, real] * first).real + 2 * (T[2, upper] * second).real  # the last stage is the step's end
        yield u


def _factorise(matrix: sp.spmatrix) -> SuperLU:
    """LU without pivoting: K and M are symmetric and positive, and the shifts have positive real parts."""
    return splu(matrix.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
