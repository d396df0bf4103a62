"""MultiAdam: the ordinary PINN, trained by an Adam that treats the equations and the conditions apart (Yao et al. 2023)."""

from __future__ import annotations

from ..solve.method import METHODS
from ..train.multi_adam import MultiAdam
from .strong_method import strong_method

METHODS.register(strong_method("multiadam", optimiser=MultiAdam(), beta1=0.99, beta2=0.99))
