"""Jets with the slopes of all that the equations take of them: what the gradient of a residual needs.

Beside values and slopes such a jet has all second derivatives, and the slopes of one sum of them (third derivatives), in this
order: 1 + d + d (d + 1) / 2 + d rows, in one pass for all outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.func import jvp

from .activations import ACTIVATIONS, Activation
from .jets import Layers
from .seconds import Seconds, all_pairs


def place_of(d: int, i: int, j: int) -> int:
    """The row of the second derivative along two axes."""
    return 1 + d + all_pairs(d).index((min(i, j), max(i, j)))


@torch.no_grad()
def sloped_jet_of(function: Callable[[Tensor], Tensor], x: Tensor, seconds: Seconds) -> Tensor:
    """The jet of a function of points x (n, d), row by row, that has no weights: to be computed once."""
    x, d = x.detach(), x.shape[1]

    def along(axes: tuple[int, ...], at: Tensor) -> Tensor:
        if not axes:
            return function(at)
        direction = torch.zeros_like(at)
        direction[:, axes[0]] = 1.0
        return jvp(lambda p: along(axes[1:], p), (at,), (direction,))[1]

    rows = [along((), x), *(along((i,), x) for i in range(d)), *(along(pair, x) for pair in all_pairs(d))]
    rows += [torch.stack([c * along((k, i, j), x) for _, i, j, c in seconds.terms]).sum(0) for k in range(d)]
    return torch.stack(rows)


def through_layers(jet: Tensor, layers: Layers, activation: Activation, d: int, seconds: Seconds) -> Tensor:
    """The jet of a perceptron, of that of its inputs (m, n, in): (m, n, out). `seconds` are one row."""
    for k, (weight, bias) in enumerate(layers):
        z = (jet.flatten(0, 1) @ weight.T).unflatten(0, jet.shape[:2])
        if k == len(layers) - 1:
            return torch.cat([(z[0] + bias)[None], z[1:]])
        fused = has_kernels(z, activation)
        jet = _Tanh.apply(z, bias, d, seconds) if fused else activated(z, bias, activation, d, seconds)
    return jet


def has_kernels(like: Tensor, activation: Activation) -> bool:
    """Whether an activation is one kernel each way, for jets like a tensor."""
    usual = like.device.type == "cuda" and activation is ACTIVATIONS["tanh"] and like.numel() < 2**31
    return usual and _kernels(like.device, like.dtype)


def activated(z: Tensor, bias: Tensor, activation: Activation, d: int, seconds: Seconds) -> Tensor:
    """The jet of an activation of z + bias, for automatic differentiation."""
    pairs = all_pairs(d)
    value, f1, f2, f3 = activation.jet(z[0] + bias)
    s, second, third = z[1 : 1 + d], z[1 + d : 1 + d + len(pairs)], z[1 + d + len(pairs) :]
    products = torch.stack([s[i] * s[j] for i, j in pairs])
    total, squares, bent = z.new_zeros(()), z.new_zeros(()), torch.zeros_like(s)
    for _, i, j, c in seconds.terms:
        total = total + c * z[place_of(d, i, j)]
        squares = squares + c * (s[i] * s[j])
        of_i, of_j = (torch.stack([z[place_of(d, axis, k)] for k in range(d)]) for axis in (i, j))
        bent = bent + c * (of_i * s[j] + of_j * s[i])
    thirds = f1 * third + f2 * (s * total + bent) + f3 * (s * squares)
    return torch.cat([value[None], f1 * s, f1 * second + f2 * products, thirds])


class _Tanh(torch.autograd.Function):
    """tanh as one kernel each way, to be differentiated once."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, bias: Tensor, d: int, seconds: Seconds) -> Tensor:
        from . import sloped_kernels

        ctx.d, ctx.seconds = d, seconds
        ctx.save_for_backward(z, bias)
        return sloped_kernels.forward(z, bias, d, seconds)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        from . import sloped_kernels

        z, bias = ctx.saved_tensors
        by_z = sloped_kernels.backward(z, bias, g, ctx.d, ctx.seconds)
        return by_z, by_z[0].sum(0), None, None


@cache
def _kernels(device: torch.device, dtype: torch.dtype) -> bool:
    """Whether there are kernels on the device that do the same as the plain form."""
    try:
        from . import sloped_kernels

        return sloped_kernels.there() and agree(sloped_kernels.forward, sloped_kernels.backward, device, dtype)
    except Exception:  # no compiler, another Triton: whatever it is, the plain form does the same
        return False


def agree(
    forward: Callable[..., Tensor], backward: Callable[..., Tensor], device: torch.device, dtype: torch.dtype
) -> bool:
    """Whether kernels give the numbers of the plain form and of its derivative, to rounding, on two jets."""
    random = torch.Generator().manual_seed(0)
    near: dict[str, Any] = {"rtol": 1e2 * torch.finfo(dtype).eps, "atol": 3e2 * torch.finfo(dtype).eps}
    for d, seconds in ((2, Seconds(((0, 0),))), (3, Seconds(((0, 0), (0, 2), (1, 1)), (0.5, -1.5, 1.0)))):
        m = 1 + 2 * d + len(all_pairs(d))
        z, bias, g = (
            torch.randn(shape, generator=random, dtype=torch.float64).to(device, dtype)
            for shape in ((m, 5, 7), (7,), (m, 5, 7))
        )
        z.requires_grad_()
        plain = activated(z, bias, ACTIVATIONS["tanh"], d, seconds)
        (by_z,) = torch.autograd.grad(plain, z, g)
        z = z.detach()
        if not torch.allclose(forward(z, bias, d, seconds), plain.detach(), **near):
            return False
        if not torch.allclose(backward(z, bias, g, d, seconds), by_z, **near):
            return False
    return True
