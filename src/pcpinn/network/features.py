"""Features of the inputs: fixed sines and cosines, both ways of the paper; distances to known kinks and corners."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..errors import PcpinnError
from .stretched import Knots

_MOST_WAVES = 4_000_000
_LARGEST_EXPONENT = 50  # 2^53 neighbouring doubles fill the box
_LONGER = 1.25  # period of "series" in lengths of the box: longer costs waves, shorter costs digits


@dataclass(frozen=True)
class Features:
    """Which features the network's inputs are turned into.

    Attributes:
        kind: "none"; "log" for frequencies 2 pi 2^e with exponents spread over [low, high], along each axis;
            "series" for 1 to `count` waves per 1.25 lengths of the box along each axis: a period longer than the box, so that
            functions that do not repeat themselves are in their span too (Fourier extension), up to a known bandwidth;
            "gaussian" for random directions with normal frequencies; "list" for those in `listed`; "waves" for all plane
            waves, in every direction, of at most `count` waves per period of the box, which must be periodic; "cosines" for
            their counterpart in a box without flow through its walls: products of cosines of x, y, ..., of at most `count`
            half waves. These two stand alone: the coordinates themselves are no inputs.
        count: number of frequencies (per axis for "log" and "series").
        low, high: exponents of the lowest and highest frequency of "log".
        std: standard deviation of "gaussian" frequencies.
        kinks: for each axis the coordinates c where the slope of the solution jumps, such as the interfaces of two
            materials; each adds the input |x_i - c|. Empty for none.
        start: if positive, sqrt(t + start) is an input too, with t the last coordinate from 0 to 1: what follows a sudden start
            by diffusion grows as sqrt(t).
        listed: for each axis the frequencies of "list", in radians per unit of the coordinate: those of the problem's data.
        periodic: axes along which the network repeats itself with the period of its box: their coordinates are seen through
            sines and cosines alone, of 1 to `count` waves per period ("gaussian": of whole numbers of waves, drawn with the
            rest); other axes have what "log" gives them, or nothing.
        corners: points where the solution is singular, as log r or a power of r, the distance; each adds as inputs log r and the
            direction (x - corner) / r, both smoothed within `corner_size`.
        stretch: for each axis the knots of a map of its coordinate (see stretched.py), which is one more input; empty for none.
        squares: those of the coordinates are inputs too, but for periodic ones (see radial.py).
        interfaces: pieces across which slopes of the solution jump, d^2 numbers each: a coordinate on a line, the two ends of a
            straight piece in a plane; the distance from the nearest is one more input (see interfaces.py).
    """

    kind: str = "none"
    count: int = 10
    low: float = -5.0
    high: float = 5.0
    std: float = torch.pi
    kinks: tuple[tuple[float, ...], ...] = ()
    listed: tuple[tuple[float, ...], ...] = ()
    start: float = 0.0
    periodic: tuple[int, ...] = ()
    corners: tuple[tuple[float, ...], ...] = ()
    corner_size: float = 1e-3
    stretch: tuple[Knots, ...] = ()
    squares: bool = False
    interfaces: tuple[tuple[float, ...], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "stretch", check_knots(self.stretch))
        object.__setattr__(self, "interfaces", check_interfaces(self.interfaces))
        object.__setattr__(self, "corners", tuple(tuple(float(c) for c in point) for point in self.corners))
        if self.corners and not 0 < self.corner_size < math.inf:
            raise PcpinnError(f"corner_size={self.corner_size:g} must be positive", "give the smallest size of cells")
        object.__setattr__(self, "kinks", check_lists("kinks", self.kinks))
        object.__setattr__(self, "listed", check_lists("frequencies", self.listed))
        object.__setattr__(self, "periodic", tuple(sorted({operator.index(a) for a in self.periodic})))
        if self.periodic and (self.kind not in ("none", "log", "gaussian", "waves") or self.count < 1):
            raise PcpinnError(
                f"features={self.kind} do not repeat themselves along periodic axes",
                "use features=log (with none, other axes have no features) or gaussian; feature_count waves, at least one",
            )
        if self.kind == "log" and not all(abs(e) <= _LARGEST_EXPONENT for e in (self.low, self.high)):
            raise PcpinnError(
                f"features of 2^{self.low:g} to 2^{self.high:g} waves cannot be told apart in double precision",
                f"choose feature_low and feature_high between -{_LARGEST_EXPONENT} and {_LARGEST_EXPONENT}",
            )
        if self.kind == "cosines" and self.count < 1:
            raise PcpinnError(f"feature_count={self.count}", "ask for at least one half wave")
        if self.kind == "waves" and not self.periodic:
            raise PcpinnError("features=waves repeat themselves, the problem does not", "use features=log")

    def width(self, inputs: int) -> int:
        """Number of features for a number of inputs."""
        if self.kinks and len(self.kinks) != inputs:
            raise PcpinnError(
                f"kinks are given for {len(self.kinks)} axes, but there are {inputs}",
                "give one list per coordinate (time included), separated by semicolons; a list may be empty",
            )
        if self.periodic and not 0 <= self.periodic[-1] < inputs:
            raise PcpinnError(f"axis {self.periodic[-1]} is not one of {inputs}", "number periodic axes from 0")
        if any(len(point) != inputs for point in self.corners):
            raise PcpinnError(
                f"corners={self.corners} are not points of {inputs} coordinates",
                "give one point after the other, separated by semicolons, such as 0,1;1,1",
            )
        plain = 0 if self.kind == "cosines" else inputs - len(self.periodic)
        corners = (1 + inputs) * len(self.corners)
        fixed = len(self._grid(inputs)) if self.kind == "cosines" else 2 * self.size(inputs)
        if self.stretch and len(self.stretch) != inputs:
            raise PcpinnError(
                f"stretched coordinates for {len(self.stretch)} axes of {inputs}", "give knots for each axis"
            )
        if any(len(piece) != inputs**2 for piece in self.interfaces) or (self.interfaces and inputs > 2):
            raise PcpinnError(
                f"interfaces do not fit {inputs} coordinates",
                "give a coordinate for each on a line, x,y of both ends of each in a plane; there are none in space",
            )
        squares = plain if self.squares else 0
        return (
            plain
            + sum(map(len, self.kinks))
            + corners
            + (self.start > 0)
            + fixed
            + sum(map(bool, self.stretch))
            + bool(self.interfaces)
            + squares
        )

    def at_corners(self, x: Tensor, extent: Tensor) -> list[Tensor]:
        """The inputs that corners add for points x (..., d): for each, log r from -1 (near) to 1 (`extent` away), direction."""
        parts = []
        for point in self.corners:
            away = x - x.new_tensor(point)
            r = torch.sqrt((away**2).sum(-1, keepdim=True) + self.corner_size**2)
            parts += [1 + 2 * torch.log(r / extent) / torch.log(extent / self.corner_size), away / r]
        return parts

    def half_waves(self, inputs: int) -> Tensor:
        """(k, inputs) numbers of half waves along each axis, of "cosines"."""
        return self._grid(inputs)

    def cosines(self, scaled: Tensor) -> Tensor:
        """The products of "cosines" at points (..., d), scaled to [-1, 1]."""
        result: Tensor = torch.ones_like(scaled[..., :1])
        for axis, number in enumerate(self._grid(scaled.shape[-1]).T.long()):
            lines = torch.cos((scaled[..., axis, None] + 1) * (torch.pi / 2) * torch.arange(self.count + 1).to(scaled))
            result = result * lines[..., number.to(scaled.device)]
        return result

    def size(self, inputs: int) -> int:
        """Number k of frequencies for a number of inputs."""
        if self.kind == "waves":
            return len(self._waves(inputs))
        if self.periodic and self.kind != "gaussian":
            return sum(len(line) for line in self._lines(inputs))
        listed = sum(map(len, self.listed))
        counts = {
            "log": inputs * self.count,
            "series": inputs * self.count,
            "gaussian": self.count,
            "list": listed,
        }
        return counts.get(self.kind, 0)

    def _lines(self, inputs: int) -> list[list[float]]:
        """With periodic axes: frequencies of the scaled coordinate (period 2) along each axis."""
        lines: list[list[float]] = []
        for axis in range(inputs):
            if axis in self.periodic:
                lines.append([math.pi * k for k in range(1, self.count + 1)])
            elif self.kind == "log":
                lines.append((2 * math.pi * 2 ** torch.linspace(self.low, self.high, self.count)).tolist())
            else:
                lines.append([])
        return lines

    def _waves(self, inputs: int) -> Tensor:
        """(k, inputs) whole numbers of waves along each axis, of length at most `count`; of k and -k one."""
        if self.periodic != tuple(range(inputs)):
            raise PcpinnError("features=waves need a problem that is periodic along every axis", "use features=log")
        both = self._grid(inputs)
        return both[len(both) // 2 :]  # sorted, so that -k stands opposite to k

    def _grid(self, inputs: int) -> Tensor:
        """(k, inputs) whole numbers, not all zero, of length at most `count`; of "cosines" none is negative."""
        first = 0 if self.kind == "cosines" else -self.count
        if (self.count + 1 - first) ** inputs > _MOST_WAVES:
            raise PcpinnError(f"feature_count={self.count} waves are too many along {inputs} axes", "take fewer")
        line = torch.arange(first, self.count + 1, dtype=torch.float64)
        grid = torch.cartesian_prod(*[line] * inputs).reshape(-1, inputs)
        length = (grid**2).sum(1)
        return grid[(length > 0) & (length <= self.count**2)]

    def frequencies(self, inputs: int, generator: torch.Generator, half_width: Tensor | None = None) -> Tensor:
        """(inputs, k) matrix B; the features are x, |x - kinks|, sin(x B), cos(x B), with x scaled by half_width (inputs,)."""
        if self.kind == "waves":
            return torch.pi * self._waves(inputs).T
        if self.periodic and self.kind != "gaussian":
            return torch.block_diag(*[torch.tensor(line, dtype=torch.float64)[None, :] for line in self._lines(inputs)])
        if self.kind in ("none", "cosines"):
            return torch.zeros(inputs, 0, dtype=torch.float64)
        if self.kind != "list" and self.count < 1:
            raise PcpinnError(f"feature_count={self.count}", "ask for at least one feature, or features=none")
        if self.kind == "log":
            scales = 2 * torch.pi * 2 ** torch.linspace(self.low, self.high, self.count, dtype=torch.float64)
            return torch.block_diag(*[scales[None, :]] * inputs)
        if self.kind == "series":
            waves = torch.pi / _LONGER * torch.arange(1, self.count + 1, dtype=torch.float64)
            return torch.block_diag(*[waves[None, :]] * inputs)
        if self.kind == "gaussian":
            drawn = self.std * torch.randn(inputs, self.count, generator=generator, dtype=torch.float64)
            for axis in self.periodic:
                drawn[axis] = torch.pi * torch.round(drawn[axis] / torch.pi)
            return drawn
        if self.kind == "list":
            return self._listed(inputs, half_width)
        raise PcpinnError(
            f"features={self.kind!r} is not a choice", "use none, log, series, gaussian, list, waves or cosines"
        )

    def _listed(self, inputs: int, half_width: Tensor | None) -> Tensor:
        if len(self.listed) != inputs:
            raise PcpinnError(
                f"frequencies are given for {len(self.listed)} axes, but there are {inputs}",
                "give one list per coordinate (time included), separated by semicolons; a list may be empty",
            )
        rows = [torch.tensor(line, dtype=torch.float64)[None, :] for line in self.listed]
        scale = torch.ones(inputs, dtype=torch.float64) if half_width is None else half_width
        return torch.block_diag(*rows) * scale[:, None]


def unread_features(kind: str) -> dict[str, str]:
    """Keys of recipes that features of a kind do not read, with the reason."""
    read = {"log": ("feature_low", "feature_high"), "gaussian": ("feature_std",), "list": ("frequencies",)}
    keys = {key: name for name, owned in read.items() for key in owned}
    result = {key: f"it is of features={name}, and features={kind}" for key, name in keys.items() if name != kind}
    if kind == "list":
        result["feature_count"] = "features=list are those of frequencies"
    return result


def check_knots(stretch: Any) -> tuple[Knots, ...]:
    """Knots as tuples of finite numbers, ascending; empty where an axis has none.

    Raises:
        PcpinnError: for anything else.
    """
    result = tuple(tuple(tuple(float(v) for v in knot) for knot in axis) for axis in stretch)
    for axis in result:
        ascending = all(a[0] < b[0] for a, b in itertools.pairwise(axis))
        if axis and (
            len(axis) < 2 or not ascending or not all(len(k) == 3 and all(map(math.isfinite, k)) for k in axis)
        ):
            raise PcpinnError("the knots of a stretched coordinate are not in order", "the file is damaged")
    return result  # type: ignore[return-value]


def check_interfaces(given: Any) -> tuple[tuple[float, ...], ...]:
    """Pieces as tuples of finite numbers.

    Raises:
        PcpinnError: for anything else.
    """
    try:
        pieces = tuple(tuple(float(v) for v in piece) for piece in given)
    except (TypeError, ValueError):
        pieces = ((math.nan,),)
    if not all(math.isfinite(v) for piece in pieces for v in piece):
        raise PcpinnError("the pieces of interfaces are no lists of numbers", "give x,y of both ends of each piece")
    return pieces


def check_lists(name: str, given: Any) -> tuple[tuple[float, ...], ...]:
    """Plain numbers, as many lists as axes.

    Raises:
        PcpinnError: for anything but lists of finite numbers.
    """
    try:
        if isinstance(given, str) or not isinstance(given, Sequence):
            raise TypeError
        lists = tuple(tuple(float(c) for c in axis) for axis in given)
    except (TypeError, ValueError):
        lists = ((math.nan,),)
    if not all(math.isfinite(c) for axis in lists for c in axis):
        raise PcpinnError(f"{name}={given!r} does not fit", _LISTS) from None
    if any(len(set(axis)) < len(axis) for axis in lists):
        raise PcpinnError(f"{name}={given!r} names a number twice along one axis", _LISTS)
    return lists


_LISTS = "give the numbers along each axis, such as -2,2;0 for x = -2, x = 2 and y = 0"
