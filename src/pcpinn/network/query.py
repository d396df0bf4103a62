"""Values of a perceptron and nothing else, as queries of a trained one want them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .activations import ACTIVATIONS, Activation


@torch.no_grad()
def propagated(layers: Sequence[tuple[Tensor, Tensor]], activation: Activation, encoded: Tensor) -> Tensor:
    """Layers (weight, bias), the last one linear, on encoded points (n, f): (n, outputs), without derivatives.

    In the precision of the points. On a CPU tanh z is 2 (sigmoid(2 z) - 1/2), for a third of the time and up to rounding; both
    factors of two go into the products, where they are exact.
    """
    by_sigmoid = activation is ACTIVATIONS["tanh"] and encoded.device.type == "cpu"
    a, inner = encoded, 1.0
    *hidden, last = ((w.to(a), b.to(a)) for w, b in layers)
    for w, b in hidden:
        if by_sigmoid:
            a = torch.addmm(b, a, w.T, beta=2.0, alpha=2.0 * inner).sigmoid_().sub_(0.5)
            inner = 2.0
        else:
            a = activation.value(torch.addmm(b, a, w.T))
    return torch.addmm(last[1], a, last[0].T, alpha=inner)
