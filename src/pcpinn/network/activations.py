"""Activation functions with their derivatives, which the layer-by-layer Jacobian needs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Activation:
    """A smooth function and its derivative, elementwise."""

    value: Callable[[Tensor], Tensor]
    derivative: Callable[[Tensor], Tensor]


def _tanh_derivative(z: Tensor) -> Tensor:
    return 1 - torch.tanh(z) ** 2


def _silu(z: Tensor) -> Tensor:
    return z * torch.sigmoid(z)


def _silu_derivative(z: Tensor) -> Tensor:
    s = torch.sigmoid(z)
    return s * (1 + z * (1 - s))


def _gelu(z: Tensor) -> Tensor:
    return 0.5 * z * (1 + torch.erf(z / math.sqrt(2)))


def _gelu_derivative(z: Tensor) -> Tensor:
    return 0.5 * (1 + torch.erf(z / math.sqrt(2))) + z * torch.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)


ACTIVATIONS = {
    "tanh": Activation(torch.tanh, _tanh_derivative),
    # Written out: torch's own silu and gelu have no second derivative in forward mode, which Gauss-Newton's acceleration takes.
    "silu": Activation(_silu, _silu_derivative),
    "gelu": Activation(_gelu, _gelu_derivative),
    "sin": Activation(torch.sin, torch.cos),
}
