"""The paper's three families of problems: wave, Helmholtz, Burgers, with its ansatz for each."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..catalog import burgers1d, helmholtz2d, wave1d
from .family import Family

_SLOW, _FAST = torch.pi / 8, torch.pi / 2


def _wave_lift(x: Tensor, C: Tensor) -> Tensor:
    return torch.sin(_SLOW * x[0]) + 0.5 * torch.sin(_FAST * x[0])


def _wave_distance(x: Tensor, C: Tensor) -> Tensor:
    return x[0] * (8 - x[0]) / 16 * (x[1] * (12 - x[1])) ** 2 / 256


def _wave(x: Tensor, C: Tensor, u: Tensor, slopes: Tensor, second: Tensor) -> Tensor:
    f = _SLOW**2 * (C**2 - 1) * torch.sin(_SLOW * x[:, 0]) * torch.cos(_SLOW * x[:, 1])
    return second[:, 1] - C**2 * second[:, 0] - f


def _helmholtz_lift(x: Tensor, A: Tensor) -> Tensor:
    sides = 16 * x[0] * (1 - x[0]) * x[1] * (1 - x[1])
    return (1 - sides) * torch.sin(A * torch.pi * x[0]) * torch.sin(A * torch.pi * x[1])


def _helmholtz_distance(x: Tensor, A: Tensor) -> Tensor:
    return 16 * x[0] * (1 - x[0]) * x[1] * (1 - x[1])


def _helmholtz(x: Tensor, A: Tensor, u: Tensor, slopes: Tensor, second: Tensor) -> Tensor:
    f = (1 - 2 * torch.pi**2 * A**2) * torch.sin(A * torch.pi * x[:, 0]) * torch.sin(A * torch.pi * x[:, 1])
    return second.sum(1) + u - f


def _burgers_lift(x: Tensor, nu: Tensor) -> Tensor:
    return -torch.exp(-x[1]) * torch.sin(torch.pi * x[0])


def _burgers_distance(x: Tensor, nu: Tensor) -> Tensor:
    return (1 - x[0]) * (1 + x[0]) * (1 - torch.exp(-x[1]))


def _burgers(x: Tensor, nu: Tensor, u: Tensor, slopes: Tensor, second: Tensor) -> Tensor:
    return slopes[:, 1] + u * slopes[:, 0] - nu * second[:, 0] - torch.sin(torch.pi * x[:, 0])


WAVE = Family(
    "wave1d", "C", (0.0, 0.0), (8.0, 8.0), _wave, _wave_lift, _wave_distance,
    lambda x, C: torch.from_numpy(wave1d.exact(x.numpy(), C)),
)  # fmt: skip
HELMHOLTZ = Family(
    "helmholtz2d", "A", (0.0, 0.0), (1.0, 1.0), _helmholtz, _helmholtz_lift, _helmholtz_distance,
    lambda x, A: torch.from_numpy(helmholtz2d.exact(x.numpy(), A)),
)  # fmt: skip
BURGERS = Family(
    "burgers1d", "nu", (-1.0, 0.0), (1.0, 1.0), _burgers, _burgers_lift, _burgers_distance,
    lambda x, nu: torch.from_numpy(burgers1d.exact(x.numpy(), nu)),
)  # fmt: skip
FAMILIES = {"wave": WAVE, "helmholtz": HELMHOLTZ, "burgers": BURGERS}


def paper_values(name: str) -> list[float]:
    """The paper's sweep of a family's parameter."""
    if name == "wave":
        return [round(1.1 + 0.1 * k, 1) for k in range(40)]
    if name == "helmholtz":
        return [float(k) for k in range(1, 21)]
    return [float(v) for v in np.logspace(-2, 0, 21)]
