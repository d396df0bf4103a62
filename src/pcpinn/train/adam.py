"""Adam, with the paper's settings as defaults; on a GPU several steps are one captured graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor
from torch.optim.adam import adam as torch_adam

from ..errors import PcpinnError
from .fused import AT_ONCE, SOON, Steps
from .loss import Loss
from .optimiser import OPTIMISERS, Advance, Optimiser, State


@OPTIMISERS.register
@dataclass(frozen=True)
class Adam(Optimiser):
    """First-order training: cheap steps, many of them.

    Attributes:
        learning_rate: size of the steps.
        beta1, beta2: decay rates of the running means of gradients and of their squares.
        epsilon: added to the root of the latter.
    """

    learning_rate: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.99
    epsilon: float = 1e-8
    iterations: int = field(default=20_000, kw_only=True)

    name: ClassVar[str] = "adam"
    positive: ClassVar[tuple[str, ...]] = ("learning_rate", "epsilon")
    by_gradient: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_betas(self.beta1, self.beta2)

    def start(self, problem: Loss, seed: int) -> State:
        """Zero moments."""
        theta = problem.theta
        return {
            "mean": torch.zeros_like(theta.data),
            "square": torch.zeros_like(theta.data),
            "count": torch.zeros((), dtype=torch.float64, device=theta.device),
        }

    def step(self, problem: Loss, state: State) -> float:
        """One update; returns the loss before it."""
        theta = problem.theta
        loss, gradient = problem.value_and_gradient()
        state["count"] += 1
        state["mean"].lerp_(gradient, 1 - self.beta1)
        state["square"].mul_(self.beta2).addcmul_(gradient, gradient, value=1 - self.beta2)
        mean_scale = (1 - self.beta1 ** state["count"]).to(theta.dtype)
        square_scale = (1 - self.beta2 ** state["count"]).to(theta.dtype)
        size = (state["square"] / square_scale).sqrt_().add_(self.epsilon)
        with torch.no_grad():
            theta.sub_(self.learning_rate * (state["mean"] / mean_scale) / size)
        return float(loss)

    def bind(self, problem: Loss, state: State) -> Advance:
        """On a GPU, replayed graphs if the loss can be captured (no host, no other process in it); elsewhere the plain step."""
        if problem.theta.device.type == "cuda" and problem.team.alone and problem.captured:
            steps = Fused(self, problem, state, AT_ONCE if problem.layout <= 1 else SOON)  # it changed: it will again
            if steps.try_out():
                return steps
        return super().bind(problem, state)


class Fused(Steps):
    """Steps of Adam by torch's one kernel for them."""

    def __init__(self, adam: Adam, problem: Loss, state: State, at_once: int = AT_ONCE) -> None:
        self._adam, self._problem, self._state = adam, problem, state
        self._count = state["count"].to(torch.float32, copy=True)  # what torch's kernel wants
        super().__init__(self._one, problem.theta, [self._count, *state.values(), *problem.changing()], at_once)

    def _one(self) -> Tensor:
        a, theta, state = self._adam, self._problem.theta, self._state
        loss, gradient = self._problem.value_and_gradient()
        with torch.no_grad():
            torch_adam(
                [theta],
                [gradient],
                [state["mean"]],
                [state["square"]],
                [],
                [self._count],
                fused=True,
                capturable=theta.device.type == "cuda",
                amsgrad=False,
                beta1=a.beta1,
                beta2=a.beta2,
                lr=a.learning_rate,
                weight_decay=0.0,
                eps=a.epsilon,
                maximize=False,
            )
            state["count"].add_(1)
        return loss


def check_betas(*betas: float) -> None:
    """Refuse decay rates outside [0, 1)."""
    for number, beta in enumerate(betas, 1):
        if not 0 <= beta < 1:
            raise PcpinnError(f"beta{number}={beta:g} is outside [0, 1)", "the usual values are 0.9 and 0.99")
