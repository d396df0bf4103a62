"""The stationary Navier-Stokes equations in two dimensions, as ns2d-c and ns2d-cg have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..problem.field import Field, Local

FIELDS = (Field("u", components=2), Field("p", lower=1))  # Taylor-Hood: the pressure is one degree below the velocity


def momentum_flux(nu: float) -> Callable[..., Any]:
    """nu grad u - p I for the velocity, none for the pressure."""

    def flux(x: torch.Tensor, u: Local, p: Local) -> tuple[torch.Tensor, None]:
        return nu * u.grad - p.value * torch.eye(2, dtype=x.dtype, device=x.device), None

    return flux


def convection(x: torch.Tensor, u: Local, p: Local) -> tuple[torch.Tensor, torch.Tensor]:
    """(u . grad) u for the velocity, div u for the pressure."""
    return u.grad @ u.value, u.grad[0, 0] + u.grad[1, 1]
