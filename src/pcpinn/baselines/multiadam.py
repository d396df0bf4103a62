"""MultiAdam: the ordinary PINN, trained by an Adam that treats the equations and each condition apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..solve.method import LOSSES, METHODS
from ..train.multi_adam import MultiAdam
from .recipe import Collocation
from .strong_method import strong_method


@LOSSES.register
@dataclass(frozen=True)
class Grouped(Collocation):
    """The strong form, with values on each boundary as a term of its own."""

    name: ClassVar[str] = "grouped"
    terms_apart: ClassVar[bool] = True


METHODS.register(strong_method("multiadam", Grouped(), optimiser=MultiAdam(), beta1=0.99, beta2=0.99))
