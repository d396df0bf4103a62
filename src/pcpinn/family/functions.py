"""Functions as parameters of a family: given by coefficients in a basis, or by values at sensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ..errors import PcpinnError
from .parameters import Distribution, number


@dataclass(frozen=True)
class Basis:
    """A function of place given by its coefficients in a basis: f(x) = sum of c_k psi_k(x).

    Attributes:
        functions: x (d,) -> (m,), the values of the basis functions, in torch operations.
        coefficients: the distribution of the c_k, a vector of m numbers: `Normal(0, std, count=m)` for a random field.
    """

    functions: Callable[[Tensor], Tensor]
    coefficients: Distribution

    def __post_init__(self) -> None:
        if not callable(self.functions):
            raise PcpinnError(f"functions={self.functions!r} of a Basis", "give a function of x that returns (m,)")
        _require_vector(self.coefficients, "coefficients of a Basis")

    @property
    def distribution(self) -> Distribution:
        """Of its numbers."""
        return self.coefficients

    def given(self, values: Tensor) -> Callable[[Tensor], Tensor]:
        """The function of coefficients (m,)."""

        def function(x: Tensor) -> Tensor:
            psi = self.functions(x)
            if psi.shape != values.shape:
                raise PcpinnError(
                    f"the basis functions have shape {tuple(psi.shape)} at a point for {len(values)} coefficients",
                    "return one value per coefficient, such as torch.stack([...])",
                )
            return psi @ values.to(psi.dtype)

        return function


@dataclass(frozen=True)
class Sensors:
    """A function of place given by its values at sensors, with a smooth interpolant between them (Gaussian kernels).

    Attributes:
        points: (m, d) places of the sensors.
        values: the distribution of the values there, a vector of m numbers.
        length: of the kernels; None takes 1.5 times the mean distance of neighbours.
    """

    points: Sequence[Sequence[float]]
    values: Distribution
    length: float | None = None

    def __post_init__(self) -> None:
        _require_vector(self.values, "values of Sensors")
        try:
            x = torch.as_tensor(self.points, dtype=torch.float64)
        except (TypeError, ValueError, RuntimeError):
            x = torch.empty(0)
        if x.ndim != 2 or len(x) != self.values.size or not bool(torch.isfinite(x).all()):
            raise PcpinnError(
                f"sensors are at {tuple(x.shape)} points for {self.values.size} values", "give one row of numbers each"
            )
        if len(x) > 1 and float(_nearest(x).min()) == 0:
            raise PcpinnError("two sensors are at the same place", "leave one of them out")
        if self.length is not None and not number(self.length, "length of Sensors") > 0:
            raise PcpinnError(f"length={self.length:g} of Sensors must be positive", "leave it out")
        object.__setattr__(self, "points", tuple(map(tuple, x.tolist())))

    @property
    def distribution(self) -> Distribution:
        """Of its numbers."""
        return self.values

    @cached_property
    def _kernel(self) -> tuple[Tensor, float, Tensor]:
        x = torch.tensor(self.points, dtype=torch.float64)
        length = self.length or (1.5 * float(_nearest(x).mean()) if len(x) > 1 else 1.0)
        K = torch.exp(-0.5 * (torch.cdist(x, x) / length) ** 2)
        return x, length, torch.linalg.inv(K + 1e-10 * torch.eye(len(x), dtype=torch.float64))

    def given(self, values: Tensor) -> Callable[[Tensor], Tensor]:
        """The interpolant of values (m,)."""
        places, length, inverse = self._kernel

        def function(x: Tensor) -> Tensor:
            distance = ((places.to(x) - x) ** 2).sum(-1) / length**2
            return torch.exp(-0.5 * distance) @ (inverse.to(x) @ values)

        return function


AnyParameter = Distribution | Basis | Sensors


def distribution_of(parameter: AnyParameter) -> Distribution:
    """Of the numbers that a parameter is made of."""
    return parameter if isinstance(parameter, Distribution) else parameter.distribution


def _require_vector(given: object, what: str) -> None:
    if not isinstance(given, Distribution) or given.count is None:
        raise PcpinnError(
            f"the {what} are {given!r}", "give a vector: Normal(0, 1, count=16), or Range(-1, 1, count=16)"
        )


def _nearest(x: Tensor) -> Tensor:
    d = torch.cdist(x, x)
    d.fill_diagonal_(torch.inf)
    return d.min(1).values
