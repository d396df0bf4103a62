"""What is integrated against test functions: (x, normal, state) -> (C, m), tested with the first m of (value, gradient).

In cells these are source and flux, on boundaries minus the prescribed normal flux (m = 1). The state at a point is (C, 1 + d) as
in pointwise.py; where time is treated apart from space it is the jet (C, 2, 1 + dx): value and gradient in space, and the
derivatives of both in time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import jacfwd, jacrev, vmap

from .guarded import guard
from .pointwise import BoundaryFlux, Pointwise


@dataclass(frozen=True)
class Integrand:
    """A function of one point, evaluated and differentiated at many."""

    at_point: Callable[[Tensor, Tensor, Tensor], Tensor]

    def evaluate(self, x: Tensor, n: Tensor, state: Tensor) -> Tensor:
        """(N, d) points, (N, d) normals (zero in cells), (N, *state) -> (N, C, m)."""
        return guard(vmap(self.at_point), x, n, state)

    def jacobian(self, x: Tensor, n: Tensor, state: Tensor) -> Tensor:
        """Derivative by the state: (N, C, m, *state)."""
        return guard(vmap(jacfwd(self.at_point, argnums=2)), x, n, state)

    def both(self, x: Tensor, n: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """The derivative by the state and the value, of one evaluation."""

        def twice(x: Tensor, n: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
            value = self.at_point(x, n, state)
            return value, value

        return guard(vmap(jacfwd(twice, argnums=2, has_aux=True)), x, n, state)

    def by_coefficients(self, count: int, x: Tensor, n: Tensor, state: Tensor) -> Tensor:
        """Derivative by the first `count` coordinates of extended points (see problem/family.py): (N, C, m, count)."""

        def at_point(c: Tensor, x: Tensor, n: Tensor, state: Tensor) -> Tensor:
            return self.at_point(torch.cat([c, x]), n, state)

        backwards = count > state[0].numel()  # more of them than of what comes out
        return guard(vmap((jacrev if backwards else jacfwd)(at_point)), x[:, :count], x[:, count:], n, state)


def in_cells(pointwise: Pointwise) -> Integrand:
    """Source and flux of a state."""
    return Integrand(lambda x, n, state: pointwise.at_point(x, state))


def on_boundary(flux: BoundaryFlux) -> Integrand:
    """Minus the prescribed flux of a state."""
    return Integrand(lambda x, n, state: -flux.at_point(x, n, state)[:, None])


def jets_in_cells(pointwise: Pointwise, strong: bool) -> Integrand:
    """Source and flux of a jet.

    Args:
        pointwise: the PDE.
        strong: the rate of the density is known from the jet (then source and flux in space come out, m = 1 + dx); if not,
            fluxes through time are handed over to be tested (m = 1 + dx + 1).
    """

    def at_point(x: Tensor, n: Tensor, jet: Tensor) -> Tensor:
        if strong:
            # Equations that are stepped are of first order in time (see time_orders), so u_tt does not matter.
            return pointwise.in_space(x, jet)
        return pointwise.at_point(x, _state(jet[:, 0], jet[:, 1]))

    return Integrand(at_point)


def jets_on_boundary(flux: BoundaryFlux) -> Integrand:
    """Minus the prescribed flux of a jet."""
    return Integrand(lambda x, n, jet: -flux.at_point(x, n, _state(jet[:, 0], jet[:, 1]))[:, None])


def _state(now: Tensor, rate: Tensor) -> Tensor:
    """(C, 1 + dx) twice -> value, gradient in space, derivative in time: (C, 1 + dx + 1)."""
    return torch.cat([now, rate[:, :1]], dim=1)
