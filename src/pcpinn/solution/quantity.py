"""A number that is asked of a solution, with what is known of its error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from ..errors import PcpinnError

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Quantity:
    """A number with its error; it counts as its value in arithmetic.

    Attributes:
        value: the best value there is: that of the network, corrected by its residual on a finer discretisation.
        error: estimated absolute error of the value; None where there is no estimate, and `how` says why.
        how: what was computed, and on which discretisation.
        network: the value of the network itself, before the correction.
        place: where it was found, of a maximum or minimum.
    """

    value: float
    error: float | None
    how: str
    network: float | None = None
    place: tuple[float, ...] | None = None

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        where = "" if self.place is None else f" at ({', '.join(f'{c:.6g}' for c in self.place)})"
        return f"{self.value:.9g}{where}" if self.error is None else f"{self.value:.9g} +- {self.error:.1g}{where}"

    def __format__(self, spec: str) -> str:
        return format(self.value, spec) if spec else str(self)

    def __contains__(self, number: float) -> bool:
        """Whether a number is within the error."""
        return self.error is not None and abs(float(number) - self.value) <= self.error

    def __add__(self, other: Quantity | float) -> Quantity:
        """Errors add up; a number has none."""
        if not isinstance(other, Quantity):
            other = Quantity(float(other), 0.0, "", float(other))
        error = None if self.error is None or other.error is None else self.error + other.error
        network = None if self.network is None or other.network is None else self.network + other.network
        how = self.how if other.how in ("", self.how) else f"{self.how}; {other.how}"
        return Quantity(self.value + other.value, error, how, network)

    __radd__ = __add__

    def __sub__(self, other: Quantity | float) -> Quantity:
        return self + -other

    def __rsub__(self, other: float) -> Quantity:
        return -self + other

    def __neg__(self) -> Quantity:
        return self * -1.0

    def __mul__(self, factor: float) -> Quantity:
        """The same in another unit."""
        error = None if self.error is None else abs(factor) * self.error
        network = None if self.network is None else factor * self.network
        return Quantity(factor * self.value, error, self.how, network, self.place)

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> Quantity:
        return self * (1 / divisor)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


Quantities = Quantity | tuple[Quantity, ...]

_ASKED: dict[str, Callable[..., Any]] = {}


def answers(function: F) -> F:
    """Make a function of a solution what its method of the same name calls; it needs discretisations, which come later."""
    _ASKED[function.__name__] = function
    return function


def ask(name: str, *args: Any, **options: Any) -> Any:
    """Call what answers."""
    if name not in _ASKED:
        raise PcpinnError(f"nothing here computes {name!r}", "import pcpinn as a whole")
    return _ASKED[name](*args, **options)
