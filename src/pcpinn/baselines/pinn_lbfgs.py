"""PINN-LBFGS: the ordinary PINN, trained by L-BFGS."""

from __future__ import annotations

from ..solve.method import METHODS
from ..train import LBFGS
from .strong_method import strong_method

METHODS.register(strong_method("pinn-lbfgs", optimiser=LBFGS(), small={"iterations": 200}, iterations=5_000))
