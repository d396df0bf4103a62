"""Recipes of a solve's own: Newton's method around the training, and the norm of the loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ..errors import PcpinnError
from ..recipes import Recipe


@dataclass(frozen=True)
class NewtonMethod(Recipe):
    """Newton's method around the training; a linear problem is one step of it.

    Attributes:
        tolerance: relative residual, which estimates the training error, at which the solve is done.
        newton_iterations: largest number of steps.
        forcing: each step is trained until its residual is this part of the correction it makes, or less as Newton's method
            gains speed; 0 gives every step an equal share of the iterations instead.
        linearisation: newton (derivative at the network's own values, in every step) or linear-part (that at u = 0 in all
            steps, nonlinear terms on the right-hand side: one P, linear convergence, for mild nonlinearities).
    """

    tolerance: float = 0.0
    newton_iterations: int = 20
    forcing: float = 0.1
    linearisation: Literal["newton", "linear-part"] = "newton"

    name: ClassVar[str] = "newton"
    positive: ClassVar[tuple[str, ...]] = ("newton_iterations",)
    not_negative: ClassVar[tuple[str, ...]] = ("tolerance",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.forcing < 1:
            raise PcpinnError(f"forcing={self.forcing:g} is outside [0, 1)", "the usual value is 0.1")


@dataclass(frozen=True)
class Residual(Recipe):
    """The loss ||P^-1 (A u - b)||^2.

    Attributes:
        norm: mass (approximates that of L2 on the domain) or uniform (the paper's plain norm of vectors).
        scales: typical size of each component, such as 1e-6,2e8 for metres beside pascals: errors and outputs of the network
            are measured in these units.
    """

    norm: Literal["mass", "uniform"] = "mass"
    scales: tuple[float, ...] | None = None

    name: ClassVar[str] = "residual"
