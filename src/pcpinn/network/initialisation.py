"""Initial weights of a layer, by name."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import init

Fill = Callable[[Tensor, torch.Generator], Tensor]

_WEIGHTS: dict[str, Fill] = {
    "torch": lambda w, g: init.kaiming_uniform_(w, a=math.sqrt(5), generator=g),
    "glorot-normal": lambda w, g: init.xavier_normal_(w, generator=g),
    "glorot-uniform": lambda w, g: init.xavier_uniform_(w, generator=g),
    "he-normal": lambda w, g: init.kaiming_normal_(w, generator=g),
    "he-uniform": lambda w, g: init.kaiming_uniform_(w, generator=g),
    "cells": lambda w, g: init.xavier_normal_(w, generator=g),  # the first layer follows the mesh: see centred.py
    "radial": lambda w, g: init.xavier_normal_(w, generator=g),  # so does the only one: see radial.py
    "spread": lambda w, g: _spread(w, g),
}
_STEEP = 2.0  # slope of a unit of "spread", with inputs from -1 to 1
INITIALISATIONS = tuple(_WEIGHTS)


def _spread(weight: Tensor, generator: torch.Generator) -> Tensor:
    """Random directions, from half as steep as usual to one and a half times."""
    init.normal_(weight, generator=generator)
    steep = _STEEP * (0.5 + torch.rand(len(weight), 1, generator=generator, dtype=weight.dtype))
    return weight.mul_(steep / weight.norm(dim=1, keepdim=True).clamp(min=1e-12))


def initialise_layer(weight: Tensor, bias: Tensor, how: str, generator: torch.Generator) -> None:
    """Fill weight (out, in) and bias (out,) in place; biases are zero except for torch's own default and spread."""
    _WEIGHTS[how](weight, generator)
    if how == "torch":
        bound = 1 / math.sqrt(weight.shape[1])
        bias.uniform_(-bound, bound, generator=generator)
    elif how == "spread":  # the steepest place of each unit is anywhere in the box of what it sees
        centre = 2 * torch.rand(weight.shape, generator=generator, dtype=weight.dtype) - 1
        bias.copy_(-(weight * centre).sum(1))
    else:
        bias.zero_()
