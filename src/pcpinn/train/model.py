"""What Gauss-Newton asks of a loss: its least-squares model near the present weights, r(theta + d) ~ r + J d."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from torch import Tensor, nn

from .curvature import Curvature
from .damping import Nielsen
from .optimiser import State


class Forms(Protocol):
    """What a recipe of Gauss-Newton says about its matrix (see `GaussNewton`)."""

    @property
    def matrix(self) -> str:
        """auto, gram, exact or matrix-free."""

    @property
    def sample(self) -> int:
        """Number of rows in a Gram matrix; 0 leaves it to the loss."""

    @property
    def even(self) -> float:
        """Part of the rows that is drawn evenly over the nodes."""

    @property
    def memory(self) -> float | None:
        """GiB that the matrices of a step may take; None for the usual."""


@dataclass(frozen=True)
class Model:
    """A least-squares loss near some weights.

    Attributes:
        loss: 0.5 ||r||^2, or what stands for it (robust losses).
        gradient: (p,) J^T r, exact.
        curvature: solves with J^T J, or what stands for it, and damping.
        bending: v (p,) -> J^T r'' (p,) for the second derivative r'' of r along v.
        trusted: largest ratio of acceleration to velocity at which this second derivative is believed.
    """

    loss: float
    gradient: Tensor
    curvature: Curvature
    bending: Callable[[Tensor], Tensor]
    trusted: float


@runtime_checkable
class LeastSquaresLoss(Protocol):
    """A loss that can be modelled so.

    Attributes:
        rule: how damping follows success and failure.
    """

    rule: Nielsen

    @property
    def theta(self) -> nn.Parameter:
        """The weights (p,)."""

    def resolve(self, recipe: Forms) -> tuple[str, int]:
        """The form of the matrix that this loss gets, and its number of rows.

        Raises:
            PcpinnError: for a form that it does not have, or that does not fit into memory.
        """

    def model_here(self, recipe: Forms, state: State) -> Model:
        """At the present weights; the state holds the random numbers of a sample."""

    def value(self) -> float:
        """The loss at the present weights, no derivatives."""
