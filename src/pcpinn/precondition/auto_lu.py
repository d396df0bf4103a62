"""Complete factors where they are affordable: for systems that are solved with many right-hand sides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ..discretize.slabs import TimeSlabs
from ..discretize.system import Discretisation
from .auto import AutoILU
from .factorised import LU
from .recipe import PRECONDITIONERS, Assembled
from .time_order import TimeOrder


@PRECONDITIONERS.register
@dataclass(frozen=True)
class AutoLU(Assembled):
    """LU for small systems; time-order for larger ones of slabs of time, auto-ilu for the rest.

    Attributes:
        direct: degrees of freedom up to which P is a complete factorisation.
    """

    direct: int = 30_000

    name: ClassVar[str] = "auto-lu"
    positive: ClassVar[tuple[str, ...]] = ("direct",)

    def fitted(self, discretisation: Discretisation, memory: float) -> Any:
        """The one that fits."""
        if discretisation.size <= self.direct:
            return LU()
        return (TimeOrder() if isinstance(discretisation, TimeSlabs) else AutoILU()).fitted(discretisation, memory)
