"""Adam, with the paper's settings as defaults; on a GPU several steps are one captured graph."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor
from torch.optim.adam import adam as torch_adam

from ..errors import PcpinnError
from . import graph
from .loss import Loss
from .optimiser import OPTIMISERS, Advance, Optimiser, State

AT_ONCE = 20  # steps in a graph: between two graphs the GPU waits for the host, a tenth of a step or so


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
        return float(loss.detach())

    def bind(self, problem: Loss, state: State) -> Advance:
        """On a GPU, replayed graphs if the loss can be captured (no host in it); elsewhere the plain step."""
        if problem.theta.device.type == "cuda":
            steps = Fused(self, problem, state)
            if steps.try_out():
                return steps
        return super().bind(problem, state)


class Fused:
    """Several steps of Adam as one piece of work without a word to the host: the losses of all are read at its end."""

    def __init__(self, adam: Adam, problem: Loss, state: State, at_once: int = AT_ONCE) -> None:
        self._adam, self._problem, self._state, self._at_once = adam, problem, state, at_once
        theta = problem.theta
        self._losses = torch.zeros(at_once, dtype=theta.dtype, device=theta.device)
        self._count = state["count"].to(torch.float32, copy=True)  # what torch's kernel wants
        self._graphs: dict[int, Callable[[], None]] = {}

    def try_out(self) -> bool:
        """Warm up and capture; whether that succeeded. Weights and state are as before, either way."""
        live: list[Tensor] = [self._problem.theta, self._count, *self._state.values()]
        saved = [tensor.detach().clone() for tensor in live]
        captured = False
        try:
            graph.warm_up(lambda: self._steps(1))
            self._graph(self._at_once)
            captured = True
        except (RuntimeError, PcpinnError):  # something in the loss talks to the host
            with contextlib.suppress(RuntimeError):
                torch.cuda.synchronize()
        with torch.no_grad():
            for tensor, kept in zip(live, saved, strict=True):
                tensor.copy_(kept)
        return captured

    def __call__(self, most: int) -> list[float]:
        """All steps of a graph, or a single one where fewer are left."""
        k = self._at_once if most >= self._at_once else 1
        self._graph(k)()
        return self._losses[:k].tolist()

    def _graph(self, k: int) -> Callable[[], None]:
        if k not in self._graphs:
            self._graphs[k] = graph.capture(lambda: self._steps(k))
        return self._graphs[k]

    def _steps(self, k: int) -> None:
        a, theta, state = self._adam, self._problem.theta, self._state
        for i in range(k):
            loss = self._problem.loss()
            (gradient,) = torch.autograd.grad(loss, theta)
            with torch.no_grad():
                self._losses[i].copy_(loss)
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
        state["count"].add_(k)


def check_betas(*betas: float) -> None:
    """Refuse decay rates outside [0, 1)."""
    for number, beta in enumerate(betas, 1):
        if not 0 <= beta < 1:
            raise PcpinnError(f"beta{number}={beta:g} is outside [0, 1)", "the usual values are 0.9 and 0.99")
