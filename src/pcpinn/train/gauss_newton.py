"""Damped Gauss-Newton (Levenberg-Marquardt): the natural optimiser of a loss that is nearly the squared error."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import torch
from torch import Tensor

from ..errors import PcpinnError
from .curvature import Curvature, Dual, MatrixFree, Primal
from .damping import Nielsen
from .least_squares import LeastSquares
from .loss import Loss
from .optimiser import OPTIMISERS, Optimiser, State

_TRUSTED_BEND = 0.75  # largest ratio of acceleration to velocity at which the path's second-order model is believed
_SINGLE_ABOVE = 1e-5  # while damping is larger than this, rounding in a float32 Gram matrix is harmless


@OPTIMISERS.register
@dataclass(frozen=True)
class GaussNewton(Optimiser):
    """Each step solves (H + damping I) delta = gradient, bends the path by its second derivative, and keeps it if the loss falls.

    The gradient is always exact, through P and its transpose on all nodes. The matrix H is
      * "gram": the network's own J^T W J on a sample of nodes: no P in it, because P^-1 A ~ I;
      * "exact": J^T (P^-1 A)^T W (P^-1 A) J on all nodes, for a P that is far from A;
      * "matrix-free": as "gram", by products only, for networks whose matrix would not fit.
    "gram" and "exact" take the primal (p, p) or the dual (m, m) matrix, whichever is smaller.

    Attributes:
        matrix: one of the above, or "auto": "gram" if it fits into the memory, else "matrix-free".
        sample: number of nodes in the Gram matrix, drawn anew in each step, in proportion to their weights; 0 takes four per
            weight of the network, at least 4000.
        damping: initial damping, relative to the mean diagonal of H.
        accelerate: follow the path to second order (geodesic acceleration, Transtrum and Sethna 2012): one more solve with
            the same matrix, and a third of the iterations.
        memory: GiB that the matrices of a step may take; on a GPU a quarter of its memory if that is more.
    """

    matrix: Literal["auto", "gram", "exact", "matrix-free"] = "auto"
    sample: int = 0
    damping: float = 1e-2
    accelerate: bool = True
    memory: float = field(default=4.0, metadata={"hidden": True})

    name: ClassVar[str] = "gauss-newton"
    positive: ClassVar[tuple[str, ...]] = ("damping",)
    not_negative: ClassVar[tuple[str, ...]] = ("iterations", "patience", "sample")
    usual_patience: ClassVar[int] = 20

    def fitted(self, memory: float) -> GaussNewton:
        """With the memory that the run may use."""
        return replace(self, memory=memory)

    def start(self, problem: Loss, seed: int) -> State:
        """Initial damping and the random state of the sampling.

        Raises:
            PcpinnError: when the form asked for does not fit into memory.
        """
        problem = require_least_squares(problem)
        self.resolve(problem)
        return {**Nielsen(self.damping).start(), "random": torch.Generator().manual_seed(seed).get_state()}

    def step(self, problem: Loss, state: State) -> float:
        """One accepted step, or none if no damping helps; returns the loss after it."""
        problem = require_least_squares(problem)
        residual = problem.known_residual()
        gradient = problem.gradient(residual)
        curvature = self._curvature(problem, state)

        def attempt(relative: float) -> tuple[Tensor, float] | None:
            damping = relative * curvature.scale
            delta = curvature.solve(gradient, damping)
            if delta is None:
                return None
            move = -delta + self._bend(problem, curvature, -delta, damping)
            return move, 0.5 * float(delta @ (gradient + damping * delta))

        def value() -> float:
            return _half_square(problem.known_residual())

        return Nielsen(self.damping).descend(problem.theta, _half_square(residual), state, attempt, value)

    def _bend(self, problem: LeastSquares, curvature: Curvature, v: Tensor, damping: float) -> Tensor | float:
        """The acceleration that goes with the velocity v, or nothing where it is too large to be believed."""
        if not self.accelerate:
            return 0.0
        exact = self.matrix == "exact"
        a = curvature.solve(problem.curving(v, through_operator=exact), damping)
        if a is None or not float(a.norm()) < _TRUSTED_BEND * float(v.norm()):
            return 0.0
        return -0.5 * a

    def resolve(self, problem: LeastSquares) -> tuple[str, int]:
        """The form and the number of sampled nodes that a problem gets.

        Raises:
            PcpinnError: when the form asked for does not fit into memory.
        """
        p, n = problem.network.parameter_count, problem.size
        rows = n if self.matrix == "exact" else min(n, self.sample or max(4 * p, 4000))
        smaller = min(p, rows)
        needed = 8 * (rows * p + 3 * smaller**2) / 2**30
        allowed = max(self.memory, _gpu_share(problem.points.device))
        if self.matrix == "matrix-free" or (self.matrix == "auto" and needed > allowed):
            return "matrix-free", rows
        if needed > allowed:
            raise PcpinnError(
                f"Gauss-Newton's {self.matrix} matrix needs {needed:.1f} GiB for {p} weights and {rows} nodes",
                f"use matrix=matrix-free, a smaller sample or network, or raise memory (now {allowed:g})",
            )
        return ("gram" if self.matrix == "auto" else self.matrix), rows

    def _curvature(self, problem: LeastSquares, state: State) -> Curvature:
        form, m = self.resolve(problem)
        if form == "exact":
            J = problem.operator.apply(problem.jacobian()) * problem.scale
            return Primal(J) if len(J) > J.shape[1] else Dual(J)
        rows = _sample(problem, m, state)
        weights = problem.weights if rows is None else (problem.weights.sum() / m).expand(m)
        factor = weights.sqrt() * problem.scale
        if form == "matrix-free":
            return _matrix_free(problem, rows, factor)
        on_cpu = problem.points.device.type == "cpu"
        dtype = torch.float32 if on_cpu and float(state["damping"]) > _SINGLE_ABOVE else factor.dtype
        J = problem.jacobian(rows, dtype).mul_(factor.to(dtype)[:, None])
        return Primal(J) if len(J) > J.shape[1] else Dual(J)


def _gpu_share(device: torch.device) -> float:
    """A quarter of a GPU's memory in GiB: products in place of matrices cost far more iterations than memory is worth."""
    if device.type != "cuda":
        return 0.0
    return torch.cuda.get_device_properties(device).total_memory / 2**32


