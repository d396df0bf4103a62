"""A family of problems that differ in one number, in strong form, with the paper's hard-constraint ansatz u = g + d N.

Everything that does not depend on the weights (g, d and their derivatives at the points) is computed once; what a network
has to deliver is its own value, slopes and second derivatives along the axes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.func import hessian, jacfwd, vmap

from ..catalog import Entry
from ..discretize.pointwise import Pointwise
from ..problem.shape_base import Domain
from ..strong.form import residual_of_jets

# (x (2,), parameter) -> a number
PointFunction = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Family:
    """Problems of one parameter on a box of two coordinates.

    Attributes:
        entry: of the catalog.
        lift, distance: g and d of the ansatz u = g + d N.
        exact: u at points (n, 2) for one value of the parameter: (n,).
    """

    entry: Entry
    lift: PointFunction
    distance: PointFunction
    exact: Callable[[np.ndarray, float], np.ndarray]

    @property
    def name(self) -> str:
        """Of the catalog's problem."""
        return self.entry.name

    @property
    def parameter(self) -> str:
        """The name of what varies."""
        (name,) = self.entry.parameters
        return name

    @property
    def box(self) -> tuple[Tensor, Tensor]:
        """Its lower and upper corner, (2,) each."""
        domain = self.entry.problem(**self.entry.parameters).domain
        assert isinstance(domain, Domain)
        lower, upper = domain.bounds
        return torch.from_numpy(lower), torch.from_numpy(upper)

    def residual(self, x: Tensor, parameter: Tensor, u: Tensor, slopes: Tensor, second: Tensor) -> Tensor:
        """F[u] - f (n,) at points (n, 2), from u (n,), its slopes and second derivatives along the axes (n, 2)."""
        problem = self.entry.problem(**{self.parameter: parameter})
        return residual_of_jets(Pointwise(problem, strong=True), x, u, slopes, second)

    def place(self, x: Tensor, parameters: Tensor) -> Located:
        """g and d with their derivatives at points (n, 2), for each of the parameters (k,)."""

        def jets(function: PointFunction, p: Tensor) -> Tensor:
            def at(point: Tensor) -> Tensor:
                second = hessian(function)(point, p).diagonal()
                return torch.cat([function(point, p)[None], jacfwd(function)(point, p), second])

            return vmap(at)(x).T

        lift = torch.stack([jets(self.lift, p) for p in parameters])
        distance = torch.stack([jets(self.distance, p) for p in parameters])
        return Located(x, parameters, lift.detach(), distance.detach())

    def values(self, x: Tensor, parameters: Sequence[float]) -> Tensor:
        """The exact solutions at points (n, 2): (k, n)."""
        return torch.stack([torch.from_numpy(self.exact(x.numpy(), p)) for p in parameters])


@dataclass(frozen=True)
class Located:
    """Points (n, 2), parameters (k,), and (value, slopes, second derivatives) of lift and distance there: (k, 5, n)."""

    points: Tensor
    parameters: Tensor
    lift: Tensor
    distance: Tensor


def compose(lift: Tensor, distance: Tensor, network: Tensor) -> Tensor:
    """Jets (5, n) of g + d N from those of its parts: the product rule."""
    g, d, N = lift, distance, network
    value = g[0] + d[0] * N[0]
    slopes = g[1:3] + d[1:3] * N[0] + d[0] * N[1:3]
    second = g[3:5] + d[3:5] * N[0] + 2 * d[1:3] * N[1:3] + d[0] * N[3:5]
    return torch.cat([value[None], slopes, second])
