"""SuperLU factors on a device: P^-1 = Pc U^-1 L^-1 Pr, with the fastest triangular solve that is exact enough."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
import torch
from torch import Tensor

from .triangular import Blocks, Sweeps

SWEEP_CAP = 200
_LARGEST_BLOCK = {"cuda": 4096, "cpu": 256}  # few steps against little dense work
_SMALLEST_BLOCK = 128
_BLOCK_BYTES = 8 * 2**30  # for the dense diagonal blocks of both factors
# Rough seconds on a large GPU, to choose between the two methods: per step of each, and per byte read.
_SWEEP_S, _STEP_S, _BYTE_S = 25e-6, 45e-6, 1 / 3e12


class FactorSolver:
    """P^-1 from a SuperLU object, for tensors on a device.

    Args:
        lu: the factors.
        dtype, device: of the tensors it is applied to.
        tolerance: largest relative error against SuperLU's own solve, on a few smooth and random right-hand sides.
        columns: right-hand sides at a time that it is meant for.
        method: sweeps, blocks or host; None takes the faster of the first two, and the host if neither is exact enough.
        block: rows per dense block; None derives it from the size and the memory.

    Attributes:
        method: what it came to.
        error: the relative error measured, for P^-1 and P^-T together.
    """

    def __init__(
        self,
        lu: spla.SuperLU,
        dtype: torch.dtype,
        device: torch.device | str,
        tolerance: float = 1e-6,
        columns: int = 1,
        method: str | None = None,
        block: int | None = None,
    ) -> None:
        self._lu, self.dtype, self.device = lu, dtype, torch.device(device)
        self.method, self.error, self.tolerance = "host", 0.0, tolerance
        n = lu.shape[0]
        rows = np.argsort(lu.perm_r)
        self._rows = torch.from_numpy(rows).to(self.device)  # (Pr r)[perm_r[i]] = r[i]
        self._rows_back = torch.from_numpy(np.asarray(lu.perm_r, dtype=np.int64)).to(self.device)
        self._columns = torch.from_numpy(np.asarray(lu.perm_c, dtype=np.int64)).to(self.device)
        self._columns_back = torch.from_numpy(np.argsort(lu.perm_c)).to(self.device)
        self._lower: Sweeps | Blocks | None = None
        self._upper: Sweeps | Blocks | None = None
        if method == "host":
            return
        L, U = sp.csr_matrix(lu.L), sp.csr_matrix(lu.U)
        probes = self._probes()
        block = block or _block_size(n, dtype, self.device)
        sweeps = self._try_sweeps(L, U, probes) if method in (None, "sweeps") else None
        if block and (method == "blocks" or (method is None and _blocks_win(sweeps, n, L.nnz + U.nnz, block, columns))):
            lower = Blocks(L, lower=True, block=block, dtype=dtype, device=self.device)
            upper = Blocks(U, lower=False, block=block, dtype=dtype, device=self.device)
            if self._accept("blocks", lower, upper, probes):
                return
        if sweeps is not None:
            first, second = sweeps
            if dtype != torch.float64:
                first, second = _cast(first, L, dtype, self.device), _cast(second, U, dtype, self.device)
            if self._accept("sweeps", first, second, probes):
                return
        self._lower = self._upper = None
        self.method, self.error = "host", 0.0

    def apply(self, r: Tensor) -> Tensor:
        """P^-1 r for r (N,) or (N, k)."""
        if self._lower is None or self._upper is None:
            return self._on_host(r, "N")
        return self._upper.solve(self._lower.solve(r[self._rows]))[self._columns]

    def apply_transpose(self, r: Tensor) -> Tensor:
        """P^-T r = Pr^T L^-T U^-T Pc^T r for r (N,) or (N, k)."""
        if self._lower is None or self._upper is None:
            return self._on_host(r, "T")
        y = self._lower.solve(self._upper.solve(r[self._columns_back], transpose=True), transpose=True)
        return y[self._rows_back]

    def describe(self) -> dict[str, Any]:
        """Method, counts and error."""
        facts: dict[str, Any] = {"triangular": self.method}
        if isinstance(self._lower, Sweeps) and isinstance(self._upper, Sweeps):
            facts["sweeps"] = [self._lower.count, self._upper.count]
            facts["sweeps_transposed"] = [self._upper.count_transposed, self._lower.count_transposed]
        elif isinstance(self._lower, Blocks):
            facts["block"] = self._lower.block
        else:
            return {**facts, "note": "each application visits the host"}
        return {**facts, "error": float(f"{self.error:.2g}")}

    def _on_host(self, r: Tensor, kind: str) -> Tensor:
        x = self._lu.solve(np.ascontiguousarray(r.detach().to("cpu", torch.float64).numpy()), kind)
        return torch.from_numpy(x).to(r.device, r.dtype)

    def _probes(self) -> np.ndarray:
        """Right-hand sides (N, 4): noise, a constant, P times a constant, and P^-1 times noise, which is smooth."""
        n = self._lu.shape[0]
        noise, ones = np.random.default_rng(0).normal(size=n), np.ones(n)
        image = (self._lu.L @ (self._lu.U @ ones))[self._lu.perm_r]
        smooth = self._lu.solve(noise)
        probes = np.column_stack([noise, ones, image, smooth])
        return probes / np.linalg.norm(probes, axis=0)

    def _try_sweeps(self, L: sp.csr_matrix, U: sp.csr_matrix, probes: np.ndarray) -> tuple[Sweeps, Sweeps] | None:
        """Both factors with enough sweeps in double precision, or None."""
        lower, upper = (Sweeps(T, torch.float64, self.device) for T in (L, U))
        r = torch.from_numpy(probes).to(self.device)
        for safety in (3.0, 30.0, 300.0):
            change = self.tolerance / safety
            for first, second, start, transpose in (
                (lower, upper, r[self._rows], False),
                (upper, lower, r[self._columns_back], True),
            ):
                if not first.set_count(start, transpose, change, SWEEP_CAP):
                    return None
                if not second.set_count(first.solve(start, transpose), transpose, change, SWEEP_CAP):
                    return None
            self._lower, self._upper = lower, upper
            if self._measure(probes, torch.float64) <= self.tolerance:
                return lower, upper
        return None

    def _accept(self, method: str, lower: Sweeps | Blocks, upper: Sweeps | Blocks, probes: np.ndarray) -> bool:
        self._lower, self._upper, self.method = lower, upper, method
        self.error = self._measure(probes, self.dtype)
        # In single precision rounding decides, and the host would return rounded numbers too.
        return self.error <= (self.tolerance if self.dtype == torch.float64 else max(self.tolerance, 1e-2))

    def _measure(self, probes: np.ndarray, dtype: torch.dtype) -> float:
        r = torch.from_numpy(probes).to(self.device, dtype)
        worst = 0.0
        for method, kind in ((self.apply, "N"), (self.apply_transpose, "T")):
            exact = self._lu.solve(probes, kind)
            error = np.linalg.norm(method(r).to("cpu", torch.float64).numpy() - exact, axis=0)
            worst = max(worst, float((error / np.linalg.norm(exact, axis=0)).max()))
        return worst if np.isfinite(worst) else float("inf")


def _cast(s: Sweeps, T: sp.csr_matrix, dtype: torch.dtype, device: torch.device) -> Sweeps:
    result = Sweeps(T, dtype, device)
    result.count, result.count_transposed = s.count, s.count_transposed
    return result


def _block_size(n: int, dtype: torch.dtype, device: torch.device) -> int:
    """Rows per block: few steps, but dense blocks that fit; 0 if they do not."""
    available = _BLOCK_BYTES
    if device.type == "cuda":
        available = min(available, torch.cuda.mem_get_info(device)[0] // 4)
    fits = available // (2 * n * (torch.finfo(dtype).bits // 8))
    block = int(min(_LARGEST_BLOCK.get(device.type, 1024), n, fits))
    return block if block >= min(_SMALLEST_BLOCK, n) else 0


def _blocks_win(sweeps: tuple[Sweeps, Sweeps] | None, n: int, entries: int, block: int, columns: int) -> bool:
    """Compare the time that one application of each should take."""
    if sweeps is None:
        return True
    count = max(sum(s.count for s in sweeps), sum(s.count_transposed for s in sweeps))
    one_sweep = _SWEEP_S + (6 * entries + 24 * n * columns) * _BYTE_S  # each factor holds about half of the entries
    steps = 2 * -(-n // block)
    return steps * _STEP_S + (12 * entries + 16 * n * block + 40 * n * columns) * _BYTE_S < count * one_sweep
