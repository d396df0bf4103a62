"""Adam, with the paper's settings as defaults; on a GPU each step is one captured graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from .loss import Loss
from .optimiser import Optimiser, State

_WARM_UP = 3


@dataclass(frozen=True)
class Adam(Optimiser):
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
            "count": torch.zeros((), dtype=torch.float64, device=theta.device),
        }

    def step(self, problem: Loss, state: State) -> float:
        """One update; returns the loss before it."""
        return float(self._update(problem, state))

    def _update(self, problem: Loss, state: State) -> Tensor:
        """The update without a word to the host, so that it can be captured."""
        theta = problem.theta
        loss = problem.loss()
        (gradient,) = torch.autograd.grad(loss, theta)
        state["count"] += 1
        state["mean"].lerp_(gradient, 1 - self.beta1)
        state["square"].mul_(self.beta2).addcmul_(gradient, gradient, value=1 - self.beta2)
        mean_scale = (1 - self.beta1 ** state["count"]).to(theta.dtype)
        square_scale = (1 - self.beta2 ** state["count"]).to(theta.dtype)
        size = (state["square"] / square_scale).sqrt_().add_(self.epsilon)
        with torch.no_grad():
            theta.sub_(self.learning_rate * (state["mean"] / mean_scale) / size)
        return loss.detach()

    def bind(self, problem: Loss, state: State) -> Callable[[], float]:
        """On a GPU, a replayed graph if the loss can be captured (no host in it); elsewhere the plain step."""
        if problem.theta.device.type != "cuda":
            return super().bind(problem, state)
        return self._captured(problem, state) or super().bind(problem, state)

    def _captured(self, problem: Loss, state: State) -> Callable[[], float] | None:
        theta = problem.theta
        saved = [theta.detach().clone(), *(v.clone() for v in state.values())]

        def restore() -> None:
            with torch.no_grad():
                for live, kept in zip([theta, *state.values()], saved, strict=True):
                    live.copy_(kept)

        graph = torch.cuda.CUDAGraph()
        try:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(_WARM_UP):
                    self._update(problem, state)
            torch.cuda.current_stream().wait_stream(side)
            with torch.cuda.graph(graph):
                loss = self._update(problem, state)
        except RuntimeError:  # something in the loss talks to the host
            torch.cuda.synchronize()
            restore()
            return None
        restore()

        def replay() -> float:
            graph.replay()
            return float(loss)

        return replay
