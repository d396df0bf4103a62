"""SOAP: Adam in the eigenbasis of Shampoo's preconditioner (Vyas et al. 2024)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor

from ..network.protocol import Layered, no_layers
from .adam import check_betas
from .loss import Loss
from .optimiser import OPTIMISERS, Optimiser, State


@OPTIMISERS.register
@dataclass(frozen=True)
class SOAP(Optimiser):
    """For each layer, gradients are rotated into the eigenvectors of their running second moments before Adam's rule.

    Attributes:
        learning_rate: size of the steps.
        beta1, beta2: decay rates of the running means of gradients and of their squares.
        epsilon: added to the root of the latter.
        every: iterations between two updates of the eigenvectors.
    """

    learning_rate: float = 3e-3
    beta1: float = 0.95
    beta2: float = 0.95
    epsilon: float = 1e-8
    every: int = 10
    iterations: int = field(default=5_000, kw_only=True)

    name: ClassVar[str] = "soap"
    positive: ClassVar[tuple[str, ...]] = ("learning_rate", "epsilon", "every")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_betas(self.beta1, self.beta2)

    def start(self, problem: Loss, seed: int) -> State:
        """Zero moments, identity bases."""
        zero = torch.zeros_like(problem.theta.data)
        state: State = {"mean": zero.clone(), "square": zero, "count": torch.zeros((), dtype=torch.int64)}
        for k, (rows, columns) in enumerate(_layered(problem).layer_shapes):
            for side, size in (("left", rows), ("right", columns)):
                state[f"{side}.moment.{k}"] = zero.new_zeros(size, size)
                state[f"{side}.basis.{k}"] = torch.eye(size, dtype=zero.dtype, device=zero.device)
        return state

    def step(self, problem: Loss, state: State) -> float:
        """One update; returns the loss before it."""
        theta, network = problem.theta, _layered(problem)
        loss = problem.loss()
        (gradient,) = torch.autograd.grad(loss, theta)
        state["count"] += 1
        k = int(state["count"])
        layers = list(zip(*(network.layers(v) for v in (gradient, state["mean"], state["square"])), strict=True))
        update = torch.empty_like(gradient)
        for i, ((g, gb), (m, mb), (v, vb)) in enumerate(layers):
            target, target_bias = network.layers(update)[i]
            L, R = self._bases(state, i, g, k)
            m.lerp_(g, 1 - self.beta1)
            rotated = L.T @ g @ R
            v.mul_(self.beta2).addcmul_(rotated, rotated, value=1 - self.beta2)
            target.copy_(L @ self._direction(L.T @ m @ R, v, k) @ R.T)
            mb.lerp_(gb, 1 - self.beta1)
            vb.mul_(self.beta2).addcmul_(gb, gb, value=1 - self.beta2)
            target_bias.copy_(self._direction(mb, vb, k))
        with torch.no_grad():
            theta.sub_(self.learning_rate * update)
        return float(loss.detach())

    def _direction(self, mean: Tensor, square: Tensor, k: int) -> Tensor:
        return mean / (1 - self.beta1**k) / ((square / (1 - self.beta2**k)).sqrt() + self.epsilon)

    def _bases(self, state: State, i: int, g: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """Update the moments; every few steps, one power iteration and QR turn the bases towards their eigenvectors."""
        for side, moment in (("left", g @ g.T), ("right", g.T @ g)):
            running, basis = state[f"{side}.moment.{i}"].lerp_(moment, 1 - self.beta2), state[f"{side}.basis.{i}"]
            if k == 1:
                basis = torch.linalg.eigh(running)[1].flip(1)  # largest first: QR keeps the first columns best
            elif k % self.every == 0:
                basis = torch.linalg.qr(running @ basis)[0]
            state[f"{side}.basis.{i}"] = basis.contiguous()  # as from a checkpoint: layout decides how sums are rounded
        return state[f"left.basis.{i}"], state[f"right.basis.{i}"]


def _layered(problem: Loss) -> Layered:
    if not isinstance(problem.network, Layered):
        raise no_layers(problem.network, "SOAP")
    return problem.network
