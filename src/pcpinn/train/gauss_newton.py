"""Damped Gauss-Newton (Levenberg-Marquardt): the natural optimiser of a loss that is nearly the squared error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import torch
from torch import Tensor

from ..errors import PcpinnError
from .damping import Nielsen
from .loss import Loss
from .model import LeastSquaresLoss, Model
from .optimiser import OPTIMISERS, Optimiser, State


@OPTIMISERS.register
@dataclass(frozen=True)
class GaussNewton(Optimiser):
    """Damped Gauss-Newton: solve (H + damping I) delta = gradient, correct to second order, accept if the loss falls.

    The loss supplies gradient, H and the second derivative (its `Model`). The gradient is always exact, through P and its
    transpose on all nodes. For a loss on nodal values the matrix H is

    - "gram": the network's own J^T W J on a sample of nodes: no P in it, because P^-1 A ~ I;
    - "exact": J^T (P^-1 A)^T W (P^-1 A) J on all nodes, for a P that is far from A;
    - "matrix-free": as "gram", by products only, for networks whose matrix would not fit.

    "gram" and "exact" take the primal (p, p) or the dual (m, m) matrix, whichever is smaller. Joint losses of data and
    equations have "gram" alone.

    Attributes:
        matrix: gram (the network's own matrix on a sample of nodes), exact (with P^-1 A, on all nodes), matrix-free (products
            only), or auto: gram if it fits into memory, else matrix-free.
        sample: number of nodes in the Gram matrix, redrawn in each step in proportion to their weights; 0 takes four per
            weight of the network, at least 4000.
        damping: initial damping, relative to the mean diagonal of H.
        accelerate: follow the path to second order (geodesic acceleration, Transtrum and Sethna 2012): one more solve with
            the same matrix, and a third of the iterations.
        memory: GiB that the matrices of a step may take; None for 4, on a GPU a quarter of its memory if that is more.
        even: part of the sample that is drawn evenly over the nodes instead, for solutions that are singular where these are
            dense.
    """

    matrix: Literal["auto", "gram", "exact", "matrix-free"] = "auto"
    sample: int = 0
    damping: float = 1e-2
    accelerate: bool = True
    memory: float | None = field(default=None, metadata={"hidden": True})
    even: float = 0.0

    name: ClassVar[str] = "gauss-newton"
    positive: ClassVar[tuple[str, ...]] = ("damping",)
    not_negative: ClassVar[tuple[str, ...]] = ("iterations", "patience", "sample")
    usual_patience: ClassVar[int] = 20

    def unread(self) -> Mapping[str, str]:
        """What is of a sample of nodes, where all are taken."""
        if self.matrix != "exact":
            return {}
        return dict.fromkeys(("sample", "even"), "matrix=exact takes all nodes, and no sample")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.even <= 1:
            raise PcpinnError(f"even={self.even:g} is outside [0, 1]", "it is a part of the sample, usually 0 or 0.5")
        if self.even and self.matrix == "exact":
            raise PcpinnError("matrix=exact is on all nodes, so even is not read", "leave even out, or use matrix=gram")

    def fitted(self, memory: float | None) -> GaussNewton:
        """With the memory that the run lets it take."""
        return replace(self, memory=memory)

    def start(self, problem: Loss, seed: int) -> State:
        """Initial damping and the random state of the sampling.

        Raises:
            PcpinnError: when the form asked for does not fit into memory.
        """
        self.resolve(_least_squares(problem))
        return {**Nielsen.start(self.damping), "random": torch.Generator().manual_seed(seed).get_state()}

    def resolve(self, problem: LeastSquaresLoss) -> tuple[str, int]:
        """The form and the number of rows that a problem gets.

        Raises:
            PcpinnError: when the form asked for does not fit into memory.
        """
        return problem.resolve(self)

    def step(self, problem: Loss, state: State) -> float:
        """One accepted step, or none if no damping helps; returns the loss after it."""
        loss = _least_squares(problem)
        model = loss.model_here(self, state)
        gradient, curvature = model.gradient, model.curvature

        def attempt(damping: float) -> tuple[Tensor, float] | None:
            delta = curvature.solve(gradient, damping)
            if delta is None:
                return None
            move = -delta + self._bend(model, -delta, damping)
            return move, 0.5 * float(delta @ (gradient + damping * curvature.scale * delta))

        return loss.rule.descend(loss.theta, model.loss, state, attempt, loss.value, self.damping)

    def _bend(self, model: Model, v: Tensor, damping: float) -> Tensor | float:
        """The acceleration that goes with the velocity v, or nothing where it is too large to be believed."""
        if not self.accelerate:
            return 0.0
        a = model.curvature.solve(model.bending(v), damping)
        if a is None or not float(a.norm()) < model.trusted * float(v.norm()):
            return 0.0
        return -0.5 * a


def _least_squares(problem: Loss) -> LeastSquaresLoss:
    """Refuse losses that have no such model."""
    if not isinstance(problem, LeastSquaresLoss):
        raise PcpinnError(
            "Gauss-Newton needs a least-squares loss on nodal values", "use optimiser=adam or lbfgs for this method"
        )
    return problem
