"""Fast diagonalisation: the inverse of A = K_t x M_x + M_t x K_x (Kronecker products) by the eigenvectors of its small factors.

Exact, and applied by dense products alone (Lynch, Rice and Thomas 1964). It serves problems that are elliptic in time too.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import torch
from torch import Tensor

from ..discretize.singular import Degenerate
from ..discretize.system import Discretisation
from ..errors import PcpinnError
from .recipe import PRECONDITIONERS, Assembled
from .time_order import require_slabs

_LARGEST = 6000  # eigenvectors of a factor are dense
_OTHERWISE = "use preconditioner=ilu (or time-order for problems that step forward in time)"

Terms = tuple[tuple[sp.csr_matrix, sp.csr_matrix], ...]


@dataclass(frozen=True)
class Modes:
    """Free rows of time and space, eigenvectors of both, and the sum of their eigenvalues as a table."""

    layers: np.ndarray
    nodes: np.ndarray
    in_time: np.ndarray
    in_space: np.ndarray
    values: np.ndarray
    shape: tuple[int, int]


def _nothing() -> np.ndarray:
    return np.zeros(0, dtype=bool)


@PRECONDITIONERS.register
@dataclass(frozen=True)
class Separable(Assembled):
    """P = A for a matrix with two symmetric Kronecker terms, where whole time levels and whole nodes are prescribed.

    Attributes:
        terms: (time, space) factors of A, constraints not applied.
        fixed_layers, fixed_nodes: which time levels and nodes hold prescribed values.
    """

    terms: Terms = field(default=(), metadata={"hidden": True})
    fixed_layers: np.ndarray = field(default_factory=_nothing, compare=False, metadata={"hidden": True})
    fixed_nodes: np.ndarray = field(default_factory=_nothing, compare=False, metadata={"hidden": True})

    name: ClassVar[str] = "separable"
    prefers_torch: ClassVar[bool] = True

    def fitted(self, discretisation: Discretisation, memory: float) -> Separable:
        """With the Kronecker terms of a discretisation.

        Raises:
            PcpinnError: when it has none.
        """
        parts = require_slabs(discretisation, self.name).kronecker
        if parts is None:
            raise PcpinnError("separable needs coefficients that do not depend on time", "use preconditioner=auto-ilu")
        return replace(self, terms=parts.terms, fixed_layers=parts.fixed_layers, fixed_nodes=parts.fixed_nodes)

    def build(self, A: sp.csr_matrix) -> Modes:
        """Diagonalise the factors, and make sure that they are those of A.

        Raises:
            PcpinnError: when A is not of this kind.
        """
        if len(self.terms) != 2:
            raise PcpinnError(f"the matrix has {len(self.terms)} Kronecker terms, and separable needs two", _OTHERWISE)
        layers, nodes = np.flatnonzero(~self.fixed_layers), np.flatnonzero(~self.fixed_nodes)
        if max(len(layers), len(nodes)) > _LARGEST:
            raise PcpinnError(
                f"{len(layers)} time levels and {len(nodes)} nodes are too many to diagonalise",
                f"{_OTHERWISE}, or mesh coarser",
            )
        # The mass matrix of time belongs to the stiffness of space, and the other way round.
        (B1, K1), (B2, K2) = self.terms
        parts = [sp.csr_matrix(M)[i][:, i].toarray() for M, i in ((B1, layers), (K1, nodes), (B2, layers), (K2, nodes))]
        for M in parts:
            if abs(M - M.T).max() > 1e-10 * abs(M).max():
                raise PcpinnError("a factor of the matrix is not symmetric, which separable needs", _OTHERWISE)
        try:
            in_time, mu = _eigen(parts[0], parts[2])  # B1 v = mu B2 v
            in_space, nu = _eigen(parts[3], parts[1])  # K2 v = nu K1 v
        except np.linalg.LinAlgError as error:
            raise PcpinnError(f"the factors of the matrix are not positive definite: {error}", _OTHERWISE) from error
        values = mu[:, None] + nu[None, :]
        if not (np.abs(values) > 1e-13 * np.abs(values).max()).all():
            raise Degenerate("the matrix is singular", "check the boundary conditions")
        state = Modes(layers, nodes, in_time, in_space, values, (len(self.fixed_layers), len(self.fixed_nodes)))
        probe = np.random.default_rng(0).normal(size=A.shape[0])
        if np.linalg.norm(A @ self.apply(state, probe) - probe) > 1e-6 * np.linalg.norm(probe):
            raise PcpinnError("the matrix is not the sum of two Kronecker products after its constraints", _OTHERWISE)
        return state

    def apply(self, state: Modes, r: np.ndarray) -> np.ndarray:
        """P^-1 r."""
        solver = ModeSolver(state, torch.float64, torch.device("cpu"))
        return solver.apply(torch.from_numpy(np.array(r, dtype=np.float64))).numpy()

    def apply_transpose(self, state: Modes, r: np.ndarray) -> np.ndarray:
        """P^-T r: the same, as everything is symmetric."""
        return self.apply(state, r)

    def on_device(self, state: Modes, dtype: torch.dtype, device: torch.device | str, columns: int = 1) -> ModeSolver:
        """The same for tensors on a device."""
        return ModeSolver(state, dtype, torch.device(device))

    def describe(self, state: Modes) -> dict[str, Any]:
        """Numbers of modes."""
        return {"modes_in_time": len(state.layers), "modes_in_space": len(state.nodes)}


class ModeSolver:
    """P^-1 by dense products."""

    def __init__(self, state: Modes, dtype: torch.dtype, device: torch.device) -> None:
        self._shape = state.shape
        self._layers, self._nodes = (torch.from_numpy(i).to(device) for i in (state.layers, state.nodes))
        self._in_time, self._in_space, self._values = (
            torch.from_numpy(a).to(device, dtype) for a in (state.in_time, state.in_space, state.values)
        )

    def apply(self, r: Tensor) -> Tensor:
        """P^-1 r for r (N,) or (N, k)."""
        if r.dim() > 1:
            return torch.stack([self.apply(column) for column in r.unbind(1)], dim=1)
        table = r.reshape(self._shape).clone()
        inside = table[self._layers][:, self._nodes]
        modes = (self._in_time.T @ inside @ self._in_space) / self._values
        table[self._layers[:, None], self._nodes] = self._in_time @ modes @ self._in_space.T
        return table.reshape(-1)

    def apply_transpose(self, r: Tensor) -> Tensor:
        """P^-T r."""
        return self.apply(r)

    def describe(self) -> dict[str, Any]:
        """Nothing to add."""
        return {}


def _eigen(K: np.ndarray, M: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvectors V with V^T M V = I, and eigenvalues, of K v = value M v."""
    values, vectors = scipy.linalg.eigh(K, M)
    return np.ascontiguousarray(vectors), values
