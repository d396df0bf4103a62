"""What an inverse problem looks for: numbers and functions that stand in the flux, the source or a condition."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..errors import PcpinnError
from .conditions import Value

KERNELS = ("auto", "se", "matern", "exponential")


@dataclass(frozen=True)
class Parameter:
    """A number to be found, or a vector of them. The problem's functions see a tensor, () or (n,).

    Attributes:
        initial: first guess; a sequence for a vector.
        low, high: bounds, one for all or one each; None where there is none.
        spread: standard deviation of a normal prior about the first guess; None lets the data alone speak.
    """

    initial: float | Sequence[float] = 1.0
    low: float | Sequence[float] | None = None
    high: float | Sequence[float] | None = None
    spread: float | None = None

    def __post_init__(self) -> None:
        for v, lo, hi in zip(self.start, self.lower, self.upper, strict=True):
            if not (math.isfinite(v) and lo < v < hi):
                raise PcpinnError(
                    f"a parameter begins at {v:g}, which is not between its bounds {lo:g} and {hi:g}",
                    "give a finite first guess strictly between low and high",
                )
        if self.spread is not None and not 0 < self.spread < math.inf:
            raise PcpinnError(f"spread={self.spread:g} must be positive", "leave it out for no prior")

    @property
    def components(self) -> int:
        """How many numbers."""
        return len(self.start)

    @property
    def is_vector(self) -> bool:
        """Whether the problem's functions see (n,) rather than ()."""
        return not isinstance(self.initial, int | float)

    @property
    def start(self) -> tuple[float, ...]:
        """First guesses."""
        return _numbers(self.initial, 1, 0.0)

    @property
    def lower(self) -> tuple[float, ...]:
        """Lower bounds, perhaps infinite."""
        return _numbers(self.low, self.components, -math.inf)

    @property
    def upper(self) -> tuple[float, ...]:
        """Upper bounds, perhaps infinite."""
        return _numbers(self.high, self.components, math.inf)


@dataclass(frozen=True)
class Coefficient:
    """A function to be found, given by a network of its own. The problem's functions call it: a(x), or a(x, t) over time.

    Call it with the point of evaluation: no other value is known while the equation is evaluated.

    Attributes:
        initial: first guess, a constant; it says nothing of how much the coefficient varies.
        low: it stays above this; None for no bound. With one, the prior may be of logarithms, log(a - low), if the data say so.
        known: boundary name -> its values there, a number or a function of x (or of (x, t), if it depends on time).
        kernel: of the smoothness prior, a Gaussian process: se (infinitely smooth), matern (two derivatives), exponential
            (none), auto (se or matern, the one of larger evidence, each with its best length and scale; deviations allow for
            exponential, too); "none" for no prior.
        length, scale: over which distance and how much it varies; None averages over those that the data leave possible.
        over_time: whether it depends on time, and is called a(x, t); else on space alone.
        width, depth: hidden layers of its network.
    """

    initial: float = 1.0
    low: float | None = None
    known: Mapping[str, Value] = field(default_factory=dict)
    kernel: str = "auto"
    length: float | None = None
    scale: float | None = None
    over_time: bool = False
    width: int = 24
    depth: int = 2

    components = 1
    is_vector = False

    def __post_init__(self) -> None:
        if not math.isfinite(self.initial) or (self.low is not None and not self.low < self.initial):
            raise PcpinnError(
                f"a coefficient begins at {self.initial:g}, which is not above its bound {self.low}",
                "give initial= a number above low=",
            )
        if self.kernel not in (*KERNELS, "none"):
            raise PcpinnError(f"kernel={self.kernel!r} is not a choice", f"use {', '.join((*KERNELS, 'none'))}")
        for name in ("length", "scale", "width", "depth"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise PcpinnError(f"{name}={value!r} of a coefficient must be positive", "leave it out")


Unknown = Parameter | Coefficient


def _numbers(value: float | Sequence[float] | None, count: int, absent: float) -> tuple[float, ...]:
    if value is None:
        return (absent,) * count
    try:
        given = (float(value),) * count if isinstance(value, int | float) else tuple(float(v) for v in value)
    except (TypeError, ValueError):
        raise PcpinnError(f"{value!r} is not a number or a sequence of numbers", "write initial=1.0") from None
    if not given or (count > 1 and len(given) != count):
        raise PcpinnError(f"{value!r} has {len(given)} numbers for {count}", "give one for all, or one each")
    return given
