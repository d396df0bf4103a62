"""Values with first and second derivatives along the axes, carried forward through layers: one matrix product per layer for all.

A jet at n points is one tensor (1 + d + s, n, ...): values, the d slopes, and s rows of second derivatives (`Seconds`). It goes
through a linear layer as it is, but for the bias, and through an activation by the chain rule. So a gradient by the weights takes
one reverse pass, where derivatives by reverse mode take it through the graphs of both differentiations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.func import jvp, vmap

from . import tanh_jets
from .activations import ACTIVATIONS, Activation
from .seconds import Seconds

Layers = Sequence[tuple[Tensor, Tensor]]
"""Weight (..., out, in) and bias (..., out) of each."""


@torch.no_grad()
def jet_of(function: Callable[[Tensor], Tensor], x: Tensor, seconds: Seconds) -> Tensor:
    """The jet of a function of points x (n, d), row by row, that has no weights: to be computed once."""
    x = x.detach()

    axes = torch.eye(x.shape[1]).to(x)

    def slope(along: Tensor, at: Tensor) -> Tensor:
        return jvp(function, (at,), (along.expand_as(at),))[1]

    value, first = function(x), vmap(slope, in_dims=(0, None))(axes, x)
    second = [torch.zeros_like(value) for _ in range(seconds.rows)]
    for k, i, j, c in seconds.terms:
        second[k] += c * jvp(lambda at, i=i: slope(axes[i], at), (x,), (axes[j].expand_as(x),))[1]
    return torch.stack([value, *first, *second])


def through_layers(jet: Tensor, layers: Layers, activation: Activation, d: int, seconds: Seconds) -> Tensor:
    """The jet of a perceptron, of that of its inputs (m, ..., n, in): (m, ..., n, out)."""
    jet = jet.movedim(0, -3)  # of each of several networks together: their products of matrices are then one
    for k, (weight, bias) in enumerate(layers):
        own = activation if k < len(layers) - 1 else None
        jet = _Layer.apply(jet, weight, bias, own, d, seconds)
    return jet.movedim(-3, 0)


def times(a: Tensor, b: Tensor, d: int, seconds: Seconds) -> Tensor:
    """The jet of a product, by Leibniz' rule."""
    first = a[0] * b[1 : 1 + d] + a[1 : 1 + d] * b[0]
    second = a[0] * b[1 + d :] + a[1 + d :] * b[0]
    crossed: list[Tensor | float] = [0.0] * seconds.rows
    for k, i, j, c in seconds.terms:
        crossed[k] = crossed[k] + c * (a[1 + i] * b[1 + j] + a[1 + j] * b[1 + i])
    rows = [second[k] + row for k, row in enumerate(crossed)]
    return torch.cat([(a[0] * b[0])[None], first, *(row[None] for row in rows)])


def rescaled(jet: Tensor, half_width: Tensor, seconds: Seconds) -> Tensor:
    """Derivatives by coordinates, of those by coordinates in units of half_width (d,); a sum has its units in its weights."""
    one = half_width.new_ones(1)
    squares = [one] if seconds.summed else [half_width[i : i + 1] * half_width[j : j + 1] for i, j in seconds.pairs]
    return jet / torch.cat([one, half_width, *squares]).reshape(-1, *[1] * (jet.ndim - 1))


