"""How a march is made: the recipe `march` of the slot `time`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from ...discretize.in_time import TIMES
from ...errors import PcpinnError
from ...recipes import Recipe


@TIMES.register
@dataclass(frozen=True)
class March(Recipe):
    """Step by step through time: one network of space per window, starting from the weights of the previous window.

    Attributes:
        steps: number of steps.
        scheme: euler, crank-nicolson, bdf2, radau (damping) or gauss (conserving); or second-difference, for equations of second
            order in time that start at rest: backward Euler without a field for u_t.
        order: time levels per step of radau (order 2m - 1) and gauss (order 2m).
        halvings: how often the first step is halved, for data that jump at the start.
        window: steps per window; the network of a window has a head per time level.
        tolerance: relative size of Newton's correction, P^-1 F(u), at which a window has converged.
        newton_iterations: largest number of Newton steps per window.
        linearisation: newton (derivative at the network's own values) or linear-part (that at u = 0, nonlinear terms on the
            right-hand side: one P, linear convergence, for mild nonlinearities); or none, as the paper does it: the loss is
            ||P^-1 F(u)||^2 with P of the linear part, and the optimiser descends along its gradient, nonlinear terms included.
        head_steps: least-squares steps on the last layer before the optimiser starts.
        start_iterations: iterations of the optimiser on the initial values; with linearisation=none they give u at the start
            and nothing else, since the first window begins from weights that are not trained.
        causality: in windows of several steps, how strongly later steps wait for earlier ones; 0 for not at all.
        refresh: windows between two builds of P; it is also rebuilt when it has become bad.
        split_errors: also march the discrete solution, to report training and discretisation errors separately.
        cold_iterations: with linearisation=none, iterations of the optimiser in the first window (the paper's cold start); 0
            for as many as in the others.
    """

    steps: int = 10
    scheme: Literal["euler", "crank-nicolson", "bdf2", "radau", "gauss", "second-difference"] = "radau"
    order: int = 3
    halvings: int = 0
    window: int = 1
    tolerance: float = 1e-6
    newton_iterations: int = 20
    linearisation: Literal["newton", "linear-part", "none"] = "newton"
    head_steps: int = 8
    start_iterations: int = 100
    causality: float = 0.0
    refresh: int = 1
    split_errors: bool = True
    cold_iterations: int = 0

    name: ClassVar[str] = "march"
    positive: ClassVar[tuple[str, ...]] = ("steps", "order", "window", "tolerance", "newton_iterations", "refresh")
    not_negative: ClassVar[tuple[str, ...]] = (
        "halvings",
        "head_steps",
        "start_iterations",
        "causality",
        "cold_iterations",
    )
    at_most: ClassVar[Mapping[str, float]] = {"order": 12, "halvings": 1000}

    def unread(self) -> Mapping[str, str]:
        """Time levels per step, of schemes that have one."""
        return (
            {}
            if self.order == 1 or self.scheme in ("radau", "gauss")
            else {"order": f"scheme={self.scheme} has one time level per step"}
        )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.causality and self.window == 1:
            raise PcpinnError(
                f"causality={self.causality:g} has no effect with window=1: one step waits for nothing within its window",
                "set causality=0, or window=2 or more",
            )
        if self.linearisation != "none":
            if self.cold_iterations:
                raise PcpinnError(
                    f"cold_iterations={self.cold_iterations} has no effect with linearisation={self.linearisation}",
                    "leave it out, or use linearisation=none",
                )
            return
        usual = self.schema()["newton_iterations"].default
        if self.newton_iterations != usual:
            raise PcpinnError(
                f"newton_iterations={self.newton_iterations} has no effect with linearisation=none",
                "leave it out: there are no Newton steps, the optimiser's iterations are all",
            )
        if self.head_steps:
            raise PcpinnError(
                f"head_steps={self.head_steps} need a linear problem for the last layer, which linearisation=none has not",
                "set head_steps=0",
            )
