"""What happened in a window of a march."""

from __future__ import annotations

import math
from dataclasses import dataclass, field


@dataclass
class WindowReport:
    """||P^-1 F|| / ||u|| before each Newton step, and what is left at the end; training; new P's; Gauss-Newton's damping.

    A training without Newton steps has ||P^-1 F|| / ||u|| before and after it. The damping is that after the window, where the
    next one begins (nan: none was used).
    """

    residuals: list[float] = field(default_factory=list)
    iterations: int = 0
    rebuilt: int = 0
    reason: str = "tolerance"
    final: float = math.inf
    damping: float = math.nan
