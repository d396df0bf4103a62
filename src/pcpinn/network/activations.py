"""Activation functions with their derivatives, which the layer-by-layer Jacobian and jets need."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

Jet = tuple[Tensor, Tensor, Tensor, Tensor]


@dataclass(frozen=True)
class Activation:
    """A smooth function and its derivative, elementwise.

    Attributes:
        value: differentiable any number of times, in forward mode too.
        derivative: of it.
        fused: the same function as one kernel, to be differentiated in reverse mode only.
        jet: value and first three derivatives at once.
    """

    value: Callable[[Tensor], Tensor]
    derivative: Callable[[Tensor], Tensor]
    fused: Callable[[Tensor], Tensor]
    jet: Callable[[Tensor], Jet]


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


def _tanh_jet(z: Tensor) -> Jet:
    a = torch.tanh(z)
    slope = 1 - a * a
    return a, slope, -2 * a * slope, slope * (4 - 6 * slope)


def _silu_jet(z: Tensor) -> Jet:
    s = torch.sigmoid(z)
    p, q = s * (1 - s), 1 - 2 * s
    return z * s, s + z * p, p * (2 + z * q), p * (3 * q + z * (q**2 - 2 * p))


def _gelu_jet(z: Tensor) -> Jet:
    below, density = 0.5 * (1 + torch.erf(z / math.sqrt(2))), torch.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    return z * below, below + z * density, (2 - z**2) * density, z * (z**2 - 4) * density


def _sin_jet(z: Tensor) -> Jet:
    a, b = torch.sin(z), torch.cos(z)
    return a, b, -a, -b


def _exp_jet(z: Tensor) -> Jet:
    a = torch.exp(z)
    return a, a, a, a


ACTIVATIONS = {
    "tanh": Activation(torch.tanh, _tanh_derivative, torch.tanh, _tanh_jet),
    # Written out: torch's own silu and gelu have no second derivative in forward mode, which Gauss-Newton's acceleration takes.
    "silu": Activation(_silu, _silu_derivative, functional.silu, _silu_jet),
    "gelu": Activation(_gelu, _gelu_derivative, functional.gelu, _gelu_jet),
    "sin": Activation(torch.sin, torch.cos, torch.sin, _sin_jet),
    "exp": Activation(torch.exp, torch.exp, torch.exp, _exp_jet),  # of radial units: see radial.py
}
