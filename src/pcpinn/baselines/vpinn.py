"""vPINN (hp-VPINN, Kharazmi et al. 2021): the weak residual against polynomials on a grid of subdomains.

The grid covers the box around the domain. Where the boundary cuts through a subdomain no test function fits; there the points
inside keep the strong form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from ..errors import PcpinnError
from ..mesh.slab_mesh import AnyMesh
from ..problem.problem import Problem
from ..problem.shape_base import Domain
from ..solve.method import LOSSES, METHODS
from ..strong.form import strong_residual
from ..strong.weak_cells import WeakCells
from .recipe import Collocation
from .strong_method import strong_method


@LOSSES.register
@dataclass(frozen=True)
class VPINN(Collocation):
    """The weak form against products of Legendre polynomials on a grid of subdomains.

    Attributes:
        tests: test functions along each axis of a subdomain; Gauss points are twice as many.
        subdomains: along each axis; by default so many that there are about `collocation` Gauss points.
    """

    tests: int = 5
    subdomains: int | None = None

    name: ClassVar[str] = "vpinn"
    positive: ClassVar[tuple[str, ...]] = (*Collocation.positive, "tests", "subdomains")

    def equations(self, problem: Problem, mesh: AnyMesh, like: Tensor) -> WeakEquations:
        """The weak residual in place of the strong one."""
        d, nodes = mesh.dimension, 2 * self.tests
        usual = max(1, round((self.collocation / nodes**d) ** (1 / d)))
        return WeakEquations(problem, *mesh.bounds, self.subdomains or usual, self.tests, nodes, like)


class WeakEquations:
    """The residual of the equations as a function of the loss: weak in whole subdomains, strong at points elsewhere.

    The sum of squares approximates the mean square of the residual's projection onto the test functions.

    Attributes:
        cells: subdomains that lie in the domain.
    """

    def __init__(
        self,
        problem: Problem,
        lower: np.ndarray,
        upper: np.ndarray,
        subdomains: int,
        tests: int,
        nodes: int,
        like: Tensor,
    ) -> None:
        if not isinstance(problem.domain, Domain):
            raise PcpinnError(
                "vpinn needs a domain made of shapes, not a mesh", "build it of shapes, or use method=pinn"
            )
        d, side = len(lower), (upper - lower) / subdomains
        index = np.stack(np.meshgrid(*[np.arange(subdomains)] * d, indexing="ij"), axis=-1).reshape(-1, d)
        corners = lower + index * side
        line = np.linspace(0, 1, 2 * nodes + 1)
        probes = np.stack(np.meshgrid(*[line] * d, indexing="ij"), axis=-1).reshape(-1, d)
        inside = problem.domain.contains((corners[:, None] + probes * side).reshape(-1, d))
        whole = np.asarray(inside.reshape(len(corners), -1).all(1))
        kept, sides = (torch.as_tensor(a).to(like) for a in (corners[whole], side))
        self.cells = WeakCells(kept, sides, tests, nodes)
        self._grid = (lower, side, whole.reshape([subdomains] * d))
        self._elsewhere: dict[int, Tensor] = {}

    def __call__(self, loss: Any) -> Tensor:
        """(m,), point by point after subdomain by subdomain."""
        parts, x = [], self._outside(loss)
        share = len(x) / len(loss.points)
        if len(self.cells.lower):
            weak = self.cells.residual(loss.pointwise, loss.seen)
            parts.append(weak.reshape(-1) * ((1 - share) / self.cells.volume) ** 0.5)
        if len(x):
            strong = strong_residual(loss.pointwise, loss.seen, x)
            parts.append(strong.reshape(-1) * len(loss.points) ** -0.5)
        return torch.cat(parts)

    def describe(self) -> dict[str, Any]:
        """Facts for the report."""
        return {"subdomains": len(self.cells.lower), "tests": self.cells.tests, "gauss_points": len(self.cells.points)}

    def _outside(self, loss: Any) -> Tensor:
        """The points inside the domain that lie in no whole subdomain."""
        if loss.layout not in self._elsewhere:
            lower, side, whole = self._grid
            at = np.floor((loss.points.detach().double().cpu().numpy() - lower) / side).astype(int)
            at = np.clip(at, 0, len(whole) - 1)
            outside = torch.as_tensor(~whole[tuple(at.T)], device=loss.points.device)
            self._elsewhere = {loss.layout: loss.points[outside]}
        return self._elsewhere[loss.layout]


METHODS.register(strong_method("vpinn", VPINN()))
