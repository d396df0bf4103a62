"""The first layer of a branch where parameters are functions: units that look at the function at places of their own.

Coefficients of a basis go in, and what an answer depends on is often what the function is somewhere: its sign, or whether it is
large. A unit whose weights are the basis at one place sees that at once; one of random weights has to find it.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .family import Family
from .parameters import Distribution

_SLOPES = 1.0, 4.0  # of units, in standard deviations of the function
_SMALL = 0.2  # of the largest deviation: functions do not vary at places where they are smaller
_GRID = 2000  # points of a distribution function


def sensing_layer(family: Family, places: Tensor, weight: Tensor, bias: Tensor, seed: int) -> int:
    """Overwrite units of a first layer, weight (w, K) and bias (w,); returns how many, 0 where no parameter is a function.

    Units are dealt out in proportion to numbers of coefficients; those of plain numbers stay as they are.

    Args:
        family: of the parameters.
        places: (n, d) where there is something to look at.
        weight, bias: of the layer.
        seed: of the slopes.
    """
    generator = torch.Generator().manual_seed(seed)
    grid = (torch.arange(_GRID, dtype=torch.float64) + 0.5) / _GRID
    drawn = family.draw(grid[:, None].expand(-1, family.count))
    mean, std = drawn.mean(0), drawn.std(0)
    at, unit = 0, len(weight) / family.count
    for name, parameter in family.parameters.items():
        if isinstance(parameter, Distribution):
            continue
        columns = family.columns[name]
        coefficients = range(family.count)[columns]
        units = round(unit * len(coefficients))
        distribution = parameter.distribution

        def function(z: Tensor, p: object = parameter, d: Distribution = distribution) -> Tensor:
            return torch.func.vmap(p.given(d.value(z)))(places)  # type: ignore[attr-defined]

        rows = torch.func.jacfwd(function)(mean[columns])  # (n, k)
        deviation = (rows * std[columns]).norm(dim=1)
        worth = (deviation > _SMALL * deviation.max()).nonzero()[:, 0]
        if not len(worth):
            continue
        chosen = worth[apart(places[worth], units)]
        low, high = (math.log(s) for s in _SLOPES)
        slope = torch.exp(low + (high - low) * torch.rand(units, generator=generator, dtype=torch.float64))
        own = rows[chosen] * (slope / deviation[chosen])[:, None]
        weight[at : at + units] = 0
        weight[at : at + units, columns] = own.to(weight)
        bias[at : at + units] = -(own @ mean[columns]).to(bias)
        at += units
    return at


def apart(places: Tensor, count: int) -> Tensor:
    """Numbers of `count` places, each the farthest from those before; from the first again if there are not so many."""
    chosen = [int((places - places.mean(0)).norm(dim=1).argmin())]
    distance = (places - places[chosen[0]]).norm(dim=1)
    while len(chosen) < min(count, len(places)):
        chosen.append(int(distance.argmax()))
        distance = torch.minimum(distance, (places - places[chosen[-1]]).norm(dim=1))
    return torch.tensor(chosen).repeat(-(-count // len(chosen)))[:count]