class _Layer(torch.autograd.Function):
    """One layer, its activation included if it has one, with the gradient written out: automatic differentiation would take
    three times as many kernels, most of them to put slices together again. Jets are (..., m, n, in) here.
    """

    @staticmethod
    def forward(
        ctx: Any, jet: Tensor, weight: Tensor, bias: Tensor, activation: Activation | None, d: int, seconds: Seconds
    ) -> Tensor:
        ctx.d, ctx.seconds, ctx.activation = d, seconds, activation
        z = (jet.flatten(-3, -2) @ weight.transpose(-1, -2)).unflatten(-2, jet.shape[-3:-1])
        if activation is ACTIVATIONS["tanh"]:
            result = tanh_jets.ways(z).forward(z, bias, d, seconds)
            ctx.save_for_backward(jet, weight, bias, result)
            return result
        z.select(-3, 0).add_(bias.unsqueeze(-2))
        if activation is None:
            ctx.save_for_backward(jet, weight, bias)
            return z
        value, slope, bend, third = activation.jet(z.select(-3, 0))
        result, rest = torch.empty_like(z), z.shape[-3] - 1
        result.select(-3, 0).copy_(value)
        torch.mul(slope.unsqueeze(-3), z.narrow(-3, 1, rest), out=result.narrow(-3, 1, rest))
        if seconds.rows:
            by_pairs = result.narrow(-3, 1 + d, seconds.rows)
            by_pairs.addcmul_(bend.unsqueeze(-3), seconds.products(z.narrow(-3, 1, d)))
        ctx.save_for_backward(jet, weight, bias, z, slope, bend, third)
        return result

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        jet, weight, bias, *rest = ctx.saved_tensors
        if torch.is_grad_enabled():  # the gradient is going to be differentiated itself
            known = [t for t, wanted in zip((jet, weight, bias), ctx.needs_input_grad, strict=False) if wanted]
            again = _plainly(jet, weight, bias, ctx.activation, ctx.d, ctx.seconds)
            found = iter(torch.autograd.grad(again, known, g, create_graph=True))
            return (*(next(found) if wanted else None for wanted in ctx.needs_input_grad[:3]), None, None, None)
        if ctx.activation is None:
            by_z = g
        elif len(rest) == 1:
            by_z = tanh_jets.ways(g).backward(rest[0], g, ctx.d, ctx.seconds)
        else:
            by_z = _through_activation(g, rest, ctx.d, ctx.seconds)
        rows = by_z.flatten(-3, -2)
        by_weight = rows.transpose(-1, -2) @ jet.flatten(-3, -2)
        by_jet = (rows @ weight).unflatten(-2, jet.shape[-3:-1]) if ctx.needs_input_grad[0] else None
        return by_jet, by_weight, by_z.select(-3, 0).sum(-2), None, None, None


def _plainly(
    jet: Tensor, weight: Tensor, bias: Tensor, activation: Activation | None, d: int, seconds: Seconds
) -> Tensor:
    """What `_Layer` computes, for automatic differentiation."""
    z = (jet.flatten(-3, -2) @ weight.transpose(-1, -2)).unflatten(-2, jet.shape[-3:-1])
    value = z.select(-3, 0) + bias.unsqueeze(-2)
    if activation is None:
        return torch.cat([value.unsqueeze(-3), z.narrow(-3, 1, z.shape[-3] - 1)], dim=-3)
    value, slope, bend, _ = (part.unsqueeze(-3) for part in activation.jet(value))
    first = z.narrow(-3, 1, d)
    second = slope * z.narrow(-3, 1 + d, seconds.rows)
    if seconds.rows:
        second = second + bend * seconds.products(first)
    return torch.cat([value, slope * first, second], dim=-3)


def _through_activation(g: Tensor, kept: Sequence[Tensor], d: int, seconds: Seconds) -> Tensor:
    """The gradient by what an activation sees, from that by what it gives; kept: what it saw, and its derivatives there."""
    z, slope, bend, third = kept
    result, rest = slope.unsqueeze(-3) * g, z.shape[-3] - 1
    value = result.select(-3, 0)
    value.addcmul_(bend, (z.narrow(-3, 1, rest) * g.narrow(-3, 1, rest)).sum(-3))
    if seconds.rows:
        first, second = z.narrow(-3, 1, d), g.narrow(-3, 1 + d, seconds.rows)
        value.addcmul_(third, (seconds.products(first) * second).sum(-3))
        bent = bend.unsqueeze(-3) * second
        for k, i, j, c in seconds.terms:
            result.select(-3, 1 + i).addcmul_(bent.select(-3, k), first.select(-3, j), value=c)
            result.select(-3, 1 + j).addcmul_(bent.select(-3, k), first.select(-3, i), value=c)
    return result
