"""What training and estimates ask of the equations of a family, however these are discretised."""

from __future__ import annotations

from typing import Protocol

import scipy.sparse as sp
import torch
from torch import Tensor

from ..discretize.discretisation import Discretisation
from ..discretize.equation import Nodes
from .family import Parameters


class Operators(Protocol):
    """dF/du of S samples."""

    @property
    def symmetric(self) -> bool:
        """Whether all are symmetric, but for rounding."""

    def apply(self, v: Tensor) -> Tensor:
        """A_s v_s for v (S, N)."""

    def to_scipy(self, s: int) -> sp.csr_matrix:
        """One of them, (N, N)."""


class System(Protocol):
    """F(u, mu) = 0 for values u (S, N) at nodes and parameters mu (S, K)."""

    device: torch.device
    constrained: Tensor  # degrees of freedom whose rows are conditions
    one_matrix: bool  # dF/du is known to be the same for all parameters, and b to be affine in scaled ones

    @property
    def family(self) -> Parameters:
        """Of mu."""

    @property
    def size(self) -> int:
        """Degrees of freedom N."""

    @property
    def nodes(self) -> Nodes:
        """Where they sit."""

    @property
    def weights(self) -> Tensor:
        """(N,) of a discrete L2 norm."""

    @property
    def linear(self) -> bool:
        """Whether F is affine in u for every mu."""

    def norm(self, u: Tensor) -> Tensor:
        """(S,) discrete L2 norms."""

    @property
    def field_of(self) -> Tensor:
        """(N,) which field each degree of freedom is of."""

    def sizes(self, u: Tensor) -> Tensor:
        """(S, F) discrete L2 norms of each field."""

    def relative(self, e: Tensor, u: Tensor) -> Tensor:
        """(S,) size of e relative to u, the largest over the fields."""

    def residual(self, u: Tensor, mu: Tensor) -> Tensor:
        """F (S, N)."""

    def right_side(self, mu: Tensor) -> Tensor:
        """b (S, N) of the linear part: -F(0)."""

    def linearise(self, u: Tensor | None, mu: Tensor) -> Operators:
        """dF/du at u (S, N), or at zero."""

    def linearise_with(self, u: Tensor | None, mu: Tensor) -> tuple[Operators, Tensor]:
        """dF/du and F at u (S, N), or at zero."""

    def discretisation(self, mu: Tensor) -> Discretisation:
        """The discretisation at parameters (K,), for those who make P."""
