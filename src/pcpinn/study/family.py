"""A family of problems that differ in one number, in strong form, with the paper's hard-constraint ansatz u = g + d N.

Everything that does not depend on the weights (g, d and their derivatives at the points) is computed once; what a network
has to deliver is its own value, slopes and second derivatives along the axes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import hessian, jacfwd, vmap

# (x (2,), parameter) -> a number
PointFunction = Callable[[Tensor, Tensor], Tensor]
# (points (n, 2), parameter, u (n,), slopes (n, 2), second derivatives along the axes (n, 2)) -> residual (n,)
StrongForm = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Family:
    """Problems on a box of two coordinates.

    Attributes:
        name, parameter: of the catalog's problem, and of what varies.
        lower, upper: corners of the box.
        residual: F[u] - f.
        lift, distance: g and d of the ansatz u = g + d N.
        exact: u at points (n, 2) for one value of the parameter: (n,).
    """

    name: str
    parameter: str
    lower: tuple[float, float]
    upper: tuple[float, float]
    residual: StrongForm
    lift: PointFunction
    distance: PointFunction
    exact: Callable[[Tensor, float], Tensor]

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
        return torch.stack([self.exact(x, p) for p in parameters])


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
