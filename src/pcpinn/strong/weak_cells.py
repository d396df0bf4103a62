"""The weak residual of a network on the cells of a grid, tested with polynomials, by Gauss quadrature.

In each cell the test functions are products of v_k = P_{k+1} - P_{k-1}, k = 1, 2, ..., differences of Legendre polynomials that
vanish at both ends, each divided by its L2 norm. As they vanish on the boundary of the cell,

    integral of (source - div flux) v = integral of source v + flux . grad v,

and over time the flux through time is -density: no second derivative of the network is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.polynomial import legendre
from torch import Tensor

from ..discretize.pointwise import Pointwise
from .form import weight_state_at


@dataclass(frozen=True)
class WeakCells:
    """Cells of a regular grid, all of one size.

    Attributes:
        lower: (E, d) lower corners.
        sides: (d,) lengths of the sides.
        tests, nodes: test functions and Gauss points along each axis.
    """

    lower: Tensor
    sides: Tensor
    tests: int
    nodes: int

    @cached_property
    def points(self) -> Tensor:
        """(E q^d, d) Gauss points, cell by cell."""
        line = torch.as_tensor((legendre.leggauss(self.nodes)[0] + 1) / 2).to(self.lower)
        d = self.lower.shape[1]
        grid = torch.cartesian_prod(*[line] * d).reshape(-1, d)
        return (self.lower[:, None] + grid * self.sides).reshape(-1, d)

    @cached_property
    def volume(self) -> float:
        """Of all cells together."""
        return float(self.sides.prod()) * len(self.lower)

    def residual(self, pointwise: Pointwise, network: Callable[[Tensor], Tensor]) -> Tensor:
        """(E, K^d, C) integrals against all test functions, differentiable in the network's weights."""
        x = self.points
        out = pointwise.evaluate(x.double(), weight_state_at(network, x).double())
        count, d = self.lower.shape
        cells = out.reshape(count, *[self.nodes] * d, *out.shape[1:])  # (E, q, ..., q, C, 1 + d)
        values, slopes = self._tables
        total = _tested(cells[..., 0], values)
        for axis in range(d):
            along = [slopes[a] if a == axis else values[a] for a in range(d)]
            total = total + _tested(cells[..., 1 + axis], along)
        return total.reshape(count, -1, out.shape[1]).to(x.dtype)

    @cached_property
    def _tables(self) -> tuple[list[Tensor], list[Tensor]]:
        """For each axis (K, q), float64: quadrature weights times test functions, and times their derivatives."""
        x, w = legendre.leggauss(self.nodes)
        values, slopes = [], []
        for k in range(1, self.tests + 1):
            v = np.zeros(k + 2)
            v[k + 1], v[k - 1] = 1.0, -1.0
            norm = np.sqrt(2 / (2 * k + 3) + 2 / (2 * k - 1))
            values.append(w * legendre.legval(x, v) / norm)
            slopes.append(w * legendre.legval(x, legendre.legder(v)) / norm)
        halves = [float(side) / 2 for side in self.sides]
        value, slope = (torch.as_tensor(np.array(table), device=self.lower.device) for table in (values, slopes))
        return [value * h**0.5 for h in halves], [slope * h**-0.5 for h in halves]


def _tested(f: Tensor, tables: list[Tensor]) -> Tensor:
    """Contract axes 1, 2, ... of f (E, q, ..., q, C) with tables (K, q): (E, K, ..., K, C)."""
    for axis, table in enumerate(tables, start=1):
        f = torch.tensordot(f, table, dims=([axis], [1])).movedim(-1, axis)
    return f
