"""The paper's three families of problems: wave, Helmholtz, Burgers, with its ansatz for each."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..catalog import burgers1d, helmholtz2d, wave1d
from .family import Family


def _wave_distance(x: Tensor, C: Tensor) -> Tensor:
    return x[0] * (8 - x[0]) / 16 * (x[1] * (12 - x[1])) ** 2 / 256


def _helmholtz_distance(x: Tensor, A: Tensor) -> Tensor:
    return 16 * x[0] * (1 - x[0]) * x[1] * (1 - x[1])


def _helmholtz_lift(x: Tensor, A: Tensor) -> Tensor:
    return (1 - _helmholtz_distance(x, A)) * helmholtz2d.solution(x, A)


def _burgers_distance(x: Tensor, nu: Tensor) -> Tensor:
    return (1 - x[0]) * (1 + x[0]) * (1 - torch.exp(-x[1]))


def _burgers_lift(x: Tensor, nu: Tensor) -> Tensor:
    return torch.exp(-x[1]) * burgers1d.initial(x)


WAVE = Family(wave1d.ENTRY, lambda x, C: wave1d.initial(x), _wave_distance, wave1d.exact)
HELMHOLTZ = Family(helmholtz2d.ENTRY, _helmholtz_lift, _helmholtz_distance, helmholtz2d.exact)
BURGERS = Family(burgers1d.ENTRY, _burgers_lift, _burgers_distance, burgers1d.exact)
FAMILIES = {"wave": WAVE, "helmholtz": HELMHOLTZ, "burgers": BURGERS}


def paper_values(name: str) -> list[float]:
    """The paper's sweep of a family's parameter."""
    if name == "wave":
        return [round(1.1 + 0.1 * k, 1) for k in range(40)]
    if name == "helmholtz":
        return [float(k) for k in range(1, 21)]
    return [float(v) for v in np.logspace(-2, 0, 21)]
