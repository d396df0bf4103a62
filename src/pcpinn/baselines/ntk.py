"""Weights from the neural tangent kernel (Wang, Yu, Perdikaris 2022): w_i = trace(K) / trace(K_ii)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from ..solve.method import LOSSES, METHODS
from .piece import Piece, RepeatedPiece, Seen
from .recipe import Collocation
from .strong_method import strong_method


def kernel_trace(residual: Tensor, theta: Tensor, signs: Tensor | None = None) -> Tensor:
    """trace(J J^T) of J = d residual (m,) / d theta, by random signs (k, m): E ||J^T z||^2; exactly, row by row, without any."""
    rows = torch.eye(len(residual), dtype=residual.dtype, device=residual.device) if signs is None else signs
    squares = [(torch.autograd.grad(residual, theta, z, retain_graph=True)[0] ** 2).sum() for z in rows]
    return torch.stack(squares).sum() / (1 if signs is None else len(signs))


@dataclass(frozen=True)
class KernelWeights(RepeatedPiece):
    """w_i = trace(K) / trace(K_ii), with K = J J^T of the residuals as they enter the loss, divided by roots of counts."""

    every: int = 100
    probes: int = 16

    changes = ("weights",)

    def draw(self, loss: Seen, iteration: int) -> list[Tensor]:
        """(probes, m) signs for each part."""
        if not self.probes:
            return []
        random = loss.random(iteration)
        signs = [2 * random.integers(0, 2, (self.probes, m), dtype=np.int8) - 1 for m in loss.sizes]
        return [torch.as_tensor(s).to(loss.weights) for s in signs]

    def change(self, loss: Seen, drawn: list[Tensor]) -> None:
        """Measure the traces, replace the weights."""
        parts = loss.parts()
        signs: Sequence[Tensor | None] = drawn or [None] * len(parts)
        traces = torch.stack([kernel_trace(r, loss.theta, z) for r, z in zip(parts, signs, strict=True)])
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
