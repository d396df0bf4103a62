"""Values with first and second derivatives along the axes, carried forward through layers: one matrix product per layer for all.

A jet at n points is one tensor (1 + d + s, n, ...): values, the d slopes, and the second derivatives of s pairs of axes. It goes
through a linear layer as it is, but for the bias, and through an activation by the chain rule. So a gradient by the weights takes
one reverse pass, where derivatives by reverse mode take it through the graphs of both differentiations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.func import jvp

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
    for k, (weight, bias) in enumerate(layers):
        own = activation if k < len(layers) - 1 else None
        jet = _Layer.apply(jet, weight, bias, own, d, pairs)
    return jet


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


class _Layer(torch.autograd.Function):
    """One layer, its activation included if it has one, with the gradient written out: automatic differentiation would take
    three times as many kernels, most of them to put slices together again.
    """

    @staticmethod
    def forward(
        ctx: Any, jet: Tensor, weight: Tensor, bias: Tensor, activation: Activation | None, d: int, pairs: Pairs
    ) -> Tensor:
        ctx.d, ctx.pairs, ctx.activation = d, pairs, activation
        z = jet @ weight.transpose(-1, -2)
        z[0] += bias if weight.ndim == 2 else bias[:, None]
        if activation is None:
            ctx.save_for_backward(jet, weight, bias)
            return z
        value, slope, bend, third = activation.jet(z[0])
        result = torch.empty_like(z)
        result[0] = value
        torch.mul(slope, z[1:], out=result[1:])
        if pairs:
            result[1 + d :].addcmul_(bend, _products(z[1 : 1 + d], pairs))
        ctx.save_for_backward(jet, weight, bias, z, slope, bend, third)
        return result

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        jet, weight, bias, *rest = ctx.saved_tensors
        if torch.is_grad_enabled():  # the gradient is going to be differentiated itself
            known = [t for t, wanted in zip((jet, weight, bias), ctx.needs_input_grad, strict=False) if wanted]
            again = _plainly(jet, weight, bias, ctx.activation, ctx.d, ctx.pairs)
            found = iter(torch.autograd.grad(again, known, g, create_graph=True))
            return (*(next(found) if wanted else None for wanted in ctx.needs_input_grad[:3]), None, None, None)
        by_z = g if ctx.activation is None else _through_activation(g, rest, ctx.d, ctx.pairs)
        if weight.ndim == 2:
            by_weight = by_z.reshape(-1, by_z.shape[-1]).T @ jet.reshape(-1, jet.shape[-1])
        else:
            by_weight = torch.einsum("mpno,mpni->poi", by_z, jet)
        by_jet = by_z @ weight if ctx.needs_input_grad[0] else None
        return by_jet, by_weight, by_z[0].sum(-2), None, None, None


def _plainly(jet: Tensor, weight: Tensor, bias: Tensor, activation: Activation | None, d: int, pairs: Pairs) -> Tensor:
    """What `_Layer` computes, for automatic differentiation."""
    z = jet @ weight.transpose(-1, -2)
    value = z[0] + (bias if weight.ndim == 2 else bias[:, None])
    if activation is None:
        return torch.cat([value[None], z[1:]])
    value, slope, bend, _ = activation.jet(value)
    second = slope * z[1 + d :]
    if pairs:
        second = second + bend * _products(z[1 : 1 + d], pairs)
    return torch.cat([value[None], slope * z[1 : 1 + d], second])


def _through_activation(g: Tensor, kept: Sequence[Tensor], d: int, pairs: Pairs) -> Tensor:
    """The gradient by what an activation sees, from that by what it gives; kept: what it saw, and its derivatives there."""
    z, slope, bend, third = kept
    result = torch.empty_like(z)
    torch.mul(slope, g[1:], out=result[1:])
    result[0] = slope * g[0] + bend * (z[1:] * g[1:]).sum(0)
    if pairs:
        first, second = z[1 : 1 + d], g[1 + d :]
        result[0].addcmul_(third, (_products(first, pairs) * second).sum(0))
        bent = bend * second
        axes = _straight(pairs)
        if axes is not None:
            result[1 + axes.start : 1 + axes.stop].addcmul_(bent, first[axes], value=2.0)
            return result
        for k, (i, j) in enumerate(pairs):
            result[1 + i].addcmul_(bent[k], first[j])
            result[1 + j].addcmul_(bent[k], first[i])
    return result


def _products(first: Tensor, pairs: Pairs) -> Tensor:
    """Of the slopes along both axes of each pair."""
    axes = _straight(pairs)
    return first[axes] ** 2 if axes is not None else torch.stack([first[i] * first[j] for i, j in pairs])


def _straight(pairs: Pairs) -> slice | None:
    """The axes, where pairs are (i, i) of neighbouring ones: then they are taken without a loop."""
    first = pairs[0][0]
    return slice(first, first + len(pairs)) if all(p == (first + k,) * 2 for k, p in enumerate(pairs)) else None
