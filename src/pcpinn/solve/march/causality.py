"""Causal weights for Gauss-Newton, whose residual has to stay the same over an iteration: a residual that is weighted now."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from ...precondition.preconditioned import Preconditioned
from ...train.causal import causal_weights


def causal_residual(operator: Preconditioned, U: Tensor, strength: float, stages: int) -> Preconditioned:
    """The residual of a window with its steps weighted by how well those before are solved at present.

    Args:
        operator: the residual with weights of its own, which are multiplied.
        U: (L, n) values of the network.
        strength: how strongly later steps wait.
        stages: time levels per step; they depend on each other in both directions, so all of a step count the same.
    """
    r = operator(U.reshape(-1)).reshape(U.shape) / max(operator.target_norm, 1e-300)
    losses = (r**2).sum(1).reshape(-1, stages).sum(1)
    factors = len(losses) * causal_weights(losses, strength).cpu().numpy()  # of mean one, as they are without causality
    table = operator.weights.reshape(U.shape) * np.repeat(factors, stages)[:, None]
    return operator.reweighted(table.ravel())
