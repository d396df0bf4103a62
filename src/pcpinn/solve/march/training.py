"""Training on a linearised window: the last layer by least squares, then all weights where that is not enough."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ...discretize.window import MarchSpace
from ...network.dense import DenseNetwork
from ...network.placed import PlacedNetwork
from ...precondition import Preconditioned
from ...precondition.shards import Shards
from ...progress import Progress
from ...train import GaussNewton, LeastSquares, Optimiser, Stopping, train
from ...train.causal import CausalLoss
from ...train.heads import HeadSolver
from .causality import causal_residual
from .deadline import Deadline, OutOfTime
from .room import Rooms

_CAUSAL_ROUNDS = 20  # so often Gauss-Newton's causal weights are renewed in a training


@dataclass(frozen=True)
class WindowTraining:
    """How a window is trained.

    Attributes:
        optimiser: when the last layer alone is not enough, for its `iterations` per Newton step.
        head_steps: least-squares steps of the last layer before the optimiser is asked.
        causality: how strongly earlier steps come first (0: all at once).
        stages: time levels per step.
        seed: of the optimiser's random numbers.
    """

    optimiser: Optimiser
    head_steps: int = 8
    causality: float = 0.0
    stages: int = 1
    seed: int = 0


class WindowTrainer:
    """Trains one network, window after window.

    Args:
        space: the problem in space.
        network: with C outputs per time level.
        layers: time levels L of a window.
        own: how.
        shards: which degrees of freedom this process holds, with a P in parts; None for all.
        rooms: bytes for its tables.

    Attributes:
        iterations: of the optimiser so far.
        damping: of Gauss-Newton after its last use (nan: none yet), where the next window begins.
        placed: the network at the nodes; heads: least squares for its last layer.
    """

    def __init__(
        self,
        space: MarchSpace,
        network: DenseNetwork,
        layers: int,
        own: WindowTraining,
        shards: Shards | None = None,
        rooms: Rooms | None = None,
    ) -> None:
        self.space, self.network, self.own, self._shards = space, network, own, shards
        self.nodes = space.nodes(layers).at(None if shards is None else shards.here)
        self.iterations, self.damping = 0, math.nan
        device = network.theta.device
        rooms = rooms or Rooms()
        points = torch.as_tensor(self.nodes.points).to(network.theta)
        self.placed, self.heads = PlacedNetwork(network, points, rooms.features), HeadSolver(room=rooms.heads)
        self._gather = tuple(torch.from_numpy(i).to(device) for i in (self.nodes.point_of, self.nodes.component_of))

    def values(self) -> Tensor:
        """The network at all degrees of freedom, (L, n), on the device of the discretisation."""
        values = self.placed.values()[self._gather].double().to(self.space.device)
        return (values if self._shards is None else self._shards.whole(values)).reshape(-1, self.space.size)

    def train(self, operator: Preconditioned, wanted: float, deadline: Deadline) -> float:
        """Until the relative residual is `wanted`, or there is no more gain; returns it.

        Raises:
            OutOfTime: at the deadline.
        """
        own, loss = self.own, self._loss(operator)
        untouched, start = self.network.theta.detach().clone(), loss.norm()
        residual = start
        for k in range(own.head_steps):
            deadline.check()
            before, residual = residual, self.heads.step(loss, afresh=k == 0)
            if residual <= wanted or (k and residual > 0.7 * before):
                break
        if residual > start:  # P is too far from A for the step in one go
            with torch.no_grad():
                self.network.theta.copy_(untouched)
            residual = start
        if residual > wanted and own.optimiser.iterations:
            residual = self._optimise(operator, loss, wanted, deadline)
            if residual > wanted and isinstance(own.optimiser, GaussNewton):
                residual = self.heads.step(loss, afresh=False)
        return residual

    def _loss(self, operator: Preconditioned) -> LeastSquares:
        return LeastSquares(self.network, self.nodes, operator, placed=self.placed)

    def loss(self, operator: Preconditioned) -> LeastSquares:
        """What an optimiser of first order makes small: with causal weights of the steps, if they are asked for."""
        own = self.own
        if not own.causality:
            return self._loss(operator)
        levels = len(operator.weights) // self.space.size
        return CausalLoss(self.network, self.nodes, operator, own.causality, levels, own.stages, self.placed)

    def _optimise(self, operator: Preconditioned, loss: LeastSquares, wanted: float, deadline: Deadline) -> float:
        """Train all weights, with causal weights of the steps that change on the way; the relative residual reached."""
        own, optimiser = self.own, self.own.optimiser
        state = optimiser.start(loss, own.seed)
        if "damping" in state and math.isfinite(self.damping):
            state["damping"].fill_(self.damping)
        left, residual = optimiser.iterations, math.inf
        rounds = bool(own.causality) and isinstance(optimiser, GaussNewton)
        most = -(-left // _CAUSAL_ROUNDS) if rounds else left
        weighted = loss if rounds else self.loss(operator)
        while left and residual > wanted:
            if rounds:
                weighted = self._loss(causal_residual(operator, self.values(), own.causality, own.stages))
            enough = weighted.sufficient(wanted) if isinstance(weighted, CausalLoss) else wanted
            stopping = Stopping(min(left, most), enough, deadline.left, optimiser.patience or 0)
            training = train(weighted, optimiser, stopping, state, Progress())
            if training.reason == "time limit":
                raise OutOfTime
            self.iterations += training.iterations
            left -= training.iterations
            residual = loss.norm() if own.causality else math.sqrt(2 * training.loss)
            if not rounds or training.reason == "not finite":
                break
        if "damping" in state:
            self.damping = float(state["damping"])
        return residual
