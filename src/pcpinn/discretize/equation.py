"""What is to hold: F(u) = 0 for values u at nodes, with its derivative as an operator.

Linear and nonlinear problems, the windows of a march and inverse problems at given coefficients are all equations in this sense.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree
from torch import Tensor

V = TypeVar("V", np.ndarray, Tensor)
"""Nodal values: arrays (N,) of an equation assembled on the host, tensors (L, n) of a window on its device."""


@dataclass(frozen=True)
class Nodes:
    """Degrees of freedom as values of a function: component `component_of` at `points[point_of]`.

    Attributes:
        points: (M, d) distinct positions, M <= N.
        point_of: (N,) which point a degree of freedom sits at.
        component_of: (N,) which output of a network it is.
    """

    points: np.ndarray
    point_of: np.ndarray
    component_of: np.ndarray

    def at(self, rows: np.ndarray | None) -> Nodes:
        """Some degrees of freedom (n,), in their order, with the points that they need; all for None."""
        if rows is None:
            return self
        used, first, point_of = np.unique(self.point_of[rows], return_index=True, return_inverse=True)
        order = np.argsort(first)  # points in the order of rows: one field then needs no gathering
        rank = np.argsort(order)
        return Nodes(self.points[used[order]], rank[point_of], self.component_of[rows])


@dataclass(frozen=True)
class TensorNodes:
    """The same as tensors of a device: for those that change from step to step."""

    points: Tensor
    point_of: Tensor
    component_of: Tensor


class Matrix(Protocol[V]):
    """A = dF/du: its products, and all of it for those who factorise."""

    def apply(self, v: V) -> V:
        """A v."""

    def apply_transpose(self, r: V) -> V:
        """A^T r."""

    def to_scipy(self) -> sp.csr_matrix:
        """(N, N)."""


M = TypeVar("M", covariant=True)
"""Its matrix, as its own kind of equation makes it."""


class Equation(Protocol[V, M]):
    """F(u) = 0. Constraints are among its rows, so F and its derivative are defined at values that do not satisfy them."""

    @property
    def nodes(self) -> Nodes:
        """Where the values sit."""

    @property
    def weights(self) -> np.ndarray:
        """(N,) of a discrete L2 norm."""

    def norm(self, u: V) -> float:
        """This norm."""

    def sizes(self, u: V) -> np.ndarray:
        """(F,) the same of each field."""

    def ratios(self, u: V) -> np.ndarray:
        """(F, F) ratios of units of the fields that fit each other, as the derivative at some u says."""

    def residual(self, u: V) -> V:
        """F(u)."""

    def linearise(self, u: V) -> M:
        """dF/du, a `Matrix`."""

    def moved(self, u: V, correction: V, factor: float) -> V:
        """u - factor * correction; constrained values take the whole step, since their rows are linear."""


def distinct_points(nodes: np.ndarray, components: int) -> tuple[np.ndarray, np.ndarray]:
    """Merge nodes of different components that sit at the same place: points (M, d), index of each node (N,)."""
    first = np.arange(len(nodes))
    if components == 1:
        return nodes, first
    scale = np.ptp(nodes, axis=0).max()
    pairs = cKDTree(nodes).query_pairs(1e-9 * scale, output_type="ndarray")
    np.minimum.at(first, pairs[:, 1], pairs[:, 0])
    kept, point_of = np.unique(first, return_inverse=True)
    return nodes[kept], point_of
