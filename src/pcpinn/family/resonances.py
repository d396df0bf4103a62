"""Parameters at which a steady linear family is singular, between those that one would look at: resonances.

A matrix that depends on parameters without jumps is singular somewhere between two of them if its determinant has another sign
at each, or, where it is symmetric, if it has other numbers of negative eigenvalues. Both come with factors. Bisection finds the
place, and the size of a solution there tells a resonance from a matrix that jumps.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
import torch
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from ..errors import PcpinnError
from .anchors import spread
from .assembly import Assembly

_WORK = 200_000  # degrees of freedom that are factorised for it, about two seconds of one core in the plane
_SHARE = {1: 1, 2: 1, 3: 10}  # of that by dimension: factors of solids cost more
_PLACES = 9, 97  # at which is looked: at least, at most
_FEW = 3  # parameters that are looked along one by one, with half of the places
_ON_LINE = 5  # places on another line
_RANDOM = 16  # parameters at which the equations are looked at
_TOGETHER = 4_000_000  # entries of matrices that are assembled together
_POINTS = 400  # of an integral, at which the equations are looked at
_ROUNDING = 1e-10
_HALVINGS = 40
_GROWN = 1e4  # a solution as many times as large as at the ends of its bracket is one of a singular matrix
_NAMED = 3  # resonances in a message


def refuse_resonances(system: Assembly, seed: int = 0) -> None:
    """Look along the range of each parameter, if they are few, and across the ranges through the middle.

    Raises:
        PcpinnError: with the parameters of those that were found.
    """
    if not system.linear or system.one_matrix or _energy_is_positive(system, seed):
        return
    look, family = _Look(system), system.family
    least, most = _PLACES
    places = min(max(_WORK // _SHARE[system.form.mesh.dimension] // system.size, least), most)
    for line in _lines(family.count, places, seed):
        found = look.along(line)
        if not found:
            continue
        names = [
            ", ".join(f"{n}={v:.5g}" for n, v in zip(family.labels[:6], family.value(z), strict=False)) for z in found
        ]
        more = " and elsewhere" if len(names) > _NAMED else ""
        raise PcpinnError(
            f"the problem has no unique solution at {'; '.join(names[:_NAMED])}{more}: "
            "a resonance, near which answers grow without bound",
            "narrow the range to lie between resonances, with one family for each such range, or add damping",
        )


def _lines(K: int, places: int, seed: int) -> Iterator[Tensor]:
    """Places (n, K) on lines through the middle: along each of few parameters, then to places at random on the boundary."""
    few = K <= _FEW
    if few:
        t = torch.linspace(-1, 1, max(_ON_LINE, places // (K if K == 1 else 2 * K)), dtype=torch.float64)
        yield from t[:, None] * torch.eye(K, dtype=torch.float64)[:, None]
    if K > 1:
        ends = 2 * spread(max(2, places // (2 if few else 1) // _ON_LINE), K, seed) - 1
        t = torch.linspace(-1, 1, _ON_LINE, dtype=torch.float64)
        yield from t[:, None] * (ends / ends.abs().amax(1, keepdim=True))[:, None]


def _energy_is_positive(system: Assembly, seed: int) -> bool:
    """Whether what the equations make of a state, times that state, is nowhere negative: then no matrix is singular for it."""
    family = system.family
    mu = family.value(torch.cat([2 * spread(_RANDOM, family.count, seed) - 1, torch.zeros(1, family.count)]))
    for integrand, batch in system.parts:
        step = max(1, batch.dx.numel() // _POINTS)
        J = system.tangents(integrand, batch.some(slice(None, None, step)), mu).flatten(0, 2)  # (n, C, m, C, 1 + d)
        J = torch.nn.functional.pad(J, (0, 0, 0, 0, 0, J.shape[4] - J.shape[2]))
        J = J.flatten(3).flatten(1, 2)
        size = J.abs().amax((1, 2))
        least = torch.linalg.eigvalsh((J + J.mT) / 2)[:, 0]
        if not bool((least >= -_ROUNDING * size).all()):
            return False
    return True


class _Look:
    """Matrices of a family along a line, by the signs of their pivots."""

    def __init__(self, system: Assembly) -> None:
        self._system = system
        self._b = np.random.default_rng(0).standard_normal(system.size)
        self._symmetric = True

    def along(self, line: Tensor) -> list[Tensor]:
        """Resonances (K,) between neighbours of a line (n, K)."""
        counts = [self._negative(A) for A in self._matrices(line)]
        found = []
        for a, b, first, second in zip(line, line[1:], counts, counts[1:], strict=False):
            if first is not None and second is not None and first != second:
                at = self._between(a, b, first)
                found += [] if at is None else [at]
        return found

    def _between(self, a: Tensor, b: Tensor, count: int) -> Tensor | None:
        """Where the matrix is singular on the way from a to b; None where it jumps from one kind to the other."""
        ends = max(self._size(A) for A in self._matrices(torch.stack([a, b])))
        for _ in range(_HALVINGS):
            middle = (a + b) / 2
            (A,) = self._matrices(middle[None])
            if self._size(A) > _GROWN * ends:
                return middle
            a, b = (middle, b) if self._negative(A) == count else (a, middle)
        return None

    def _size(self, A: sp.csr_matrix) -> float:
        """Of the solution for a right side at random."""
        try:
            with np.errstate(all="ignore"):
                size = float(np.linalg.norm(spla.splu(A.tocsc()).solve(self._b)))
        except RuntimeError:
            return np.inf
        return size if np.isfinite(size) else np.inf

    def _negative(self, A: sp.csr_matrix) -> int | None:
        self._symmetric = self._symmetric and is_symmetric(A)
        return negative(A, self._symmetric)

    def _matrices(self, line: Tensor) -> Iterator[sp.csr_matrix]:
        step = max(1, _TOGETHER // len(self._system.pattern.indices))
        for some in line.split(step):
            A = self._system.linearise(None, self._system.family.value(some))
            yield from (A.to_scipy(s) for s in range(len(some)))


def is_symmetric(A: sp.csr_matrix) -> bool:
    """But for rounding."""
    return A.nnz == 0 or float(abs(A - A.T).max()) <= _ROUNDING * float(np.abs(A.data).max())


def negative(A: sp.csr_matrix, symmetric: bool) -> int | None:
    """Number of negative eigenvalues of a symmetric matrix (N, N), of another one whether it is odd; None if it is singular.

    By Sylvester's law of inertia it is that of pivots on the diagonal. Where pivots have to be elsewhere, as for pressures, and
    for matrices that are not symmetric, the sign of the determinant tells whether it is odd.
    """
    try:
        if symmetric:
            order = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
            lu = spla.splu(A.tocsc(), **order)
            if np.array_equal(lu.perm_r, lu.perm_c):
                return int((lu.U.diagonal() < 0).sum())
        else:
            lu = spla.splu(A.tocsc())
    except RuntimeError:
        return None
    return (int((lu.U.diagonal() < 0).sum()) + _odd(lu.perm_r) + _odd(lu.perm_c)) % 2


def _odd(permutation: np.ndarray) -> int:
    """1 for an odd permutation (n,), which has an odd number of cycles of even length."""
    n = len(permutation)
    graph = sp.csr_matrix((np.ones(n), (np.arange(n), permutation)), shape=(n, n))
    cycles, _ = connected_components(graph, directed=False)
    return (n - int(cycles)) % 2
