"""Networks of tanh with their slopes and second derivatives along the axes, carried forward through the layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor


def network_values(layers: Sequence[tuple[Tensor, Tensor]], x: Tensor) -> Tensor:
    """A network of tanh at points (n, 2): (n,)."""
    a = x
    for weight, bias in layers[:-1]:
        a = torch.tanh(a @ weight.T + bias)
    weight, bias = layers[-1]
    return (a @ weight.T + bias)[:, 0]


def network_jets(layers: Sequence[tuple[Tensor, Tensor]], x: Tensor) -> Tensor:
    """Value, slopes and second derivatives along the axes at points (n, 2): (5, n), carried forward through the layers."""
    weight, bias = layers[0]
    z = x @ weight.T + bias
    slopes = weight.T[:, None, :].expand(2, *z.shape)
    second = torch.zeros_like(slopes)
    for weight, bias in layers[1:]:
        y, slopes, second = TanhJets.apply(z, slopes, second)
        z = y @ weight.T + bias
        slopes, second = slopes @ weight.T, second @ weight.T
    return torch.cat([z[None], slopes, second])[..., 0]


class TanhJets(torch.autograd.Function):
    """tanh of values (..., n, w) with slopes and second derivatives (..., 2, n, w); its outputs are all its derivative needs."""

    @staticmethod
    def forward(z: Tensor, slopes: Tensor, second: Tensor) -> tuple[Tensor, Tensor, Tensor]:  # noqa: D102
        return _pointwise(z.device.type)[0](z, slopes, second)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:  # noqa: D102
        ctx.save_for_backward(*output)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:  # noqa: D102
        return _pointwise(gradients[0].device.type)[1](*ctx.saved_tensors, *gradients)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Tensor) -> tuple[Any, tuple[int, int, int]]:
        """The networks become the first dimension: nothing here minds more of them."""
        first = [
            x.unsqueeze(0).expand(info.batch_size, *x.shape) if at is None else x.movedim(at, 0)
            for x, at in zip(inputs, in_dims, strict=True)
        ]
        return TanhJets.apply(*first), (0, 0, 0)


Pointwise = Callable[..., tuple[Tensor, Tensor, Tensor]]


def _forward(z: Tensor, slopes: Tensor, second: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    value = torch.tanh(z)
    y = value.unsqueeze(-3)
    first = 1 - y * y
    S = first * slopes
    return value, S, first * second - 2 * y * S * slopes


def _backward(value: Tensor, S: Tensor, Q: Tensor, g: Tensor, gS: Tensor, gQ: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    y = value.unsqueeze(-3)
    first, SgQ = 1 - y * y, S * gQ
    inner = (y * (S * gS + Q * gQ) + S * SgQ).sum(-3)
    return first.squeeze(-3) * g - 2 * inner, first * gS - 4 * y * SgQ, first * gQ


@cache
def _pointwise(device: str) -> tuple[Pointwise, Pointwise]:
    """Both directions; on a GPU each as one kernel, if torch can compile there: they are limited by memory's speed."""
    if device != "cuda":
        return _forward, _backward
    try:
        fused: tuple[Pointwise, Pointwise] = torch.compile(_forward), torch.compile(_backward)
        probe = torch.zeros(2, 3, 4, device=device), torch.zeros(2, 2, 3, 4, device=device)
        outputs = fused[0](probe[0], probe[1], probe[1])
        fused[1](*outputs, *outputs)
    except Exception:  # no Triton, no compiler, another torch: whatever it is, the plain form does the same
        return _forward, _backward
    return fused
