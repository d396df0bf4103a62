"""A problem for every value of its parameters, with ranges or distributions of these.

Parameters mu (K,) reach the problem's functions through extended points (mu, x), as the unknowns of an inverse problem do (see
problem/family.py), so that one evaluation serves points of many parameters. Networks see them scaled, z in [-1, 1]^K.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from ..errors import PcpinnError, PcpinnWarning
from ..problem.family import Family as Extended
from ..problem.first_order import first_order
from ..problem.mapped import MappedProblem
from ..problem.problem import Problem
from ..problem.unknowns import Parameter
from .functions import AnyParameter, Basis, Sensors, distribution_of
from .parameters import Distribution

Outside = Literal["refuse", "warn"]
_EDGE = 1e-9  # of a range: rounding at its ends


class Parameters:
    """Names and distributions of K numbers, and the ways to write values of them.

    Args:
        named: by name.
        outside: what to do about values outside of their ranges: refuse them, or warn and extrapolate.
    """

    def __init__(self, named: Mapping[str, Distribution], outside: Outside = "refuse") -> None:
        if outside not in ("refuse", "warn"):
            raise PcpinnError(f"outside={outside!r} is not a choice", "use refuse or warn")
        self.named, self.outside = dict(named), outside

    @property
    def count(self) -> int:
        """K."""
        return sum(d.size for d in self.named.values())

    @cached_property
    def columns(self) -> dict[str, slice]:
        """Which of the K numbers belong to a name."""
        result, at = {}, 0
        for name, d in self.named.items():
            result[name] = slice(at, at + d.size)
            at += d.size
        return result

    @property
    def labels(self) -> tuple[str, ...]:
        """A name per number: a, or c1, c2 for a vector."""
        return tuple(
            name if d.count is None else f"{name}{i + 1}" for name, d in self.named.items() for i in range(d.size)
        )

    @cached_property
    def lower(self) -> Tensor:
        """(K,) least values."""
        return torch.cat([d.lower for d in self.named.values()])

    @cached_property
    def upper(self) -> Tensor:
        """(K,) largest values."""
        return torch.cat([d.upper for d in self.named.values()])

    def scaled(self, mu: Tensor) -> Tensor:
        """Values (..., K) -> z in [-1, 1], differentiable."""
        return torch.cat([d.scaled(mu[..., self.columns[n]]) for n, d in self.named.items()], dim=-1)

    def value(self, z: Tensor) -> Tensor:
        """Inverse of `scaled`."""
        return torch.cat([d.value(z[..., self.columns[n]]) for n, d in self.named.items()], dim=-1)

    def draw(self, uniform: Tensor) -> Tensor:
        """Uniform numbers (..., K) -> z of samples."""
        return torch.cat([d.draw(uniform[..., self.columns[n]]) for n, d in self.named.items()], dim=-1)

    @property
    def middle(self) -> Tensor:
        """(K,) values in the middle of all ranges."""
        return self.value(torch.zeros(self.count, dtype=torch.float64))

    def sample(self, count: int, seed: int = 0) -> Tensor:
        """(count, K) independent values."""
        generator = torch.Generator().manual_seed(seed)
        return self.value(self.draw(torch.rand(count, self.count, generator=generator, dtype=torch.float64)))

    def vector(self, mu: Any) -> Tensor:
        """Values as a tensor (K,) or (n, K), from a number, a sequence, an array, a tensor or a mapping by name.

        Raises:
            PcpinnError: for other shapes or names, numbers that are not finite, or, if that is refused, outside of the ranges.
        """
        values = self._from_names(mu) if isinstance(mu, Mapping) else self._tensor(mu)
        if values.ndim == 0 and self.count == 1:
            values = values[None]
        if values.ndim not in (1, 2) or values.shape[-1] != self.count:
            raise PcpinnError(
                f"parameters have shape {tuple(values.shape)} for {self.count}: {', '.join(self.labels[:8])}",
                "give one number for each, rows for several queries, or a dict by name",
            )
        self._check(values.detach())
        return values

    def _from_names(self, mu: Mapping[str, Any]) -> Tensor:
        missing, unknown = self.named.keys() - mu.keys(), mu.keys() - self.named.keys()
        if missing or unknown:
            what = f"has no {sorted(missing)[0]!r}" if missing else f"has {sorted(unknown)[0]!r}"
            raise PcpinnError(f"the dict of parameters {what}", f"the parameters are {', '.join(self.named)}")
        parts = []
        for name, d in self.named.items():
            part = self._tensor(mu[name])
            part = part[..., None] if d.count is None else part
            if part.ndim == 0 or part.shape[-1] != d.size:
                raise PcpinnError(f"{name} has shape {tuple(part.shape)}", f"give {d.size} numbers")
            parts.append(part)
        rows = torch.broadcast_shapes(*(p.shape[:-1] for p in parts))
        return torch.cat([p.expand(*rows, p.shape[-1]) for p in parts], dim=-1)

    @staticmethod
    def _tensor(given: Any) -> Tensor:
        if isinstance(given, Tensor):
            return given.double()
        try:
            return torch.as_tensor(np.asarray(given, dtype=np.float64))
        except (TypeError, ValueError) as error:
            raise PcpinnError(f"{given!r} are no parameters", "give numbers, or a dict by name") from error

    def _check(self, mu: Tensor) -> None:
        if not bool(torch.isfinite(mu).all()):
            raise PcpinnError("parameters are not finite", "give finite numbers")
        lower, upper = self.lower.to(mu), self.upper.to(mu)
        slack = _EDGE * (upper - lower)
        out = ((mu < lower - slack) | (mu > upper + slack)).reshape(-1, self.count)
        if not bool(out.any()):
            return
        row, column = (int(i) for i in out.nonzero()[0])
        value = float(mu.reshape(-1, self.count)[row, column])
        text = f"{self.labels[column]}={value:g} is outside of {float(lower[column]):g} to {float(upper[column]):g}"
        if self.outside == "refuse":
            raise PcpinnError(text, "ask inside the range, widen it and train again, or allow it: outside='warn'")
        warnings.warn(f"{text}: extrapolated, with no error estimate to rely on", PcpinnWarning, stacklevel=4)

    def to_list(self) -> list[dict[str, Any]]:
        """Plain data for JSON: functions are not in it."""
        return [{"parameter": name, **d.to_dict()} for name, d in self.named.items()]


class Family(Parameters):
    """Problems made by a function of parameters: `Family(make, a=Range(0.1, 10), c=Normal(0, 1, count=16))`.

    Args:
        make: gets a tensor () or (n,) for each number or vector, a function of x for each `Basis` or `Sensors`; gives a Problem.
            Domain, fields, boundaries and kinds of conditions must be the same for all; shapes change through `pcpinn.mapped`.
        outside: what to do about parameters outside of their ranges: "refuse" them, or "warn" and extrapolate.
        parameters: by name: `Range`, `Normal`, `Basis`, `Sensors`.

    Raises:
        PcpinnError: for a maker or parameters that are not such.
    """

    def __init__(
        self, make: Callable[..., Problem], *, outside: Outside = "refuse", **parameters: AnyParameter
    ) -> None:
        if isinstance(make, Problem) or not callable(make):
            raise PcpinnError(f"a family of {make!r}", "give a function of the parameters that returns a Problem")
        if not parameters:
            raise PcpinnError("the family has no parameters", "give ranges by name: Family(make, a=Range(0.1, 10))")
        for name, given in parameters.items():
            if not isinstance(given, Distribution | Basis | Sensors):
                raise PcpinnError(f"parameter {name!r} is {given!r}", "use Range, Normal, Basis or Sensors")
        super().__init__({n: distribution_of(p) for n, p in parameters.items()}, outside)
        self.make, self.parameters = make, dict(parameters)

    @cached_property
    def _inner(self) -> Extended:
        middle = self.middle
        starts = {
            n: Parameter(float(middle[s][0]) if d.count is None else middle[s].tolist())
            for (n, d), s in zip(self.named.items(), self.columns.values(), strict=True)
        }

        def build(**given: Tensor) -> Problem:
            made = self.make(
                **{
                    n: p.given(given[n]) if not isinstance(p, Distribution) else given[n]
                    for n, p in self.parameters.items()
                }
            )
            return _in_first_order(made) if isinstance(made, Problem) else made

        return Extended(build, starts)

    def at(self, mu: Any) -> Problem:
        """The problem for parameters."""
        values = self.vector(mu)
        if values.ndim != 1:
            raise PcpinnError(f"{len(values)} sets of parameters for one problem", "give one")
        return self._inner.at(values.detach())

    @property
    def base(self) -> Problem:
        """The problem in the middle of all ranges: its domain, fields and kinds of conditions hold for all."""
        return self._inner.base

    @property
    def extended(self) -> Problem:
        """One problem on extended points (mu, x)."""
        return self._inner.extended

    def corners(self, most: int = 64) -> list[tuple[str, Tensor]]:
        """(label, values) with one number at an end of its range, the others in the middle; of at most so many numbers."""
        result, labels = [], self.labels
        for k in np.unique(np.linspace(0, self.count - 1, min(self.count, math.ceil(most / 2))).astype(int)):
            for end in (-1.0, 1.0):
                z = torch.zeros(self.count, dtype=torch.float64)
                z[k] = end
                mu = self.value(z)
                result.append((f"{labels[k]}={float(mu[k]):g}", mu))
        return result


def _in_first_order(problem: Problem) -> Problem:
    """Rates of fields of second order in time are fields of their own: a network of a family has them beside the rest."""
    if isinstance(problem, MappedProblem) and problem.second_order_fields:
        raise PcpinnError(
            "Initial(rate=...) does not go with a map of the domain", "write u_t = v and v_t = ... with two fields"
        )
    return first_order(problem)
