"""Features of the inputs: fixed sines and cosines, both ways of the paper, and distances to known kinks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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
        kinks: for each axis the coordinates c where the slope of the solution jumps, such as the interfaces of two
            materials; each adds the input |x_i - c|. Empty for none.
    """

    kind: str = "none"
    count: int = 10
    low: float = -5.0
    high: float = 5.0
    std: float = torch.pi
    kinks: tuple[tuple[float, ...], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "kinks", check_kinks(self.kinks))

    def width(self, inputs: int) -> int:
        """Number of values that so many inputs are turned into."""
        if self.kinks and len(self.kinks) != inputs:
            raise PcpinnError(
                f"kinks are given for {len(self.kinks)} axes, but there are {inputs}",
                "give one list per coordinate (time included), separated by semicolons; a list may be empty",
            )
        return inputs + sum(map(len, self.kinks)) + 2 * self.size(inputs)

    def size(self, inputs: int) -> int:
        """Number k of frequencies for so many inputs."""
        return {"none": 0, "log": inputs * self.count, "gaussian": self.count}.get(self.kind, 0)

    def frequencies(self, inputs: int, generator: torch.Generator) -> Tensor:
        """(inputs, k) matrix B; the features are x, |x - kinks|, sin(x B), cos(x B)."""
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


def check_kinks(kinks: Any) -> tuple[tuple[float, ...], ...]:
    """Plain numbers, as many lists as axes.

    Raises:
        PcpinnError: for anything but lists of finite numbers.
    """
    try:
        if isinstance(kinks, str) or not isinstance(kinks, Sequence):
            raise TypeError
        lists = tuple(tuple(float(c) for c in axis) for axis in kinks)
    except (TypeError, ValueError):
        lists = ((math.nan,),)
    if not all(math.isfinite(c) for axis in lists for c in axis):
        raise PcpinnError(f"kinks={kinks!r} does not fit", _KINKS) from None
    if any(len(set(axis)) < len(axis) for axis in lists):
        raise PcpinnError(f"kinks={kinks!r} names a coordinate twice along one axis", _KINKS)
    return lists


_KINKS = "give the coordinates along each axis, such as -2,2;0 for x = -2, x = 2 and y = 0"