def _half_square(residual: Tensor) -> float:
    return 0.5 * float(residual @ residual)


def require_least_squares(problem: Loss) -> LeastSquares:
    """Refuse losses that Gauss-Newton cannot differentiate node by node."""
    if not isinstance(problem, LeastSquares):
        raise PcpinnError("Gauss-Newton needs a loss on nodal values", "use optimiser=adam or lbfgs for this method")
    return problem


def _sample(problem: LeastSquares, m: int, state: State) -> Tensor | None:
    """m unknowns drawn in proportion to their weights, one from each m-th part of these; or None for all.

    On a graded mesh most nodes stand for little volume: drawn evenly they would crowd out the rest. Advances the random state.
    """
    if m >= problem.size:
        return None
    generator = torch.Generator()
    generator.set_state(state["random"].cpu())
    places = (torch.arange(m) + torch.rand(m, generator=generator, dtype=torch.float64)) / m
    state["random"] = generator.get_state()
    reached = problem.weights.to(torch.float64).cumsum(0)
    rows = torch.searchsorted(reached, places.to(reached.device) * reached[-1])
    return rows.clamp_(max=problem.size - 1)


def _matrix_free(problem: LeastSquares, rows: Tensor | None, factor: Tensor) -> MatrixFree:
    theta = problem.theta.detach()
    point = problem.point_of if rows is None else problem.point_of[rows]
    component = problem.component_of if rows is None else problem.component_of[rows]
    x = problem.points[point]

    def values(weights: Tensor) -> Tensor:
        return problem.network.evaluate(weights, x).gather(1, component[:, None])[:, 0] * factor

    pull = torch.func.vjp(values, theta)[1]

    def product(v: Tensor) -> Tensor:
        pushed = torch.func.jvp(values, (theta,), (v,))[1]
        return pull(pushed)[0]

    # Hutchinson's estimate of the trace, with a fixed probe: the unit of damping need not be exact.
    probe = torch.ones_like(theta)
    probe[::2] = -1
    scale = float(probe @ product(probe)) / theta.numel()
    return MatrixFree(product, scale)
