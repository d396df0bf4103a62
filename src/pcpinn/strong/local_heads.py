"""Derivatives of residuals at points by the weights of a last layer, all at once.

A residual at a point knows the last layer only through the network's value and derivatives there. With weights of its own at each
point one gradient of the sum of all residuals is the whole Jacobian, a row for each, where columns take one gradient each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ..network.dense import DenseNetwork


class LocalHeads:
    """A network whose last layer has weights of its own at each point.

    Attributes:
        weights: (n, p) of each call, p those of the last layer.
    """

    def __init__(self, network: DenseNetwork) -> None:
        self._network, self.weights = network, list[Tensor]()

    def __call__(self, x: Tensor) -> Tensor:
        """(n, d) -> (n, outputs)."""
        network = self._network
        theta = network.theta.detach()
        seen = network.hidden(theta, network.encode(x))
        own = theta[-network.head_size :].expand(len(x), -1).clone().requires_grad_()
        self.weights.append(own)
        shape = (len(x), network.outputs, seen.shape[1])
        matrix, bias = own[:, : -network.outputs].view(shape), own[:, -network.outputs :]
        return (torch.einsum("nw,ncw->nc", seen, matrix) + bias) * network.output_scale


def head_rows(
    residual: Callable[[Any], Tensor], network: DenseNetwork, shape: tuple[int, int, int]
) -> tuple[Tensor, Tensor]:
    """Residuals (m,) and their derivatives by the last layer (m, p).

    Args:
        residual: of a network that it may evaluate several times, always at as many points.
        network: the network.
        shape: (a, n, c) of the residuals: kinds, points, components.
    """
    heads = LocalHeads(network)
    r = residual(heads)
    kinds, points, components = shape
    by_point = r.view(shape)
    J = r.new_empty(*shape, network.head_size)
    for a in range(kinds):
        for c in range(components):
            total = by_point[a, :, c].sum()
            rows = torch.autograd.grad(total, heads.weights, retain_graph=True, allow_unused=True)
            J[a, :, c] = torch.stack([own for own in rows if own is not None]).sum(0)
    return r.detach(), J.view(kinds * points * components, -1)
