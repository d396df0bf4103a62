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

_DIRECT = 30_000  # degrees of freedom up to which P is a complete factorisation


@PRECONDITIONERS.register
@dataclass(frozen=True)
class AutoLU(Assembled):
    """LU up to 30 000 degrees of freedom; beyond, time-order for slabs of time and auto-ilu for the rest."""

    name: ClassVar[str] = "auto-lu"

    def fitted(self, discretisation: Discretisation, memory: float) -> Any:
        """The one that fits."""
        if discretisation.size <= _DIRECT:
            return LU()
        return (TimeOrder() if isinstance(discretisation, TimeSlabs) else AutoILU()).fitted(discretisation, memory)
