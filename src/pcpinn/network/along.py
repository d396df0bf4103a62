"""Second derivatives of a perceptron along a change of its weights: what bends the path of a Gauss-Newton step."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import linear

from .activations import Activation


@torch.no_grad()
def second_along(
    layers: Sequence[tuple[Tensor, Tensor]],
    change: Sequence[tuple[Tensor, Tensor]],
    activation: Activation,
    encoded: Tensor,
) -> Tensor:
    """d^2/dt^2 of a perceptron with the weights layers + t change, t = 0: (n, outputs).

    Values, first and second derivatives by t go through the layers together. Forward mode over forward mode finds the same,
    and takes several times as long: it multiplies by tangents that are zero, too.

    Args:
        layers, change: (weight, bias) of each layer, two at least; the last one is linear.
        activation: after each but the last.
        encoded: (n, in) what the first layer sees.
    """
    (w, c), (dw, dc) = layers[0], change[0]
    a, slope, curvature, _ = activation.jet(linear(encoded, w, c))
    first = linear(encoded, dw, dc)
    first, second = slope * first, curvature * first**2
    for (w, c), (dw, dc) in zip(layers[1:-1], change[1:-1], strict=True):
        z1, z2 = linear(first, w) + linear(a, dw, dc), linear(second, w) + 2 * linear(first, dw)
        a, slope, curvature, _ = activation.jet(linear(a, w, c))
        first, second = slope * z1, curvature * z1**2 + slope * z2
    return linear(second, layers[-1][0]) + 2 * linear(first, change[-1][0])
