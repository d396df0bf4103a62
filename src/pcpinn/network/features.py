"""Fourier features: fixed sines and cosines of the inputs, both ways of the paper."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import PcpinnError


@dataclass(frozen=True)
class Features:
    """Which features the network's inputs are turned into.

    Attributes:
        kind: "none"; "log" for frequencies 2 pi 2^e with exponents spread over [low, high], along each axis;
            "gaussian" for random directions with normal frequencies.
        count: number of frequencies (per axis for "log").
        low, high: exponents of the lowest and highest frequency of "log".
        std: standard deviation of "gaussian" frequencies.
    """

    kind: str = "none"
    count: int = 10
    low: float = -5.0
    high: float = 5.0
    std: float = torch.pi

    def size(self, inputs: int) -> int:
        """Number k of frequencies for so many inputs."""
        return {"none": 0, "log": inputs * self.count, "gaussian": self.count}.get(self.kind, 0)

    def frequencies(self, inputs: int, generator: torch.Generator) -> Tensor:
        """(inputs, k) matrix B; the features are x, sin(x B), cos(x B)."""
        if self.kind == "none":
            return torch.zeros(inputs, 0, dtype=torch.float64)
        if self.count < 1:
            raise PcpinnError(f"feature_count={self.count}", "ask for at least one feature, or features=none")
        if self.kind == "log":
            scales = 2 * torch.pi * 2 ** torch.linspace(self.low, self.high, self.count, dtype=torch.float64)
            return torch.block_diag(*[scales[None, :]] * inputs)
        if self.kind == "gaussian":
            return self.std * torch.randn(inputs, self.count, generator=generator, dtype=torch.float64)
        raise PcpinnError(f"features={self.kind!r} is not a choice", "use none, log or gaussian")
