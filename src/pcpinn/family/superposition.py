"""Families whose answers are affine in their parameters: all of them are sums of K + 1 functions.

That is so where the matrix is the same for all parameters and the right side is affine in them: sources, fluxes and prescribed
values as sums over coefficients. It is measured, not asked for.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import PcpinnError
from .alike import matrix_is_the_same, right_side_is_affine
from .anchors import Anchors
from .settled import settled
from .system import System

_SETTLED = 1e-7  # relative size of the last correction: what is left after it is far less
_GRID = 2000  # points of a distribution function


def answers_are_affine(system: System, seed: int = 0) -> bool:
    """Whether A is the same for all scaled parameters z, and b affine in z, as far as a few pairs of them show."""
    return system.linear and linear_part_is_affine(system, seed)


def linear_part_is_affine(system: System, seed: int = 0) -> bool:
    """The same of the linear part of a family that may be nonlinear."""
    return matrix_is_the_same(system, seed) and right_side_is_affine(system, seed)


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

    def at(self, z: Tensor) -> Tensor:
        """Solutions (S, N) for scaled parameters (S, K)."""
        return self.v[0] + ((z - self.mean.to(z)) / self.std.to(z)).to(self.v) @ self.v[1:]

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
    """By preconditioned residuals of K + 1 problems of one matrix: with P exact one correction each, else a few.

    Raises:
        PcpinnError: where corrections do not settle.
    """
    parameters = system.family
    grid = (torch.arange(_GRID, dtype=torch.float64) + 0.5) / _GRID
    drawn = parameters.draw(grid[:, None].expand(-1, parameters.count))
    empty = Superposition(drawn.mean(0), drawn.std(0, correction=0), torch.empty(0))
    z = empty.design
    found = settled(system, anchors, z)
    if not float(found.last.max()) <= _SETTLED:
        raise PcpinnError(
            f"corrections with the shared P do not settle: the last was {float(found.last.max()):.1e} of a solution",
            "give preconditioner=lu, or more krylov_steps",
        )
    return Superposition(empty.mean, empty.std, torch.cat([found.u[:1], found.u[1:] - found.u[:1]]))
