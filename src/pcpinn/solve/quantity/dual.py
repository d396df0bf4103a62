"""What cells contribute to the difference of a quantity between two discretisations, by its adjoint problem.

With A^T z = dJ/du on the finer discretisation, J of the coarser solution differs from J of the finer one by z . r, r the residual
of the coarser solution there. Galerkin orthogonality lets z less its interpolant take the place of z, which makes the
contributions local. A quantity that is itself the residual tested with w has w - z as its dual solution, which is smooth where
neither is.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch

from ...discretize.discrete_equation import DiscreteEquation
from ...discretize.transfer import prolongation
from ..adapt.level import Level, local_products, to_cells
from .functional import Functional


class Duals:
    """The adjoint problems of a level; its matrix is inverted once."""

    def __init__(self, level: Level) -> None:
        self.level = level
        self._equation = equation = DiscreteEquation(level.fine)
        self._inverse = level.inverses.of(equation.linearise(level.better).A)
        self._residual = equation.residual(level.prolonged)
        coarse, fine = level.coarse.space, level.fine.space
        self._up: sp.csr_matrix = prolongation(coarse, fine)
        self._down: sp.csr_matrix = prolongation(fine, coarse)

    def contributions(self, functional: Functional) -> np.ndarray:
        """(k, c) of the cells of the coarser mesh, with their signs."""
        level, slopes = self.level, self._slopes(functional)
        tests = functional.tests(level.fine) or [np.zeros(level.fine.size)] * len(slopes)
        return np.array([self._by_cell(slope, w) for slope, w in zip(slopes, tests, strict=True)])

    def sizes(self, functional: Functional) -> np.ndarray:
        """(k,) what rounding is a part of: slopes by degrees of freedom, times the largest of these by component."""
        level, of = self.level, self.level.fine.space.unknown_components
        largest = np.zeros(int(of.max()) + 1)
        np.maximum.at(largest, of, np.abs(level.better))
        return np.array([np.abs(slope) @ largest[of] for slope in self._slopes(functional)])

    def _slopes(self, functional: Functional) -> list[np.ndarray]:
        u = torch.from_numpy(self.level.better.copy()).requires_grad_()
        return [_slope(v, u) for v in functional(self.level.fine, u)[0]]

    def _by_cell(self, slope: np.ndarray, w: np.ndarray) -> np.ndarray:
        z = self._inverse.apply_transpose(slope)
        products = local_products(self._equation, z, self._residual, self._up, self._down, w)
        return to_cells(self.level.fine, self.level.mesh, products)


def _slope(value: torch.Tensor, u: torch.Tensor) -> np.ndarray:
    """dJ/du (N,); zero for what does not depend on u."""
    if not value.requires_grad:
        return np.zeros(len(u))
    (found,) = torch.autograd.grad(value, u, retain_graph=True, allow_unused=True)
    return np.zeros(len(u)) if found is None else found.numpy()
