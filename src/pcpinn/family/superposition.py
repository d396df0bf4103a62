"""Families whose answers are affine in their parameters: all of them are sums of K + 1 functions.

That is so where the matrix is the same for all parameters and the right side is affine in them: sources, fluxes and prescribed
values as sums over coefficients. It is measured, not asked for.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .anchors import Anchors
from .settled import settled
from .system import System

_PAIRS = 4  # of parameters in whose middle the equations are looked at
_ROUNDING = 1e-9
_BATCH_ENTRIES = 400_000  # degrees of freedom of the systems that are assembled together
_GRID = 2000  # points of a distribution function


def answers_are_affine(system: System, seed: int = 0) -> bool:
    """Whether A is the same for all scaled parameters z, and b affine in z, as far as a few pairs of them show."""
    return system.linear and linear_part_is_affine(system, seed)


def linear_part_is_affine(system: System, seed: int = 0) -> bool:
    """The same of the linear part of a family that may be nonlinear."""
    generator = torch.Generator().manual_seed(seed)
    K = system.family.count
    first, second = 2 * torch.rand(2, _PAIRS, K, generator=generator, dtype=torch.float64) - 1
    second[0] = -first[0]
    z = torch.cat([first, second, (first + second) / 2])
    mu = system.family.value(z)
    b = system.right_side(mu).unflatten(0, (3, _PAIRS))
    probe = torch.rand(system.size, generator=generator, dtype=torch.float64).to(b)
    products = system.linearise(None, mu).apply(probe.expand(len(z), -1).contiguous())
    same = (products - products[:1]).abs().max() <= _ROUNDING * products.abs().max()
    straight = (b[2] - (b[0] + b[1]) / 2).abs().max() <= _ROUNDING * b.abs().max()
    return bool(same & straight)


@dataclass(frozen=True)
class Superposition:
    """u(z) = v_0 + sum of (z_k - mean_k) / std_k v_k at the nodes; the v are of independent parts of mean squares.

    Attributes:
        mean, std: (K,) of the scaled parameters.
        v: (K + 1, N).
    """

    mean: Tensor
    std: Tensor
    v: Tensor

    @property
    def design(self) -> Tensor:
        """(K + 1, K) scaled parameters: their mean, then one of them after the other a standard deviation away from it."""
        return torch.cat([self.mean[None], self.mean + torch.diag(self.std)])

    def rank(self, groups: list[Tensor], unit: Tensor, left: float) -> int:
        """How many functions of the place it takes to leave the part `left` of the mean square root: no network has fewer.

        Args:
            groups: degrees of freedom (C, n) of components at the same points, for each set of points.
            unit: (N,) what values are divided by.
            left: relative.
        """
        scaled, count = self.v / unit, 0
        for rows in groups:
            functions = scaled[:, rows].flatten(0, 1)
            sizes = torch.linalg.svdvals(functions) ** 2
            rest = sizes.flip(0).cumsum(0).flip(0)  # what is left without this one and all after it
            count += int((rest > left**2 * sizes.sum()).sum())
        return count


def superposition(system: System, anchors: Anchors) -> Superposition:
    """By preconditioned residuals of K + 1 problems of one matrix: with P exact one correction each, else a few."""
    parameters = system.family
    grid = (torch.arange(_GRID, dtype=torch.float64) + 0.5) / _GRID
    drawn = parameters.draw(grid[:, None].expand(-1, parameters.count))
    empty = Superposition(drawn.mean(0), drawn.std(0, correction=0), torch.empty(0))
    z = empty.design
    step = max(1, _BATCH_ENTRIES // system.size)
    u = torch.cat([settled(system, anchors, z[k : k + step]).u for k in range(0, len(z), step)])
    return Superposition(empty.mean, empty.std, torch.cat([u[:1], u[1:] - u[:1]]))
