"""flux and source with time derivatives of the state, for discretisations that treat time apart from space.

The jet of a field at a point is (2, 1 + dx): value and gradient in space, and the derivatives of both in time.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.func import jacfwd, jvp, vmap

from ..errors import PcpinnError
from .batches import Batch
from .pointwise import Pointwise, guard


class Jets:
    """The PDE of a problem on batches of points (x, t) and jets.

    Args:
        pointwise: the PDE.
        strong: differentiate the flux through time (then source and flux in space come out, (C, 1 + dx)), or hand it over to be
            tested ((C, 1 + dx + 1)).
    """

    def __init__(self, pointwise: Pointwise, strong: bool) -> None:
        self.pointwise, self.strong = pointwise, strong
        self._flows_through_time = True

    def evaluate(self, x: Tensor, jet: Tensor) -> Tensor:
        """(n, d), (n, C, 2, 1 + dx) -> (n, C, 1 + dx [+ 1])."""
        return guard(vmap(self.at_point), x, jet)

    def jacobian(self, x: Tensor, jet: Tensor) -> Tensor:
        """(n, C, 1 + dx [+ 1], C, 2, 1 + dx)."""
        return guard(vmap(jacfwd(self.at_point, argnums=1)), x, jet)

    def check_first_order(self, x: Tensor) -> None:
        """Refuse a flux through time that holds u_t or gradients, at points x (n, d): it cannot be stepped.

        Raises:
            PcpinnError: with what to write instead.
        """
        zero = torch.zeros(
            len(x), self.pointwise.problem.components, 1 + self.pointwise.problem.domain.dimension, dtype=x.dtype
        )
        through_time = self.pointwise.jacobian(x, zero)[:, :, -1]  # (n, C, C, 1 + d)
        random = torch.randn(zero.shape, generator=torch.Generator().manual_seed(0), dtype=x.dtype)
        self._flows_through_time = bool(self.pointwise.evaluate(x, random)[:, :, -1].any())
        if bool(through_time[..., 1:].any()):
            raise PcpinnError(
                "the flux through time depends on derivatives: the equation is of second order in time",
                "use time_scheme=simplex with Cauchy and Open, or write two fields: u_t = v, v_t = ...",
            )

    def at_point(self, x: Tensor, jet: Tensor) -> Tensor:
        """The same at one point."""
        state = _state(jet[:, 0], jet[:, 1])
        if not self.strong:
            return self.pointwise.at_point(x, state)
        if not self._flows_through_time:
            return self.pointwise.at_point(x, state)[:, :-1]
        forward = torch.zeros_like(x)
        forward[-1] = 1.0
        direction = (forward, _state(jet[:, 1], torch.zeros_like(jet[:, 1])))
        # The flux through time holds no u_t (see check_first_order), so u_tt does not matter.
        out, rate = jvp(self.pointwise.at_point, (x, state), direction)  # type: ignore[misc]
        # source - div flux = source - d/dt (flux through time) - div (flux in space)
        return torch.cat([out[:, :1] - rate[:, -1:], out[:, 1:-1]], dim=1)


def _state(now: Tensor, rate: Tensor) -> Tensor:
    """(C, 1 + dx) twice -> value, gradient in space, derivative in time: (C, 1 + dx + 1)."""
    return torch.cat([now, rate[:, :1]], dim=1)


def boundary_state(batch: Batch, jet: list[Tensor]) -> Tensor:
    """State (m, C, 1 + d) on facets from unknowns of a layer and their rates."""
    now, rate = batch.state(jet[0]), batch.state(jet[1])
    return torch.cat([now, rate[..., :1]], dim=2)


def boundary_jacobian(jacobian: Tensor) -> list[Tensor]:
    """(..., C, 1 + d) by the state -> by value and gradient in space (..., C, 1 + dx), and by their rates."""
    rate = torch.zeros_like(jacobian[..., :-1])
    rate[..., 0] = jacobian[..., -1]
    return [jacobian[..., :-1], rate]
