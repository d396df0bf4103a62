"""Weights from the neural tangent kernel (Wang, Yu, Perdikaris 2022): w_i = trace(K) / trace(K_ii)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from ..solve.method import LOSSES, METHODS
from .piece import Piece, Seen
from .recipe import Collocation
from .strong_method import strong_method


def kernel_trace(residual: Tensor, theta: Tensor, probes: int, generator: torch.Generator | None = None) -> Tensor:
    """trace(J J^T) of J = d residual (m,) / d theta, by random signs: E ||J^T z||^2; exactly, row by row, for 0 probes."""
    m = len(residual)
    if probes:
        signs = 2.0 * torch.randint(0, 2, (probes, m), generator=generator).to(residual) - 1
    else:
        signs = torch.eye(m, dtype=residual.dtype, device=residual.device)
    total = sum((torch.autograd.grad(residual, theta, z, retain_graph=True)[0] ** 2).sum() for z in signs)
    return torch.as_tensor(total).to(residual) / max(1, probes)


@dataclass(frozen=True)
class KernelWeights(Piece):
    """w_i = trace(K) / trace(K_ii), with K = J J^T of the residuals as they enter the loss, divided by roots of counts."""

    every: int = 100
    probes: int = 16

    changes = ("weights",)

    def adapt(self, loss: Seen, iteration: int) -> None:
        """Measure the traces, replace the weights."""
        generator = torch.Generator().manual_seed(int(loss.random(iteration).integers(2**31)))
        traces = torch.stack([kernel_trace(r, loss.theta, self.probes, generator) for r in loss.parts()])
        known = traces > 0  # a condition that holds whatever the weights has none
        loss.weights.copy_(torch.where(known, traces.sum() / torch.where(known, traces, 1.0), 1.0))


@LOSSES.register
@dataclass(frozen=True)
class NTK(Collocation):
    """The strong form, with weights from the traces of the neural tangent kernels of its terms.

    Attributes:
        every: iterations between two measurements of the traces.
        probes: random vectors for each trace; 0 measures it exactly, one row after the other.
    """

    every: int = 100
    probes: int = 16

    name: ClassVar[str] = "ntk"
    positive: ClassVar[tuple[str, ...]] = (*Collocation.positive, "every")
    not_negative: ClassVar[tuple[str, ...]] = ("probes",)
    terms_apart: ClassVar[bool] = True

    def pieces(self) -> list[Piece]:
        """The weights."""
        return [KernelWeights(self.every, self.probes)]


METHODS.register(strong_method("ntk", NTK()))
