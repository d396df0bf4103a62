"""Jets with slopes of second derivatives through tanh, one kernel each way, for NVIDIA GPUs with Triton: see sloped.py.

With f', f'', ... the derivatives of tanh, L = sum c_ij z_ij, p = sum c_ij z_i z_j and

    B_k = z_k L + sum c_ij (z_ik z_j + z_jk z_i),

    T_k = f' t_k + f'' B_k + f''' z_k p

is what comes out of the third derivatives t_k; for the rest see tanh_jets.py. Axes of the sum come as one number, as in
tanh_kernels.py; the second derivative along i <= j is row 1 + d + i (2 d - i - 1) / 2 + j.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import torch
from torch import Tensor

from .seconds import Seconds
from .tanh_kernels import code_of, there, weights_of

try:
    import triton
    import triton.language as tl
    from triton.language.extra.cuda.libdevice import tanh
except ImportError:  # torch for CPUs comes without
    triton = None

_BLOCK = 512

__all__ = ["backward", "forward", "there"]


def forward(z: Tensor, bias: Tensor, d: int, seconds: Seconds) -> Tensor:
    """The jet of tanh(z + bias), of that of z (m, n, w); bias (w,)."""
    (n, w), result = z.shape[-2:], torch.empty_like(z)
    weights = weights_of(seconds, z.device, z.dtype)
    _forward[(-(-n * w // _BLOCK),)](z, bias, result, weights, n * w, w, d, *code_of(seconds), _BLOCK)
    return result


def backward(z: Tensor, bias: Tensor, g: Tensor, d: int, seconds: Seconds) -> Tensor:
    """The gradient by z, from that by the jet that comes out."""
    (n, w), result = z.shape[-2:], torch.empty_like(z)
    weights = weights_of(seconds, z.device, z.dtype)
    _backward[(-(-n * w // _BLOCK),)](z, bias, g.contiguous(), result, weights, n * w, w, d, *code_of(seconds), _BLOCK)
    return result


if triton is not None:

    @triton.jit
    def _second(z, row, i: tl.constexpr, j: tl.constexpr, D: tl.constexpr, inside):
        """z_ij, whichever of them is larger."""
        if i <= j:
            found = tl.load(z + row * (1 + D + (i * (2 * D - i - 1)) // 2 + j), inside)
        else:
            found = tl.load(z + row * (1 + D + (j * (2 * D - j - 1)) // 2 + i), inside)
        return found

    @triton.jit
    def _sums(z, weights, row, D: tl.constexpr, K: tl.constexpr, PAIRS: tl.constexpr, inside):
        """L and p."""
        total = tl.zeros_like(tl.load(z, inside))
        squares = tl.zeros_like(total)
        for k in tl.static_range(K):
            c = tl.load(weights + k)
            si = tl.load(z + row * (1 + ((PAIRS >> (6 * k)) & 7)), inside)
            sj = tl.load(z + row * (1 + ((PAIRS >> (6 * k + 3)) & 7)), inside)
            total += c * _second(z, row, (PAIRS >> (6 * k)) & 7, (PAIRS >> (6 * k + 3)) & 7, D, inside)
            squares += c * (si * sj)
        return total, squares

    @triton.jit
    def _bent(z, weights, row, total, a: tl.constexpr, D: tl.constexpr, K: tl.constexpr, PAIRS: tl.constexpr, inside):
        """B_a."""
        found = tl.load(z + row * (1 + a), inside) * total
        for k in tl.static_range(K):
            c = tl.load(weights + k)
            si = tl.load(z + row * (1 + ((PAIRS >> (6 * k)) & 7)), inside)
            sj = tl.load(z + row * (1 + ((PAIRS >> (6 * k + 3)) & 7)), inside)
            found += c * (_second(z, row, (PAIRS >> (6 * k)) & 7, a, D, inside) * sj)
            found += c * (_second(z, row, (PAIRS >> (6 * k + 3)) & 7, a, D, inside) * si)
        return found

    @triton.jit
    def _begun(z, bias, row, width, BLOCK: tl.constexpr):
        """Where this block is and what of it lies within the row; tanh there, and its first three derivatives."""
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        inside = at < row
        y = tanh(tl.load(z + at, inside) + tl.load(bias + at % width, inside))
        f1 = 1 - y * y
        return at, inside, y, f1, -2 * y * f1, f1 * (4 - 6 * f1)

    @triton.jit
    def _forward(
        z, bias, result, weights, row, width,
        D: tl.constexpr, K: tl.constexpr, PAIRS: tl.constexpr, BLOCK: tl.constexpr,
    ):  # fmt: skip
        at, inside, y, f1, f2, f3 = _begun(z, bias, row, width, BLOCK)
        own = z + at
        out = result + at
        total, squares = _sums(own, weights, row, D, K, PAIRS, inside)
        tl.store(out, y, inside)
        for i in tl.static_range(D):
            s = tl.load(own + row * (1 + i), inside)
            tl.store(out + row * (1 + i), f1 * s, inside)
            for j in tl.static_range(i, D):
                h = tl.load(own + row * (1 + D + (i * (2 * D - i - 1)) // 2 + j), inside)
                sj = tl.load(own + row * (1 + j), inside)
                tl.store(out + row * (1 + D + (i * (2 * D - i - 1)) // 2 + j), f1 * h + f2 * (s * sj), inside)
            t = tl.load(own + row * (1 + D + (D * (D + 1)) // 2 + i), inside)
            bent = _bent(own, weights, row, total, i, D, K, PAIRS, inside)
            tl.store(out + row * (1 + D + (D * (D + 1)) // 2 + i), f1 * t + f2 * bent + f3 * (s * squares), inside)

    @triton.jit
    def _backward(
        z, bias, g, result, weights, row, width,
        D: tl.constexpr, K: tl.constexpr, PAIRS: tl.constexpr, BLOCK: tl.constexpr,
    ):  # fmt: skip
        at, inside, y, f1, f2, f3 = _begun(z, bias, row, width, BLOCK)
        own = z + at
        by = g + at
        out = result + at
        f4 = f2 * (4 - 12 * f1)
        total, squares = _sums(own, weights, row, D, K, PAIRS, inside)
        third = by + row * (1 + D + (D * (D + 1)) // 2)
        u = tl.zeros_like(y)
        for a in tl.static_range(D):
            u += tl.load(third + row * a, inside) * tl.load(own + row * (1 + a), inside)
        value = f1 * tl.load(by, inside) + f4 * (u * squares)
        for i in tl.static_range(D):
            s = tl.load(own + row * (1 + i), inside)
            gs = tl.load(by + row * (1 + i), inside)
            gt = tl.load(third + row * i, inside)
            t = tl.load(own + row * (1 + D + (D * (D + 1)) // 2 + i), inside)
            bent = _bent(own, weights, row, total, i, D, K, PAIRS, inside)
            value += f2 * (s * gs) + gt * (f2 * t + f3 * bent)
            tl.store(out + row * (1 + D + (D * (D + 1)) // 2 + i), f1 * gt, inside)
            slope = f1 * gs + gt * (f2 * total + f3 * squares)
            for j in tl.static_range(D):
                sj = tl.load(own + row * (1 + j), inside)
                gh = _second(by, row, i, j, D, inside)
                if i == j:
                    slope += 2 * f2 * (s * gh)
                else:
                    slope += f2 * (sj * gh)
                if i <= j:
                    h = _second(own, row, i, j, D, inside)
                    value += gh * (f2 * h + f3 * (s * sj))
                    second = tl.zeros_like(y)
                    for k in tl.static_range(K):
                        c = tl.load(weights + k)
                        sa = tl.load(own + row * (1 + ((PAIRS >> (6 * k)) & 7)), inside)
                        sb = tl.load(own + row * (1 + ((PAIRS >> (6 * k + 3)) & 7)), inside)
                        if ((PAIRS >> (6 * k)) & 7) == i and ((PAIRS >> (6 * k + 3)) & 7) == j:
                            second += c * u
                        if ((PAIRS >> (6 * k)) & 7) == i:
                            second += c * (sb * tl.load(third + row * j, inside))
                        if ((PAIRS >> (6 * k)) & 7) == j and i != j:
                            second += c * (sb * gt)
                        if ((PAIRS >> (6 * k + 3)) & 7) == i:
                            second += c * (sa * tl.load(third + row * j, inside))
                        if ((PAIRS >> (6 * k + 3)) & 7) == j and i != j:
                            second += c * (sa * gt)
                    tl.store(out + row * (1 + D + (i * (2 * D - i - 1)) // 2 + j), f1 * gh + f2 * second, inside)
            for k in tl.static_range(K):
                c = tl.load(weights + k)
                sa = tl.load(own + row * (1 + ((PAIRS >> (6 * k)) & 7)), inside)
                sb = tl.load(own + row * (1 + ((PAIRS >> (6 * k + 3)) & 7)), inside)
                if ((PAIRS >> (6 * k)) & 7) == i:
                    slope += c * (f3 * (u * sb))
                    for a in tl.static_range(D):
                        h = _second(own, row, (PAIRS >> (6 * k + 3)) & 7, a, D, inside)
                        slope += c * (f2 * (h * tl.load(third + row * a, inside)))
                if ((PAIRS >> (6 * k + 3)) & 7) == i:
                    slope += c * (f3 * (u * sa))
                    for a in tl.static_range(D):
                        h = _second(own, row, (PAIRS >> (6 * k)) & 7, a, D, inside)
                        slope += c * (f2 * (h * tl.load(third + row * a, inside)))
            tl.store(out + row * (1 + i), slope, inside)
        tl.store(out, value, inside)
