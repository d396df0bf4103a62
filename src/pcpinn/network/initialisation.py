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
}
INITIALISATIONS = tuple(_WEIGHTS)


def initialise_layer(weight: Tensor, bias: Tensor, how: str, generator: torch.Generator) -> None:
    """Fill weight (out, in) and bias (out,) in place; biases are zero except for torch's own default."""
    _WEIGHTS[how](weight, generator)
    if how == "torch":
        bound = 1 / math.sqrt(weight.shape[1])
        bias.uniform_(-bound, bound, generator=generator)
    else:
        bias.zero_()
