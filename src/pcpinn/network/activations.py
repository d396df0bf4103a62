"""Activation functions with their derivatives, which the layer-by-layer Jacobian needs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional


@dataclass(frozen=True)
class Activation:
    """A smooth function and its derivative, elementwise.

    Attributes:
        value: differentiable any number of times, in forward mode too.
        derivative: of it.
        fused: the same function as one kernel, to be differentiated in reverse mode only.
    """

    value: Callable[[Tensor], Tensor]
    derivative: Callable[[Tensor], Tensor]
    fused: Callable[[Tensor], Tensor]


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
    "tanh": Activation(torch.tanh, _tanh_derivative, torch.tanh),
    # Written out: torch's own silu and gelu have no second derivative in forward mode, which Gauss-Newton's acceleration takes.
    "silu": Activation(_silu, _silu_derivative, functional.silu),
    "gelu": Activation(_gelu, _gelu_derivative, functional.gelu),
    "sin": Activation(torch.sin, torch.cos, torch.sin),
    "exp": Activation(torch.exp, torch.exp, torch.exp),  # of radial units: see radial.py
}
