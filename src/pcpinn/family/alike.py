"""What does not change with the parameters, or changes evenly: looked at, not asked for.

Rows of equations may have units far apart, such as 1e11 Pa beside 1 W/(m K): each row of a matrix is compared with itself, and
right sides with those of the same field.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .system import System

_PAIRS = 4  # of parameters in whose middle the equations are looked at
_ROUNDING = 1e-9


def matrix_is_the_same(system: System, seed: int = 0) -> bool:
    """Whether A, of the linear part, is the same for all scaled parameters, as far as a few of them show."""
    z = _with_middles(system, seed)
    random = torch.Generator().manual_seed(seed + 1)
    probe = (0.5 + torch.rand(system.size, generator=random, dtype=torch.float64)).to(system.device)
    products = system.linearise(None, system.family.value(z)).apply(probe.expand(len(z), -1).contiguous())
    return bool(((products - products[:1]).abs() <= _ROUNDING * products.abs().amax(0)).all())


def right_side_is_affine(system: System, seed: int = 0) -> bool:
    """Whether b is affine in z, as far as a few pairs of parameters show."""
    b = system.right_side(system.family.value(_with_middles(system, seed))).unflatten(0, (3, _PAIRS))
    off, size = (b[2] - (b[0] + b[1]) / 2).abs().amax(0), b.abs().amax((0, 1))
    return bool((off <= _ROUNDING * _largest_of_its_kind(system, size)).all())


def _largest_of_its_kind(system: System, size: Tensor) -> Tensor:
    """(N,) the largest of sizes (N,) of rows of the same field, those of prescribed values apart."""
    kind = 2 * system.field_of
    kind[system.constrained] += 1
    largest = size.new_zeros(int(kind.max()) + 1).scatter_reduce(0, kind, size, "amax")
    return largest[kind]


def _with_middles(system: System, seed: int) -> Tensor:
    """Pairs of scaled parameters, some of them corners, and the middle of each: firsts, seconds, middles (3 pairs, K)."""
    generator = torch.Generator().manual_seed(seed)
    first, second = 2 * torch.rand(2, _PAIRS, system.family.count, generator=generator, dtype=torch.float64) - 1
    second[0] = -first[0]
    first[1], second[1] = first[1].sign(), second[1].sign()
    return torch.cat([first, second, (first + second) / 2])
