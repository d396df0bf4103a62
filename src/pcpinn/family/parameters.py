"""The numbers that a family depends on: ranges and distributions.

A distribution has `size` numbers. The network sees each scaled to z in [-1, 1]; samples come from uniform numbers, so that
whoever draws them keeps the only random state.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from ..errors import PcpinnError

_MOST = 100_000  # numbers in one parameter


class Distribution(ABC):
    """Independent numbers, each within finite limits.

    Attributes:
        count: numbers in a vector; None for a single number, which functions see as a tensor ().
    """

    name: ClassVar[str]

    count: int | None

    @property
    def size(self) -> int:
        """How many numbers."""
        return 1 if self.count is None else self.count

    @property
    @abstractmethod
    def lower(self) -> Tensor:
        """(size,) least values."""

    @property
    @abstractmethod
    def upper(self) -> Tensor:
        """(size,) largest values."""

    @abstractmethod
    def scaled(self, values: Tensor) -> Tensor:
        """Values (..., size) -> z in [-1, 1], differentiable."""

    @abstractmethod
    def value(self, z: Tensor) -> Tensor:
        """Inverse of `scaled`."""

    @abstractmethod
    def draw(self, uniform: Tensor) -> Tensor:
        """Uniform numbers (..., size) in (0, 1) -> z of samples."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""

    def given(self, values: Tensor) -> Any:
        """What the problem's maker gets for values (size,)."""
        return values[0] if self.count is None else values

    def _check_count(self) -> None:
        whole = isinstance(self.count, int) and not isinstance(self.count, bool)
        if self.count is not None and not (whole and 1 <= self.count <= _MOST):
            raise PcpinnError(f"count={self.count!r} of a parameter", f"give a whole number from 1 to {_MOST}")


@dataclass(frozen=True)
class Range(Distribution):
    """Numbers between two limits, all equally likely.

    Attributes:
        lo, hi: the limits.
        count: numbers in a vector; None for one number.
        log: equally likely are their logarithms; for what varies over powers of ten.
    """

    lo: float
    hi: float
    count: int | None = None
    log: bool = False

    name: ClassVar[str] = "range"

    def __post_init__(self) -> None:
        self._check_count()
        for key in ("lo", "hi"):
            object.__setattr__(self, key, number(getattr(self, key), f"{key} of a Range"))
        if not self.lo < self.hi:
            raise PcpinnError(f"Range({self.lo:g}, {self.hi:g}) is empty", "give lo < hi; leave fixed numbers out")
        if self.log and not self.lo > 0:
            raise PcpinnError(f"Range({self.lo:g}, {self.hi:g}, log=True)", "logarithms need lo > 0")

    @property
    def _ends(self) -> tuple[float, float]:
        return (math.log(self.lo), math.log(self.hi)) if self.log else (self.lo, self.hi)

    @property
    def lower(self) -> Tensor:
        """(size,) lo."""
        return torch.full((self.size,), self.lo, dtype=torch.float64)

    @property
    def upper(self) -> Tensor:
        """(size,) hi."""
        return torch.full((self.size,), self.hi, dtype=torch.float64)

    def scaled(self, values: Tensor) -> Tensor:
        """The limits become -1 and 1."""
        a, b = self._ends
        return (2 * (values.log() if self.log else values) - (a + b)) / (b - a)

    def value(self, z: Tensor) -> Tensor:
        """Inverse of `scaled`."""
        a, b = self._ends
        v = (a + b) / 2 + (b - a) / 2 * z
        return v.exp() if self.log else v

    def draw(self, uniform: Tensor) -> Tensor:
        """Evenly over [-1, 1]."""
        return 2 * uniform - 1

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"name": self.name, "lo": self.lo, "hi": self.hi, "count": self.count, "log": self.log}


@dataclass(frozen=True)
class Normal(Distribution):
    """Normal numbers, cut off a few standard deviations from their mean so that the network has limits to live in.

    Attributes:
        mean, std: one for all, or one for each number of a vector.
        count: numbers in a vector; None for one number.
        cut: where they are cut off, in standard deviations.
    """

    mean: float | Sequence[float] = 0.0
    std: float | Sequence[float] = 1.0
    count: int | None = None
    cut: float = 3.0

    name: ClassVar[str] = "normal"

    def __post_init__(self) -> None:
        self._check_count()
        for key in ("mean", "std"):
            given = getattr(self, key)
            if not isinstance(given, int | float):
                try:
                    numbers = tuple(number(v, f"{key} of a Normal") for v in given)
                except TypeError:
                    raise PcpinnError(f"{key}={given!r} of a Normal", "give a number, or one for each") from None
                if len(numbers) != self.size:
                    raise PcpinnError(f"{len(numbers)} numbers as {key} for count={self.count}", "give as many")
                object.__setattr__(self, key, numbers)
            else:
                object.__setattr__(self, key, number(given, f"{key} of a Normal"))
        if not bool((self._std > 0).all()):
            raise PcpinnError(f"std={self.std!r} of a Normal is not positive", "leave fixed numbers out")
        if not 0 < number(self.cut, "cut of a Normal") <= 8:
            raise PcpinnError(
                f"cut={self.cut:g} of a Normal", "give a number of standard deviations up to 8, such as 3"
            )

    @property
    def _mean(self) -> Tensor:
        return torch.as_tensor(self.mean, dtype=torch.float64).expand(self.size)

    @property
    def _std(self) -> Tensor:
        return torch.as_tensor(self.std, dtype=torch.float64).expand(self.size)

    @property
    def lower(self) -> Tensor:
        """(size,) mean - cut std."""
        return self._mean - self.cut * self._std

    @property
    def upper(self) -> Tensor:
        """(size,) mean + cut std."""
        return self._mean + self.cut * self._std

    def scaled(self, values: Tensor) -> Tensor:
        """The cuts become -1 and 1."""
        return (values - self._mean.to(values)) / (self.cut * self._std.to(values))

    def value(self, z: Tensor) -> Tensor:
        """Inverse of `scaled`."""
        return self._mean.to(z) + self.cut * self._std.to(z) * z

    def draw(self, uniform: Tensor) -> Tensor:
        """By the inverse of the distribution function of the cut normal."""
        inside = math.erf(self.cut / math.sqrt(2))
        return torch.erfinv((2 * uniform - 1) * inside) * math.sqrt(2) / self.cut

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        listed = {k: list(v) if isinstance(v, tuple) else v for k, v in (("mean", self.mean), ("std", self.std))}
        return {"name": self.name, **listed, "count": self.count, "cut": self.cut}


def distribution_from(data: Mapping[str, Any]) -> Distribution:
    """Inverse of `Distribution.to_dict`.

    Raises:
        PcpinnError: when the data are not such a record.
    """
    kinds: dict[str, type[Distribution]] = {"range": Range, "normal": Normal}
    try:
        keys = dict(data)
        return kinds[keys.pop("name")](**keys)
    except (KeyError, TypeError, ValueError) as error:
        raise PcpinnError(f"{data!r} is not a distribution", "the run is damaged; solve again") from error


def number(value: object, what: str) -> float:
    """A finite number, or a refusal that says what it was to be."""
    try:
        found = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise PcpinnError(f"{what} is {value!r}", "give a finite number") from None
    if isinstance(value, bool) or not math.isfinite(found):
        raise PcpinnError(f"{what} is {value!r}", "give a finite number")
    return found
