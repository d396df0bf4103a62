"""MultiAdam (Yao et al. 2023): Adam with moments of its own for each group of the loss's terms."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor

from .adam import check_betas
from .fused import Steps
from .loss import Loss
from .optimiser import OPTIMISERS, Advance, Optimiser, State


@OPTIMISERS.register
@dataclass(frozen=True)
class MultiAdam(Optimiser):
    """Adam's normalised step for each group of terms by itself; the mean of these is taken: no group can drown another.

    Attributes:
        learning_rate: size of the steps.
        beta1, beta2: decay rates of the running means of gradients and of their squares.
        epsilon: added to the root of the latter.
    """

    learning_rate: float = 1e-3
    beta1: float = 0.99
    beta2: float = 0.99
    epsilon: float = 1e-8
    iterations: int = field(default=20_000, kw_only=True)

    name: ClassVar[str] = "multiadam"
    positive: ClassVar[tuple[str, ...]] = ("learning_rate", "epsilon")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_betas(self.beta1, self.beta2)

    def start(self, problem: Loss, seed: int) -> State:
        """Zero moments, a row for each group."""
        theta = problem.theta.detach()
        rows = theta.new_zeros(len(problem.groups()), len(theta))
        return {
            "mean": rows,
            "square": rows.clone(),
            "count": torch.zeros((), dtype=torch.float64, device=theta.device),
        }

    def step(self, problem: Loss, state: State) -> float:
        """One update; returns the loss before it."""
        return float(self.update(problem, state))

    def bind(self, problem: Loss, state: State) -> Advance:
        """On a GPU, replayed graphs if the loss can be captured (no host in it); elsewhere the plain step."""
        if problem.theta.device.type == "cuda":
            steps = Steps(lambda: self.update(problem, state), problem.theta, list(state.values()))
            if steps.try_out():
                return steps
        return super().bind(problem, state)

    def update(self, problem: Loss, state: State) -> Tensor:
        """The same, with the loss left on the device."""
        theta, groups = problem.theta, problem.groups()
        gradients = torch.stack(
            [torch.autograd.grad(group, theta, retain_graph=k + 1 < len(groups))[0] for k, group in enumerate(groups)]
        )
        state["count"] += 1
        state["mean"].lerp_(gradients, 1 - self.beta1)
        state["square"].mul_(self.beta2).addcmul_(gradients, gradients, value=1 - self.beta2)
        mean_scale = (1 - self.beta1 ** state["count"]).to(theta.dtype)
        square_scale = (1 - self.beta2 ** state["count"]).to(theta.dtype)
        steps = (state["mean"] / mean_scale) / ((state["square"] / square_scale).sqrt() + self.epsilon)
        with torch.no_grad():
            theta.sub_(self.learning_rate * steps.mean(0))
        return torch.stack(groups).detach().sum()
