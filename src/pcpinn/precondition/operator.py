"""The preconditioned residual of an assembled system: which P, dense or sparse, on the host or on a device."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ..errors import PcpinnError
from .auto import AutoILU, Tightened
from .dense import dense_on_device, dense_on_host
from .kept import Kept
from .maps import DeviceMatrix, HostMatrix, HostSolver
from .preconditioned import Preconditioned
from .protocol import DeviceSolver, LinearMap, Preconditioner
from .quality import Quality, estimate_quality
from .schwarz import FittedSchwarz

_DENSE_BYTES = 2 * 2**30  # on a CPU a dense matrix pays only while it fits in caches; on a GPU, while it fits at all
_BLOCK = 512


class PreconditionedResidual(Preconditioned):
    """The map u -> W P^-1 (A u - b) of a sparse matrix. On a GPU everything stays there, if P has a form for it.

    Args:
        A, b: (N, N) and (N,).
        preconditioner: P, or the wish for one (AutoILU), which needs the nodes.
        weights: (N,) of the norm.
        dense: whether to hold P^-1 A as a dense matrix: True, False or "auto".
        dtype, device: of u.
        nodes: (N, d) position of each degree of freedom: then the quality of P is measured.
        components: (N,) which component an unknown belongs to; None for one.
        on_device: apply P by torch operations: True, False, or None to do so on a GPU and where P prefers it.

    With a P in parts the residual is that of the degrees of freedom that this process holds, part after part: u is (n,) of them.

    Attributes:
        preconditioner, state: P.
        all_weights: (N,) of all of them.
        dense: whether P^-1 A is held as a dense matrix.
        setup_s: seconds spent building P (and P^-1 A).
        quality: how close P is to A, or None if not measured.
    """

    def __init__(
        self,
        A: sp.csr_matrix,
        b: np.ndarray,
        preconditioner: Preconditioner | AutoILU,
        weights: np.ndarray,
        dense: bool | str = "auto",
        dtype: torch.dtype = torch.float64,
        device: torch.device | str = "cpu",
        nodes: np.ndarray | None = None,
        components: np.ndarray | None = None,
        on_device: bool | None = None,
    ) -> None:
        started = time.perf_counter()
        self.dtype, self.device = dtype, torch.device(device)
        self.A, self.weights, self.all_weights = A, weights, weights
        self.dense = self._choose(dense)
        self._chosen: Tightened | None = None
        self.quality: Quality | None = None
        self.preconditioner, self.state = self._build(preconditioner, nodes, components)
        if isinstance(parts := whole_of(self.preconditioner), FittedSchwarz):
            self._take_parts(parts, b, nodes, components)
            self.setup_s = time.perf_counter() - started
            return
        if on_device is None:
            on_device = self.device.type == "cuda" or self.preconditioner.prefers_torch
        solver = self._on_device() if on_device else None
        self._solver_facts = {} if solver is None else solver.describe()
        host = HostSolver(self.preconditioner, self.state)
        if self.quality is None and nodes is not None:
            self.quality = self._measure(solver or host, nodes, components)
        matrix: LinearMap = HostMatrix(A) if solver is None or self.dense else DeviceMatrix(A, torch.float64, device)
        right = torch.from_numpy(np.asarray(b, dtype=np.float64)).to(self.device)
        explicit = self._dense_matrix(solver) if self.dense else None
        super().__init__(matrix, solver or host, right, weights, dtype, device, explicit)
        if self.dense:
            self.solver = host  # a device's solver has done its work; its memory goes back
        self.setup_s = time.perf_counter() - started

    def _take_parts(
        self, P: FittedSchwarz, b: np.ndarray, nodes: np.ndarray | None, components: np.ndarray | None
    ) -> None:
        """The rows of this process alone, with a P that is shared."""
        if self.dense:
            raise PcpinnError("a P in parts is not held as a dense matrix", "use dense=false")
        self.here, self._solver_facts = self.state.shards.here, {}
        if self.quality is None and nodes is not None:
            self.quality = estimate_quality(self.A, lambda r: P.apply(self.state, r), nodes, self.weights, components)
        if self.quality is not None and not self.quality.smooth < 1:
            raise PcpinnError(
                f"P in {P.recipe.parts} parts is not near A: ||I - P^-1 A|| is {self.quality.smooth:.2g} on smooth functions",
                "flows with a pressure and waves over time need one P for all: use another preconditioner, in one process",
            )
        super().__init__(
            P.rows_of(self.state, self.A, self.device),
            P.on_device(self.state, torch.float64, self.device),
            torch.from_numpy(np.asarray(b, dtype=np.float64)[self.here]).to(self.device),
            self.all_weights[self.here],
            self.dtype,
            self.device,
            team=P.team,
        )

    def whole(self, u: Tensor) -> Tensor:
        """(n,) of each process -> (N,) of all, in their order."""
        return u if self.here is None else self.state.shards.whole(u)

    def _build(
        self, recipe: Preconditioner | AutoILU, nodes: np.ndarray | None, components: np.ndarray | None
    ) -> tuple[Preconditioner, Any]:
        if isinstance(recipe, AutoILU):
            if nodes is None:
                raise PcpinnError(
                    "preconditioner=auto-ilu needs the positions of the degrees of freedom to measure its quality",
                    "pass nodes=..., or use preconditioner=ilu",
                )
            self._chosen = recipe.choose(self.A, nodes, self.weights, components)
            self.quality = self._chosen.quality
            return self._chosen.preconditioner, self._chosen.state
        return recipe, recipe.build(self.A)

    def _on_device(self) -> DeviceSolver | None:
        columns = _BLOCK if self.dense else 1
        return self.preconditioner.on_device(self.state, torch.float64, self.device, columns)

    def _measure(self, solver: LinearMap, nodes: np.ndarray, components: np.ndarray | None) -> Quality:
        def apply(r: np.ndarray) -> np.ndarray:
            return solver.apply(torch.from_numpy(np.ascontiguousarray(r)).to(self.device)).cpu().numpy()

        return estimate_quality(self.A, apply, nodes, self.weights, components)

    def _choose(self, dense: bool | str) -> bool:
        if dense not in (True, False, "auto"):
            raise PcpinnError(f"dense={dense!r} is not a choice", "use auto, true or false")
        needed = self.A.shape[0] ** 2 * torch.finfo(self.dtype).bits // 8
        if dense == "auto":
            if self.device.type == "cuda":
                return needed < 0.25 * torch.cuda.mem_get_info(self.device)[0]
            return needed < 8 * 2**20  # beyond a few megabytes two triangular solves are cheaper than a dense product
        if dense and self.device.type == "cpu" and needed > _DENSE_BYTES * 4:
            raise PcpinnError(
                f"a dense P^-1 A of {self.A.shape[0]} degrees of freedom needs {needed / 2**30:.1f} GiB",
                "use dense=false or a coarser mesh",
            )
        return bool(dense)

    def _dense_matrix(self, solver: DeviceSolver | None) -> Tensor:
        root = np.sqrt(self.weights)
        if solver is not None:
            return dense_on_device(self.A, solver, torch.from_numpy(root).to(self.device), self.dtype)
        return dense_on_host(self.A, self.preconditioner, self.state, root, _BLOCK, self.dtype, self.device)

    def describe(self) -> dict[str, Any]:
        """Name, settings and facts for the report."""
        facts = {"name": self.preconditioner.name, **self.preconditioner.describe(self.state), "dense": self.dense}
        facts |= self._solver_facts
        if self.quality is not None:
            facts["quality"] = self.quality.describe()
        if self._chosen is not None:
            facts |= self._chosen.describe()
        return {**facts, "setup_s": round(self.setup_s, 3)}


def whole_of(P: Preconditioner) -> Preconditioner:
    """P itself, where it is one that was kept."""
    return P.preconditioner if isinstance(P, Kept) else P
