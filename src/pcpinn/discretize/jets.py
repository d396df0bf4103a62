"""The PDE with time derivatives of the whole state, for discretisations that treat time apart from space.

The jet of a field at a point is (2, 1 + dx): value and gradient in space, and the derivatives of both in time.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.func import jacfwd, vmap

from .batches import Batch
from .pointwise import Pointwise, guard


class Jets:
    """The PDE of a problem on batches of points (x, t) and jets.

    Args:
        pointwise: the PDE.
        strong: the rate of the density is known from the jet (then source and flux in space come out, (C, 1 + dx)); if not,
            fluxes through time are handed over to be tested ((C, 1 + dx + 1)).
    """

    def __init__(self, pointwise: Pointwise, strong: bool) -> None:
        self.pointwise, self.strong = pointwise, strong

    def evaluate(self, x: Tensor, jet: Tensor) -> Tensor:
        """(n, d), (n, C, 2, 1 + dx) -> (n, C, 1 + dx [+ 1])."""
        return guard(vmap(self.at_point), x, jet)

    def jacobian(self, x: Tensor, jet: Tensor) -> Tensor:
        """(n, C, 1 + dx [+ 1], C, 2, 1 + dx)."""
        return guard(vmap(jacfwd(self.at_point, argnums=1)), x, jet)

    def at_point(self, x: Tensor, jet: Tensor) -> Tensor:
        """The same at one point."""
        if self.strong:
            # Equations that are stepped are of first order in time (see time_orders), so u_tt does not matter.
            return self.pointwise.in_space(x, jet)
        return self.pointwise.at_point(x, torch.cat([jet[:, 0], jet[:, 1, :1]], dim=1))


def boundary_state(batch: Batch, jet: list[Tensor]) -> Tensor:
    """State (m, C, 1 + d) on facets from degrees of freedom of a time level and their rates."""
    now, rate = batch.state(jet[0]), batch.state(jet[1])
    return torch.cat([now, rate[..., :1]], dim=2)


def boundary_jacobian(jacobian: Tensor) -> list[Tensor]:
    """(..., C, 1 + d) by the state -> by value and gradient in space (..., C, 1 + dx), and by their rates."""
    rate = torch.zeros_like(jacobian[..., :-1])
    rate[..., 0] = jacobian[..., -1]
    return [jacobian[..., :-1], rate]
