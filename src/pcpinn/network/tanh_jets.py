"""Jets through tanh(z + bias), there and back.

With y, S, Q the value, slopes and second derivatives that come out and a = 1 - y^2,

    S_i = a z_i,    Q_ij = a (z_ij - 2 y z_i z_j),    dQ_ij / dz_i = -2 y S_j,    dQ_ij / dz = -2 (y Q_ij + S_i S_j):

all that the way back takes is what came out, which the next layer keeps anyway. Where Triton is there, each way is one kernel
on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .seconds import Seconds

_LARGEST = 2**31 - 1  # numbers that kernels count


class Ways(NamedTuple):
    """Forward and backward, in one of the forms that there are of them."""

    forward: Callable[[Tensor, Tensor, int, Seconds], Tensor]
    backward: Callable[[Tensor, Tensor, int, Seconds], Tensor]


def forward(z: Tensor, bias: Tensor, d: int, seconds: Seconds) -> Tensor:
    """The jet of tanh(z + bias) in place of that of z (..., 1 + d + s, n, w); bias (..., w)."""
    y, slopes = z.select(-3, 0), z.narrow(-3, 1, d)
    y.add_(bias.unsqueeze(-2)).tanh_()
    if seconds.rows:
        bent = z.narrow(-3, 1 + d, seconds.rows)
        bent.addcmul_(y.unsqueeze(-3), seconds.products(slopes), value=-2)
    z.narrow(-3, 1, z.shape[-3] - 1).mul_(_slope(y).unsqueeze(-3))
    return z


def backward(jet: Tensor, g: Tensor, d: int, seconds: Seconds) -> Tensor:
    """The gradient by z, from that by the jet that came out of `forward`; both as they were."""
    y, rest = jet.select(-3, 0), jet.shape[-3] - 1
    result = _slope(y).unsqueeze(-3) * g
    inner = (jet.narrow(-3, 1, rest) * g.narrow(-3, 1, rest)).sum(-3).mul_(y)
    if seconds.rows:
        slopes, second = jet.narrow(-3, 1, d), g.narrow(-3, 1 + d, seconds.rows)
        inner += (seconds.products(slopes) * second).sum(-3)
        bent, axes = y.unsqueeze(-3) * second, seconds.straight
        if axes is not None:
            own = (-3, axes.start, seconds.rows)
            result.narrow(-3, 1 + axes.start, seconds.rows).addcmul_(bent, slopes.narrow(*own), value=-4)
        else:
            for k, i, j, c in seconds.terms:
                result.select(-3, 1 + i).addcmul_(bent.select(-3, k), slopes.select(-3, j), value=-2 * c)
                result.select(-3, 1 + j).addcmul_(bent.select(-3, k), slopes.select(-3, i), value=-2 * c)
    result.select(-3, 0).sub_(inner, alpha=2)
    return result


PLAIN = Ways(forward, backward)


def ways(like: Tensor) -> Ways:
    """Those for tensors like another."""
    return PLAIN if like.device.type != "cuda" or like.numel() > _LARGEST else _fused(like.device, like.dtype)


@cache
def _fused(device: torch.device, dtype: torch.dtype) -> Ways:
    """Kernels, if they can be made there and do the same."""
    try:
        from . import tanh_kernels

        fused = Ways(tanh_kernels.forward, tanh_kernels.backward)
        return fused if tanh_kernels.there() and agree(fused, device, dtype) else PLAIN
    except Exception:  # no compiler, another Triton: whatever it is, the plain form does the same
        return PLAIN


def agree(fused: Ways, device: torch.device, dtype: torch.dtype) -> bool:
    """Whether other forms give the numbers of the plain one, to rounding, on a few jets."""
    random = torch.Generator().manual_seed(0)

    def drawn(*shape: int) -> Tensor:
        return torch.randn(shape, generator=random, dtype=torch.float64).to(device, dtype)

    near: dict[str, Any] = {"rtol": 1e2 * torch.finfo(dtype).eps, "atol": 1e2 * torch.finfo(dtype).eps}
    mixed = ((0, 0), (0, 2), (1, 1))
    for d, seconds in ((2, Seconds()), (3, Seconds(mixed)), (3, Seconds(mixed, (0.5, -1.5, 1.0)))):
        z, bias, g = drawn(2, 1 + d + seconds.rows, 5, 7), drawn(2, 7), drawn(2, 1 + d + seconds.rows, 5, 7)
        jets = [way.forward(z.clone(), bias, d, seconds) for way in (fused, PLAIN)]
        by_z = [way.backward(jet, g, d, seconds) for way, jet in zip((fused, PLAIN), jets, strict=True)]
        if not all(torch.allclose(a, b, **near) for a, b in (jets, by_z)):
            return False
    return True


def _slope(y: Tensor) -> Tensor:
    return 1 - y * y
