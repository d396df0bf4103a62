"""Jets through tanh as one kernel each way, for NVIDIA GPUs with Triton: see tanh_jets.py, which says what they compute.

Written by hand, since the time goes into moving numbers: each row of a jet is read once and written once. Pairs of axes come
as one number, three bits an axis, so that a kernel is made for them and holds no loop.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

from .seconds import Seconds

try:
    import triton
    import triton.language as tl
    from triton.language.extra.cuda.libdevice import tanh
except ImportError:  # torch for CPUs comes without
    triton = None

_BLOCK = 1024  # numbers of each row that a block of threads takes
_MOST = 10  # pairs that fit into one number


def there() -> bool:
    """Whether Triton is installed."""
    return triton is not None


def forward(z: Tensor, bias: Tensor, d: int, seconds: Seconds) -> Tensor:
    """As `tanh_jets.forward`: in place."""
    n, w = z.shape[-2:]
    _forward[_grid(z)](
        z, bias, weights_of(seconds, z.device, z.dtype), n * w, w, d, *code_of(seconds), seconds.summed, _BLOCK
    )
    return z


def backward(jet: Tensor, g: Tensor, d: int, seconds: Seconds) -> Tensor:
    """As `tanh_jets.backward`."""
    (n, w), result = jet.shape[-2:], torch.empty_like(jet)
    weights = weights_of(seconds, jet.device, jet.dtype)
    _backward[_grid(jet)](jet, g.contiguous(), result, weights, n * w, d, *code_of(seconds), seconds.summed, _BLOCK)
    return result


def _grid(z: Tensor) -> tuple[int, int]:
    m, n, w = z.shape[-3:]
    return -(-n * w // _BLOCK), z.numel() // (m * n * w)


def code_of(seconds: Seconds) -> tuple[int, int]:
    """Number of pairs, and their axes as one number."""
    if len(seconds.pairs) > _MOST:
        raise ValueError(f"{len(seconds.pairs)} pairs of axes")
    return len(seconds.pairs), sum((i | j << 3) << 6 * k for k, (i, j) in enumerate(seconds.pairs))


@cache
def weights_of(seconds: Seconds, device: torch.device, dtype: torch.dtype) -> Tensor:
    """On the device once and for all: while a graph is captured nothing can be copied there."""
    return torch.tensor(seconds.weights or (1.0,), dtype=dtype, device=device)


if triton is not None:

    @triton.jit
    def _forward(
        z,
        bias,
        weights,
        row,
        width,
        D: tl.constexpr,
        K: tl.constexpr,
        PAIRS: tl.constexpr,
        SUM: tl.constexpr,
        BLOCK: tl.constexpr,
    ):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        inside = at < row
        part = tl.program_id(1).to(tl.int64)
        own = z + part * row * (1 + D + (1 if SUM else K)) + at
        last = own + row * (1 + D)
        y = tanh(tl.load(own, inside) + tl.load(bias + part * width + at % width, inside))
        first = 1 - y * y
        tl.store(own, y, inside)
        total = tl.zeros_like(y)
        for k in tl.static_range(K):  # before the slopes, which are overwritten
            si = tl.load(own + row * (1 + ((PAIRS >> (6 * k)) & 7)), inside)
            sj = tl.load(own + row * (1 + ((PAIRS >> (6 * k + 3)) & 7)), inside)
            if SUM:
                total += tl.load(weights + k) * (si * sj)
            else:
                q = tl.load(last + row * k, inside)
                tl.store(last + row * k, first * (q - 2 * y * (si * sj)), inside)
        if SUM:
            q = tl.load(last, inside)
            tl.store(last, first * (q - 2 * y * total), inside)
        for i in tl.static_range(D):
            s = tl.load(own + row * (1 + i), inside)
            tl.store(own + row * (1 + i), first * s, inside)

    @triton.jit
    def _backward(
        jet,
        g,
        result,
        weights,
        row,
        D: tl.constexpr,
        K: tl.constexpr,
        PAIRS: tl.constexpr,
        SUM: tl.constexpr,
        BLOCK: tl.constexpr,
    ):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        inside = at < row
        start = tl.program_id(1).to(tl.int64) * row * (1 + D + (1 if SUM else K)) + at
        last = start + row * (1 + D)
        y = tl.load(jet + start, inside)
        first = 1 - y * y
        inner = tl.zeros_like(y)
        for k in tl.static_range(1 if SUM else K):
            gq = tl.load(g + last + row * k, inside)
            inner += y * tl.load(jet + last + row * k, inside) * gq
            tl.store(result + last + row * k, first * gq, inside)
        for k in tl.static_range(K):
            si = tl.load(jet + start + row * (1 + ((PAIRS >> (6 * k)) & 7)), inside)
            sj = tl.load(jet + start + row * (1 + ((PAIRS >> (6 * k + 3)) & 7)), inside)
            if SUM:
                inner += tl.load(weights + k) * (si * sj) * tl.load(g + last, inside)
            else:
                inner += (si * sj) * tl.load(g + last + row * k, inside)
        for i in tl.static_range(D):
            gs = tl.load(g + start + row * (1 + i), inside)
            inner += y * tl.load(jet + start + row * (1 + i), inside) * gs
            bent = tl.zeros_like(y)
            for k in tl.static_range(K):
                if ((PAIRS >> (6 * k)) & 7) == i or ((PAIRS >> (6 * k + 3)) & 7) == i:
                    if SUM:
                        gq = tl.load(weights + k) * tl.load(g + last, inside)
                    else:
                        gq = tl.load(g + last + row * k, inside)
                    if ((PAIRS >> (6 * k)) & 7) == i:
                        bent += gq * tl.load(jet + start + row * (1 + ((PAIRS >> (6 * k + 3)) & 7)), inside)
                    if ((PAIRS >> (6 * k + 3)) & 7) == i:
                        bent += gq * tl.load(jet + start + row * (1 + ((PAIRS >> (6 * k)) & 7)), inside)
            tl.store(result + start + row * (1 + i), first * gs - 2 * y * bent, inside)
        gy = tl.load(g + start, inside)
        tl.store(result + start, first * gy - 2 * inner, inside)
