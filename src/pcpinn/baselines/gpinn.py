"""gPINN, gradient-enhanced PINN (Yu et al. 2022): the gradient of the residual is to vanish, too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from ..solve.method import LOSSES, METHODS
from ..strong.form import residual_at
from ..strong.jetted import Jetted
from .piece import Piece, Seen
from .recipe import Collocation
from .strong_method import strong_method


@dataclass(frozen=True)
class ResidualGradient(Piece):
    """weight * mean |grad_x r|^2 over the points inside, summed over equations and coordinates (time is one)."""

    weight: float = 0.01

    extra = ("gradients",)

    def residuals(self, loss: Seen) -> list[Tensor]:
        """(C n d,) gradients of the residual, times the root of the weight over n."""
        scale = (self.weight / len(loss.points)) ** 0.5
        known = loss.seen.residual_slopes(loss.pointwise, loss.points) if isinstance(loss.seen, Jetted) else None
        if known is not None:
            return [known.permute(2, 1, 0).reshape(-1) * scale]
        x = loss.points.detach().requires_grad_()
        r = residual_at(loss.pointwise, loss.network, x)
        gradients = [torch.autograd.grad(own.sum(), x, create_graph=True)[0] for own in r.unbind(1)]
        return [torch.stack(gradients).reshape(-1) * scale]


@LOSSES.register
@dataclass(frozen=True)
class GPINN(Collocation):
    """The strong form and its gradient at the points inside.

    Attributes:
        gradient_weight: of the mean squared gradient of the residual.
    """

    gradient_weight: float = 0.01

    name: ClassVar[str] = "gpinn"
    positive: ClassVar[tuple[str, ...]] = (*Collocation.positive, "gradient_weight")

    def pieces(self) -> list[Piece]:
        """The gradients."""
        return [ResidualGradient(self.gradient_weight)]


METHODS.register(strong_method("gpinn", GPINN()))
