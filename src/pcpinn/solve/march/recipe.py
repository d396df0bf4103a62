"""How a march is made: the recipe `march` of the slot `time`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ...discretize.in_time import TIMES
from ...recipes import Recipe


@TIMES.register
@dataclass(frozen=True)
class March(Recipe):
    """Step by step through time: one network of space per window, starting from the weights of the previous window.

    Attributes:
        steps: number of steps.
        scheme: euler, crank-nicolson, bdf2, radau (damping) or gauss (conserving).
        order: time levels per step of radau (order 2m - 1) and gauss (order 2m).
        halvings: how often the first step is halved, for data that jump at the start.
        window: steps per window; the network of a window has a head per time level.
        tolerance: relative size of Newton's correction at which a window has converged.
        newton_iterations: largest number of Newton steps per window.
        linearisation: newton (derivative at the network's own values) or linear-part (that at u = 0, nonlinear terms on the
            right-hand side: one P, linear convergence, for mild nonlinearities).
        head_steps: least-squares steps on the last layer before the optimiser starts.
        start_iterations: iterations of the optimiser on the initial values.
        causality: in windows of several steps, how strongly later steps wait for earlier ones; 0 for not at all.
        refresh: windows between two builds of P; it is also rebuilt when it has become bad.
        split_errors: also march the discrete solution, to report training and discretisation errors separately.
    """

    steps: int = 10
    scheme: Literal["euler", "crank-nicolson", "bdf2", "radau", "gauss"] = "radau"
    order: int = 3
    halvings: int = 0
    window: int = 1
    tolerance: float = 1e-6
    newton_iterations: int = 20
    linearisation: Literal["newton", "linear-part"] = "newton"
    head_steps: int = 8
    start_iterations: int = 100
    causality: float = 0.0
    refresh: int = 1
    split_errors: bool = True

    name: ClassVar[str] = "march"
    positive: ClassVar[tuple[str, ...]] = ("steps", "order", "window", "tolerance", "newton_iterations", "refresh")
    not_negative: ClassVar[tuple[str, ...]] = ("halvings", "head_steps", "start_iterations", "causality")
