"""Adam, with the paper's settings as defaults."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from .loss import Loss
from .optimiser import State


@dataclass(frozen=True)
class Adam:
    """First-order training: cheap steps, many of them."""

    learning_rate: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.99
    epsilon: float = 1e-8
    name = "adam"

    def start(self, problem: Loss, seed: int) -> State:
        """Zero moments."""
        theta = problem.theta
        return {
            "mean": torch.zeros_like(theta.data),
            "square": torch.zeros_like(theta.data),
            "count": torch.zeros((), dtype=torch.int64),
        }

    def step(self, problem: Loss, state: State) -> float:
        """One update; returns the loss before it."""
        theta = problem.theta
        loss = problem.loss()
        (gradient,) = torch.autograd.grad(loss, theta)
        state["count"] += 1
        k = int(state["count"])
        state["mean"].lerp_(gradient, 1 - self.beta1)
        state["square"].mul_(self.beta2).addcmul_(gradient, gradient, value=1 - self.beta2)
        size = (state["square"] / (1 - self.beta2**k)).sqrt_().add_(self.epsilon)
        with torch.no_grad():
            theta.addcdiv_(state["mean"], size, value=-self.learning_rate / (1 - self.beta1**k))
        return float(loss.detach())
