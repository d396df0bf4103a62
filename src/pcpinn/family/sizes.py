"""Sizes of answers that vary over powers of ten with the parameters: a factor that coordinates are divided by.

With conductivities or loads on a log scale one answer is a thousand times as large as another, and a relative error of each is
asked for. A branch that has to give both is wrong by what does not matter for the large ones. The logarithm of a size is smooth
where coordinates are steep: a polynomial of the parameters, one after the other, is enough to leave coordinates of one size.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..network.trunk_branch import powers
from .system import System

_VARIES = math.log(2.0)  # deviation of the logarithm of sizes that is worth it
_WRONG, _LEFT = (
    1.0,
    0.4,
)  # of a logarithm at any answer, and of its deviation: answers that pass through zero have no factor
_PER_NUMBER = 3  # answers for each number of the polynomial
_APART = 8  # one answer in so many is kept apart

Sizes = tuple[Tensor, Tensor]  # weight (F, 3 K) and bias (F,) of the logarithm of each field's size


def sizes_of(system: System, z: Tensor, u: Tensor, usual: Tensor) -> Sizes | None:
    """The logarithm of sizes of fields in answers u (S, N), relative to usual ones (F,); None where it hardly varies, or jumps.

    Args:
        system: of the answers.
        z: scaled parameters (S, K).
        u: answers.
        usual: sizes that coordinates are relative to.
    """
    size = system.sizes(u) / usual
    design = powers(z.to(size))
    apart = torch.arange(len(u), device=u.device) % _APART == _APART - 1
    if not bool((size > 0).all()) or len(u) < _PER_NUMBER * (design.shape[1] + 1):
        return None
    wanted, with_one = size.log(), torch.cat([design, torch.ones_like(design[:, :1])], 1)
    found = torch.linalg.lstsq(with_one[~apart], wanted[~apart]).solution  # (3 K + 1, F)
    off = with_one @ found - wanted
    told = (off.abs().amax(0) <= _WRONG) & (off[apart].square().mean(0).sqrt() <= _LEFT * wanted.std(0))
    varies = (wanted.std(0) > _VARIES) & told
    if not bool(varies.any()):
        return None
    found = torch.where(varies, found, 0.0)
    return found[:-1].T.contiguous(), found[-1].contiguous()


def factors(sizes: Sizes | None, z: Tensor, fields: int) -> Tensor:
    """(S, F) factors for scaled parameters (S, K); one where there are none."""
    if sizes is None:
        return z.new_ones(len(z), fields)
    weight, bias = sizes
    return torch.nn.functional.linear(powers(z.to(weight)), weight, bias).exp()
