"""Settings of inverse problems: those of a solve, and some of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..errors import PcpinnError
from ..solve.settings import Settings


@dataclass(frozen=True)
class InverseSettings(Settings):
    """All of `Settings`, and:

    warmup: iterations on the data alone; `iterations` are those of both together that follow.
    equations: how much more the equations count than data of the same misfit; approached in three stages (gauss-newton).
    refresh: P is built anew every so many iterations.
    prior: auto (smoothness priors, their parameters chosen by evidence) or none.
    loss: squares, or huber: outliers count linearly.
    noise: standard deviation of data that do not say theirs; None estimates it.
    coefficient_width, coefficient_depth: of the coefficients' networks; None takes what each `Coefficient` says.
    """

    warmup: int = 5
    equations: float = 10.0
    prior: Literal["auto", "none"] = "auto"
    loss: Literal["squares", "huber"] = "squares"
    noise: float | None = None
    coefficient_width: int | None = None
    coefficient_depth: int | None = None
    refresh: int = 2
    damping: float = 0.1
    iterations: int = 60
    width: int = 20
    depth: int = 2
    feature_count: int = 3
    feature_high: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for key in ("coefficient_width", "coefficient_depth"):
            value = getattr(self, key)
            if value is not None and value < 1:
                raise PcpinnError(f"{key}={value} must be positive", f"leave {key} out to take its default")
        if self.warmup < 0:
            raise PcpinnError(f"warmup={self.warmup} is negative", "give 0 or more")
        if not 0 < self.equations < 1e12:
            raise PcpinnError(f"equations={self.equations:g} must be positive", "leave it out to take its default")
        if self.noise is not None and not 0 < self.noise < 1e300:
            raise PcpinnError(f"noise={self.noise:g} must be positive", "leave it out to estimate it")
        if self.march or self.discretisation == "fdm":
            raise PcpinnError(
                "inverse problems are solved with finite elements for all times at once", "leave march and fdm out"
            )
