"""Weights of the steps of a window by causality (Wang et al. 2022): what Algorithm 3 calls w_i, anew in every iteration."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..discretize.equation import Nodes
from ..network.protocol import Network, Placed
from ..precondition.preconditioned import Preconditioned
from .least_squares import LeastSquares


def causal_weights(losses: Tensor, strength: float) -> Tensor:
    """Of steps with given losses (k,): exp(-strength * losses of all steps before), in parts of their sum.

    A step counts for little as long as those before it, which it begins from, are not solved.
    """
    return torch.softmax(-strength * (losses.cumsum(0) - losses), 0)


class CausalLoss(LeastSquares):
    """0.5 k sum_i w_i ||r_i||^2 over the k steps of a window, with w_i of the present weights of the network.

    No gradient goes through w_i, which say where to look and are not to be made small. For optimisers that ask for the loss and
    its gradient alone.

    Args:
        network, nodes, operator, placed: as of `LeastSquares`; the residual is that of one time level after the other.
        strength: how strongly later steps wait for earlier ones.
        levels: time levels L.
        stages: time levels per step, which depend on each other in both directions, so that all of a step count the same.
    """

    def __init__(
        self,
        network: Network,
        nodes: Nodes,
        operator: Preconditioned,
        strength: float,
        levels: int,
        stages: int = 1,
        placed: Placed | None = None,
    ) -> None:
        super().__init__(network, nodes, operator, placed)
        self.strength, self.levels, self.stages = strength, levels, stages

    def weighed(self) -> tuple[Tensor, Tensor]:
        """||r_i||^2 of the steps (k,), differentiable in theta, and their weights w_i (k,), which are not."""
        squares = (self.residual().reshape(self.levels // self.stages, -1) ** 2).sum(1)
        return squares, causal_weights(squares.detach(), self.strength)

    def sufficient(self, tolerance: float) -> float:
        """Which sqrt(2 loss) makes sure that ||r||, weighted by nothing, is at most the tolerance.

        Later steps that still wait hardly count in the loss. From 2 loss <= 1 / (e strength) it follows, step by step, that
        all k w_i are at least 1 / e: so none waits, and ||r||^2 <= e (2 loss).
        """
        return min(tolerance, self.strength**-0.5 if self.strength else math.inf) / math.sqrt(math.e)

    def loss(self) -> Tensor:
        """With weights of mean one, so that it is that without causality where all steps count the same."""
        squares, weights = self.weighed()
        return 0.5 * len(weights) * (weights @ squares)
