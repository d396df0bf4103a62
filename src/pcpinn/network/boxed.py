"""What networks on a box have in common: scaled coordinates, one flat vector of weights, an ansatz."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from .ansatz import Ansatz


class BoxedNetwork(nn.Module):
    """u_theta on the box [lower, upper], which it sees as [-1, 1]^d; its outputs are in units of `output_scale`.

    An `ansatz`, if one is set, makes the values take given ones on given walls.
    """

    theta: nn.Parameter
    ansatz: Ansatz | None
    centre: Tensor
    half_width: Tensor
    output_scale: Tensor

    def __init__(self, lower: Sequence[float], upper: Sequence[float], outputs: int, dtype: torch.dtype) -> None:
        super().__init__()
        lo, hi = (torch.as_tensor(corner, dtype=torch.float64) for corner in (lower, upper))
        self.register_buffer("centre", ((lo + hi) / 2).to(dtype))
        self.register_buffer("half_width", ((hi - lo) / 2).to(dtype))
        self.register_buffer("output_scale", torch.ones((), dtype=dtype))
        self.outputs, self.ansatz = outputs, None

    @property
    def inputs(self) -> int:
        """Number of coordinates."""
        return len(self.centre)

    @property
    def parameter_count(self) -> int:
        """Number of trained weights p."""
        return self.theta.numel()

    def scaled(self, x: Tensor) -> Tensor:
        """Points of the box -> [-1, 1]^d."""
        return (x - self.centre) / self.half_width

    def forward(self, x: Tensor) -> Tensor:
        """Points (..., d) -> (..., outputs)."""
        return self.evaluate(self.theta, x)

    def evaluate(self, theta: Tensor, x: Tensor) -> Tensor:
        """The same, for any weights (p,): a function that torch.func can differentiate in both."""
        values = self.bare(theta, x)
        return values if self.ansatz is None else self.ansatz(x, values)

    @abstractmethod
    def bare(self, theta: Tensor, x: Tensor) -> Tensor:
        """The same without the ansatz."""
