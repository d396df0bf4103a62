"""Values with first and second derivatives along the axes, carried forward through layers: one matrix product per layer for all.

A jet at n points is one tensor (1 + d + s, n, ...): values, the d slopes, and the second derivatives of s pairs of axes. It goes
through a linear layer as it is, but for the bias, and through an activation by the chain rule. So a gradient by the weights takes
one reverse pass, where derivatives by reverse mode take it through the graphs of both differentiations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.func import jvp
from torch.nn import functional

from .activations import Activation

Pairs = tuple[tuple[int, int], ...]
"""Axes (i, j), i <= j, of the second derivatives in a jet, in order."""

Layers = Sequence[tuple[Tensor, Tensor]]
"""Weight (..., out, in) and bias (..., out) of each."""


def all_pairs(d: int) -> Pairs:
    """Those of every second derivative in d dimensions."""
    return tuple((i, j) for i in range(d) for j in range(i, d))


@torch.no_grad()
def jet_of(function: Callable[[Tensor], Tensor], x: Tensor, pairs: Pairs) -> Tensor:
    """The jet of a function of points x (n, d), row by row, that has no weights: to be computed once."""
    x = x.detach()

    def along(axis: int) -> Tensor:
        direction = torch.zeros_like(x)
        direction[:, axis] = 1.0
        return direction

    def slope(axis: int, at: Tensor) -> Tensor:
        return jvp(function, (at,), (along(axis),))[1]

    first = [slope(i, x) for i in range(x.shape[1])]
    second = [jvp(lambda at, i=i: slope(i, at), (x,), (along(j),))[1] for i, j in pairs]
    return torch.stack([function(x), *first, *second])


def through_layers(jet: Tensor, layers: Layers, activation: Activation, d: int, pairs: Pairs) -> Tensor:
    """The jet of a perceptron, of that of its inputs (m, ..., n, in): (m, ..., n, out)."""
    *hidden, last = layers
    for weight, bias in hidden:
        jet = _activated(_linear(jet, weight, bias), activation, d, pairs)
    return _linear(jet, *last)


def times(a: Tensor, b: Tensor, d: int, pairs: Pairs) -> Tensor:
    """The jet of a product, by Leibniz' rule."""
    first = a[0] * b[1 : 1 + d] + a[1 : 1 + d] * b[0]
    second = [
        a[0] * b[1 + d + k] + a[1 + i] * b[1 + j] + a[1 + j] * b[1 + i] + a[1 + d + k] * b[0]
        for k, (i, j) in enumerate(pairs)
    ]
    return torch.cat([(a[0] * b[0])[None], first, *(part[None] for part in second)])


def rescaled(jet: Tensor, half_width: Tensor, pairs: Pairs) -> Tensor:
    """Derivatives by coordinates, of those by coordinates in units of half_width (d,)."""
    units = [half_width.new_ones(1), half_width, *(half_width[i : i + 1] * half_width[j : j + 1] for i, j in pairs)]
    return jet / torch.cat(units).reshape(-1, *[1] * (jet.ndim - 1))


def _linear(jet: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    if weight.ndim == 2:
        moved = functional.linear(jet, weight)
        return torch.cat([moved[:1] + bias, moved[1:]])
    moved = jet @ weight.transpose(-1, -2)
    return torch.cat([moved[:1] + bias[:, None], moved[1:]])


def _activated(jet: Tensor, activation: Activation, d: int, pairs: Pairs) -> Tensor:
    value, slope, bend = activation.jet(jet[0])
    rest = slope * jet[1:]
    if not pairs:
        return torch.cat([value[None], rest])
    return torch.cat([value[None], rest[:d], rest[d:] + bend * _products(jet[1 : 1 + d], pairs)])


def _products(first: Tensor, pairs: Pairs) -> Tensor:
    """Of the slopes along both axes of each pair."""
    axes = [i for i, _ in pairs]
    if all(i == j for i, j in pairs) and axes == list(range(axes[0], axes[0] + len(axes))):
        return first[axes[0] : axes[0] + len(axes)] ** 2
    return torch.stack([first[i] * first[j] for i, j in pairs])
