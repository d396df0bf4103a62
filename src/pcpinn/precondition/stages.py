"""P for the steps of a march: all time levels of a step at once, decoupled by the eigenvectors of the scheme.

A step's matrix is V ⊗ K + S ⊗ M with small matrices V, S of the scheme and K = dR/du, M = dR/du_t averaged over the step. With
V^-1 S = T Λ T^-1 it takes one system (K + λ M) x = r in space per eigenvalue, conjugate pairs once. These are solved by
(incomplete) factors, by dense inverses on a GPU, or by a polynomial where steps are short. Several steps in a
window are solved in the order of time, or each on its own, which is P of the paper's Algorithm 3.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
import torch
from torch import Tensor

from ..discretize.spatial_form import SpatialForm
from ..discretize.window import WindowMatrix
from ..errors import PcpinnError
from .dense_step import DenseSolver, dense_precision
from .device_factors import FactorSolver
from .polynomial import PolynomialSolver
from .preconditioned import Preconditioned
from .recipe import PRECONDITIONERS, Ordering, Preconditioning
from .refined import RefinedSolver
from .step_factors import CondensedSolver, HostSolver, condensed

_DENSE_ROWS = 24_000
_SMALL = 3_000  # below, factors cost nothing
_WORST = 0.5  # part of an error that a polynomial may leave, whatever it is of


@PRECONDITIONERS.register
@dataclass(frozen=True)
class Stages(Preconditioning):
    """P of the steps of a march: the stages of a step are decoupled, and each is solved on its own.

    Attributes:
        drop_tolerance: of incomplete factors; 0 for complete ones.
        fill_factor: most entries of the factors, in multiples of those of the matrix.
        ordering: order of elimination: colamd, or mmd (smaller and faster for diffusion, bad for waves); or auto: with complete
            factors mmd where diagonals can be pivots, else colamd.
        solves: factors (on the host), dense (inverses, on a GPU; of the incomplete factors where there are such), polynomial;
            or auto: a polynomial if it reaches `polynomial_accuracy` and no `drop_tolerance` is given, else on a GPU dense up to
            24 000 degrees of freedom per time level, else factors.
        polynomial_accuracy: relative residual that a polynomial must reach, for a random right-hand side; of what it solves
            worst, often smooth functions, it must halve the error besides.
        coupled: P takes over from step to step what A does, as if the steps of a window were solved one after the other; if
            not, each step has its own P, and what the steps have to do with each other is left to the training.
        room: bytes that dense inverses may take: in single precision, with corrections, where double does not fit.
    """

    drop_tolerance: float = 0.0
    fill_factor: float = 50.0
    ordering: Ordering | Literal["auto"] = "auto"
    solves: Literal["auto", "factors", "dense", "polynomial"] = "auto"
    polynomial_accuracy: float = 0.05
    coupled: bool = True
    room: float = field(default=math.inf, metadata={"hidden": True})

    name: ClassVar[str] = "stages"
    positive: ClassVar[tuple[str, ...]] = ("fill_factor", "polynomial_accuracy")
    not_negative: ClassVar[tuple[str, ...]] = ("drop_tolerance", "refinement")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.solves == "polynomial" and self.drop_tolerance > 0:
            raise PcpinnError(
                f"drop_tolerance={self.drop_tolerance:g} has no effect with solves=polynomial",
                "leave drop_tolerance out, or use solves=factors",
            )

    def unread(self) -> Mapping[str, str]:
        """What is of incomplete factors, or of polynomials, where there are none."""
        result = {} if self.drop_tolerance else {"fill_factor": "drop_tolerance=0 makes complete factors"}
        if self.solves in ("factors", "dense"):
            result["polynomial_accuracy"] = f"solves={self.solves} takes no polynomial"
        elif self.solves == "auto" and self.drop_tolerance:
            result["polynomial_accuracy"] = "with a drop_tolerance, solves=auto takes no polynomial"
        return result

    @property
    def exact(self) -> Stages:
        """The same with complete factors and all steps: for a solve, not for a training."""
        return self if self.coupled and not self.drop_tolerance else replace(self, drop_tolerance=0.0, coupled=True)

    def may_be_dense(self, size: int, device: torch.device) -> bool:
        """Whether systems of so many rows are inverted, if there is room."""
        return self.solves == "dense" or (self.solves == "auto" and device.type == "cuda" and size <= _DENSE_ROWS)

    def precision(self, form: SpatialForm, modes: Sequence[bool]) -> torch.dtype | None:
        """That of dense inverses, one for each mode (whether it is complex); None where there are none.

        Raises:
            PcpinnError: when they are asked for and do not fit.
        """
        if not self.may_be_dense(form.size, form.device):
            return None
        found = dense_precision(form.size, modes, self.room)
        if found is None and self.solves == "dense":
            raise PcpinnError(
                f"dense inverses of {len(modes)} matrices of {form.size} rows do not fit into the memory that is allowed",
                "use solves=auto or factors, a coarser mesh, or raise memory",
            )
        return found

    def build(self, matrix: WindowMatrix) -> StageSolver:
        """P for a window.

        Raises:
            PcpinnError: when a system in space is singular.
        """
        return StageSolver(self, matrix)


class StageSolver:
    """P^-1 and P^-T on (L, n), kept over windows of the same shape for as long as it is good enough."""

    def __init__(self, recipe: Stages, matrix: WindowMatrix) -> None:
        started = time.perf_counter()
        layers, space = matrix.layers, matrix.space
        self.recipe, self.length, self.first = recipe, layers.length, layers.first and layers.history > 1
        self._m, H = layers.scheme.order, layers.history
        last = slice((layers.steps - 1) * self._m, layers.steps * self._m)
        moments = layers.moments_of(layers.steps - 1)
        test = layers.test[last, moments]
        V = test @ layers.value[moments][:, H:][:, last]
        S = test @ layers.slope[moments][:, H:][:, last]
        self._undo = torch.from_numpy(np.linalg.inv(V)).to(space.device)
        eigenvalues, T = np.linalg.eig(np.linalg.solve(V, S))
        keep = [k for k, z in enumerate(eigenvalues) if z.imag >= -1e-12 * abs(z)]
        self._modes = [(complex(eigenvalues[k]), abs(eigenvalues[k].imag) > 1e-12 * abs(eigenvalues[k])) for k in keep]
        to_modes = np.linalg.inv(T)[keep]
        self._to = torch.from_numpy(to_modes.astype(complex)).to(space.device)
        self._from = torch.from_numpy(T[:, keep].astype(complex)).to(space.device)
        by_value, by_rate = matrix.mean()
        precision = recipe.precision(space.form, [is_complex for _, is_complex in self._modes])
        whole = precision is None and not recipe.drop_tolerance and recipe.ordering == "auto"
        in_space = space.form.to_scipy
        reduced = condensed(space, in_space(by_value), in_space(by_rate), recipe) if whole else None
        shifts = (z if is_complex else z.real for z, is_complex in self._modes)
        self._solvers = [
            _solver(
                by_value + z * by_rate,
                recipe,
                space.form,
                precision,
                None if reduced is None else partial(reduced.at, z),
            )
            for z in shifts
        ]
        self._free = torch.ones(space.size, dtype=torch.bool, device=space.device)
        self._free[space.constrained] = False
        self.setup_s = time.perf_counter() - started

    def fits(self, matrix: WindowMatrix) -> bool:
        """Whether a window has steps of the same kind and length."""
        layers = matrix.layers
        first = layers.first and layers.history > 1
        return abs(layers.length - self.length) <= 1e-9 * self.length and first == self.first

    def apply(self, R: Tensor, matrix: WindowMatrix) -> Tensor:
        """P^-1 R (L, n), step after step, or all at once where they are not coupled."""
        m = self._m
        if len(R) == m:
            return self._solve(R)
        if not self.recipe.coupled:
            return self._solve(R.unflatten(0, (-1, m))).flatten(0, 1)
        X = torch.zeros_like(R)
        for s in range(0, len(R), m):
            right = R[s : s + m] - (matrix.apply(X)[s : s + m] if s else 0.0)
            X[s : s + m] = self._solve(right)
        return X

    def apply_transpose(self, R: Tensor, matrix: WindowMatrix) -> Tensor:
        """P^-T R (L, n), backwards."""
        m = self._m
        if len(R) == m:
            return self._solve_transpose(R)
        if not self.recipe.coupled:
            return self._solve_transpose(R.unflatten(0, (-1, m))).flatten(0, 1)
        right, X = R.clone(), torch.zeros_like(R)
        for s in reversed(range(0, len(R), m)):
            X[s : s + m] = self._solve_transpose(right[s : s + m])
            only = torch.zeros_like(R)
            only[s : s + m] = X[s : s + m]
            right[:s] -= matrix.apply_transpose(only)[:s]
        return X

    def _solve(self, R: Tensor) -> Tensor:
        """Of one step (m, n), or of several (s, m, n)."""
        Y = torch.where(self._free, self._undo @ R, R)
        Z = self._to @ Y.to(self._to.dtype)
        return self._combine(self._from, Z, transpose=False)

    def _solve_transpose(self, R: Tensor) -> Tensor:
        Z = self._from.T @ R.to(self._to.dtype)
        Y = self._combine(self._to.T, Z, transpose=True)
        return torch.where(self._free, self._undo.T @ Y, Y)

    def _combine(self, back: Tensor, Z: Tensor, transpose: bool) -> Tensor:
        """Solve each mode of Z (..., modes, n) and add up; a conjugate pair gives twice the real part of one."""
        total = torch.zeros(*Z.shape[:-2], len(back), Z.shape[-1], dtype=torch.float64, device=Z.device)
        for k, ((_, is_complex), solver) in enumerate(zip(self._modes, self._solvers, strict=True)):
            z = Z[..., k, :] if is_complex else Z[..., k, :].real
            x = solver.solve(z, transpose) if z.dim() == 1 else _of_all(solver, z, transpose)
            x = x if is_complex else x.real
            part = back[:, k][:, None] * x[..., None, :].to(back.dtype)
            total += (2.0 if is_complex else 1.0) * part.real
        return total

    def residual(self, matrix: WindowMatrix, b: Tensor, weights: np.ndarray, refinement: int) -> Preconditioned:
        """u -> W P^-1 (A u - b) of a window; see `window_residual`."""
        return window_residual(matrix, b, self, weights, refinement)

    def on(self, matrix: WindowMatrix) -> BoundWindow:
        """P^-1 for a window whose matrix couples its steps so."""
        return BoundWindow(self, matrix)

    def describe(self) -> dict[str, Any]:
        """For the report."""
        facts: dict[str, Any] = {"name": "stages", "modes": len(self._modes), "solves": self._solvers[0].kind}
        if isinstance(self._solvers[0], PolynomialSolver):
            facts |= {"degree": self._solvers[0].degree, "error": self._solvers[0].error}
        if self._solvers[0].fill:
            facts |= {"drop_tolerance": self.recipe.drop_tolerance, "fill": round(self._solvers[0].fill, 2)}
        if not self.recipe.coupled:
            facts["coupled"] = False
        return {**facts, "setup_s": round(self.setup_s, 3)}


class WindowInverse(Protocol):
    """P^-1 and P^-T on (L, n) of windows, given the matrix of one."""

    def apply(self, R: Tensor, matrix: WindowMatrix) -> Tensor:
        """P^-1 R."""
        ...

    def apply_transpose(self, R: Tensor, matrix: WindowMatrix) -> Tensor:
        """P^-T R."""
        ...

    def on(self, matrix: WindowMatrix) -> BoundWindow:
        """The same for one window."""
        ...

    def describe(self) -> dict[str, Any]:
        """Facts about P."""
        ...


@dataclass(frozen=True)
class BoundWindow:
    """P^-1 and P^-T on (L, n) for one matrix: several steps in a window are coupled by it."""

    solver: WindowInverse
    matrix: WindowMatrix

    def apply(self, r: Tensor) -> Tensor:
        """P^-1 r."""
        return self.solver.apply(r, self.matrix)

    def apply_transpose(self, r: Tensor) -> Tensor:
        """P^-T r."""
        return self.solver.apply_transpose(r, self.matrix)

    def describe(self) -> dict[str, Any]:
        """Facts about P."""
        return self.solver.describe()


def window_residual(
    matrix: WindowMatrix, b: Tensor, solver: WindowInverse, weights: np.ndarray, refinement: int = 0
) -> Preconditioned:
    """u -> W P^-1 (A u - b) of a window: what its training sees.

    Args:
        matrix: A = F'(u_0).
        b: A u_0 - F(u_0), (L, n).
        solver: P.
        weights: (L n,) of the norm.
        refinement: steps x <- x + P^-1 (r - A x) after each application of P^-1.
    """
    return Preconditioned(matrix, RefinedSolver(solver.on(matrix), matrix, refinement), b, weights)


def _solver(
    entries: Tensor,
    recipe: Stages,
    form: SpatialForm,
    precision: torch.dtype | None,
    reduced: Callable[[], CondensedSolver] | None = None,
) -> _Solver:
    """For one mode; `reduced` makes factors of fewer degrees of freedom that do the same."""
    incomplete, on_gpu = recipe.drop_tolerance > 0, form.device.type == "cuda"
    auto = recipe.solves == "auto"
    if recipe.solves == "polynomial" or (auto and form.size > _SMALL and not incomplete):
        complex_entries = entries.to(torch.complex128)  # the roots are complex
        diagonal = complex_entries[torch.from_numpy(form.diagonal).to(entries.device)]
        if recipe.solves == "polynomial" or bool((diagonal.abs() > 0).all()):
            A, At = form.to_torch(complex_entries), form.to_torch(complex_entries, transpose=True)
            found = PolynomialSolver(A, At, diagonal)
            accurate = found.error <= recipe.polynomial_accuracy and found.left() <= _WORST
            if accurate or recipe.solves == "polynomial":
                return found
    if reduced is not None:
        return reduced()
    A = form.to_scipy(entries)
    host = None if precision is not None and not incomplete else HostSolver(A, recipe)
    if precision is not None:
        inverted, fill = (A, 0.0) if host is None else (host.product(), host.fill)
        dense = DenseSolver(inverted, form.device, fill, precision)
        if dense.exact:
            return dense
        if not auto:
            raise PcpinnError(
                "the matrix of a step is too ill-conditioned for an inverse in single precision, and no other fits",
                "raise memory, take shorter steps, or use solves=factors",
            )
        del dense
    host = host or HostSolver(A, recipe)
    return _DeviceSolver(host, form.device) if auto and on_gpu and incomplete and host.is_real else host


def _of_all(solver: _Solver, r: Tensor, transpose: bool) -> Tensor:
    """Several right-hand sides (s, n) at once, where the solver can."""
    if isinstance(solver, PolynomialSolver):
        return torch.stack([solver.solve(row, transpose) for row in r])
    return solver.solve(r.T, transpose).T


class _DeviceSolver:
    """The factors of the host on a GPU."""

    def __init__(self, host: HostSolver, device: torch.device) -> None:
        self._factors = FactorSolver(host.lu, torch.float64, device)
        self.kind, self.fill = f"factors ({self._factors.method})", host.fill

    def solve(self, r: Tensor, transpose: bool) -> Tensor:
        """(n,) or (n, k) -> the same."""
        r = r.contiguous()
        return self._factors.apply_transpose(r) if transpose else self._factors.apply(r)


_Solver = HostSolver | CondensedSolver | _DeviceSolver | DenseSolver | PolynomialSolver
