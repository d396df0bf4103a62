"""The linear system A u = b that the network is trained on, boundary conditions built in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
import torch

from ..errors import PcpinnError
from .balance import refuse_unbalanced
from .discrete_equation import DiscreteEquation, eliminate
from .discretisation import Discretisation, check_functions
from .equation import Nodes
from .linear_solves import solve_sparse
from .not_finite import not_finite
from .singular import refuse_singular
from .slabs import TimeSlabs

_ROUNDING = 1e-11  # of the terms of an equation; far above what assembly leaves (1e-15), far below any nonlinearity that matters


@dataclass(frozen=True)
class LinearSystem:
    """A u = b over *all* nodes.

    Constrained rows say u_i = value (Dirichlet) or u_i - u_j = 0 (periodic), so the network sees the boundary
    nodes too; their columns are eliminated from the other rows, which keeps a symmetric problem symmetric.

    Attributes:
        equation: what it is the system of, or a linearisation of.
        A: (N, N) sparse matrix.
        b: (N,) right-hand side.
    """

    equation: DiscreteEquation
    A: sp.csr_matrix
    b: np.ndarray

    @property
    def discretisation(self) -> Discretisation:
        """Of the equation."""
        return self.equation.discretisation

    @property
    def nodes(self) -> Nodes:
        """Where the degrees of freedom sit."""
        return self.equation.nodes

    @property
    def weights(self) -> np.ndarray:
        """(N,) of a discrete L2 norm."""
        return self.equation.weights

    @property
    def size(self) -> int:
        """Number of degrees of freedom N."""
        return len(self.b)

    def norm(self, u: np.ndarray) -> float:
        """Discrete L2 norm of (N,) degrees of freedom."""
        return self.equation.norm(u)

    def exact_at(self, u: np.ndarray, F: np.ndarray | None = None) -> bool:
        """Whether the equation is this system at u (N,) but for rounding: F(u) = A u - b; F(u) may be given."""
        F = self.equation.residual(u) if F is None else F
        terms = abs(self.A) @ abs(u) + abs(self.b)
        return bool((abs(F - (self.A @ u - self.b)) <= _ROUNDING * terms).all())

    @cached_property
    def solution(self) -> np.ndarray:
        """The discrete solution u_h by a direct solve: for measuring errors; training never sees it."""
        return solve_sparse(self.A, self.b)


def linear_system(discretisation: Discretisation) -> LinearSystem:
    """Assemble A and b; refuse nonlinear or singular problems.

    Raises:
        PcpinnError: for a flux or source of the wrong shape, that is not finite or not differentiable, or not linear.
    """
    if not check_functions(discretisation):
        raise PcpinnError(
            "the PDE or a boundary condition is nonlinear in its fields, and this solver is for linear problems",
            "make flux, source and conditions linear in u.value and u.grad (coefficients may depend on x only)",
        )
    return linear_part(DiscreteEquation(discretisation))


def linear_part(equation: DiscreteEquation) -> LinearSystem:
    """The linearisation at u = 0; all there is to a linear problem. Singular ones are refused."""
    discretisation = equation.discretisation
    zero = torch.zeros(discretisation.size, dtype=torch.float64)
    tested_at = discretisation.constraints.tested_at
    f = -equation.weak_residual(zero.numpy())[tested_at]
    system = discretisation.eliminated(f) if isinstance(discretisation, TimeSlabs) else None
    A, b = system or eliminate(discretisation.matrix(zero)[tested_at], f, discretisation.constraints)
    if not (np.isfinite(A.data).all() and np.isfinite(b).all()):
        raise not_finite(discretisation, zero.numpy())
    refuse_singular(A, discretisation)
    refuse_unbalanced(discretisation)
    return LinearSystem(equation, A, b)
