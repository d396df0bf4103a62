"""What a discretisation is: degrees of freedom at nodes, a residual and its matrix, constraints apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
import scipy.sparse as sp
from torch import Tensor

from ..mesh.slab_mesh import AnyMesh
from ..problem.problem import Problem
from .check import check_boundary, check_pointwise
from .constraints import Constraints
from .pointwise import BoundaryFlux, Pointwise


class Discretisation(Protocol):
    """Finite elements, finite differences or slabs of time: degrees of freedom at nodes, a residual and its matrix."""

    name: str
    problem: Problem
    pointwise: Pointwise

    @property
    def mesh(self) -> AnyMesh:
        """Where the degrees of freedom sit."""

    @property
    def size(self) -> int:
        """Number of degrees of freedom N."""

    @property
    def components(self) -> int:
        """Number of scalar components C."""

    @property
    def unknown_nodes(self) -> np.ndarray:
        """(N, d) position of each degree of freedom."""

    @property
    def unknown_components(self) -> np.ndarray:
        """(N,) component of each degree of freedom."""

    @property
    def constraints(self) -> Constraints:
        """Essential conditions."""

    def constraints_for(self, problem: Problem) -> Constraints:
        """The same for a problem of other conditions or pins."""

    @property
    def weights(self) -> np.ndarray:
        """(N,) weights of a discrete L2 norm."""

    def sample_points(self, count: int = 64) -> Tensor:
        """Some points (m, d) inside the domain."""

    def boundary_samples(self) -> Iterator[tuple[BoundaryFlux, Tensor, Tensor]]:
        """Each boundary with natural conditions: its flux, some points and the normals there."""

    def residual(self, u: Tensor) -> Tensor:
        """R(u), without constraints."""

    def matrix(self, u: Tensor) -> sp.csr_matrix:
        """dR/du, without constraints."""

    def interpolate(self, u: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The discrete function at points: (m, C)."""


def check_functions(discretisation: Discretisation) -> bool:
    """Try flux, source and conditions at some points; tells whether the problem is linear in its fields.

    Raises:
        PcpinnError: for one of the wrong shape, that is not finite or not differentiable.
    """
    linear = check_pointwise(discretisation.pointwise, discretisation.sample_points())
    for flux, x, normals in discretisation.boundary_samples():
        linear &= check_boundary(flux, x, normals, discretisation.components)
    return linear
