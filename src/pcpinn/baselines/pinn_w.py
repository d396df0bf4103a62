"""PINN-w: the ordinary PINN with conditions that weigh 100 times as much as the equations (Hao et al. 2023)."""

from __future__ import annotations

from ..solve.method import METHODS
from .recipe import Collocation
from .strong_method import strong_method

METHODS.register(strong_method("pinn-w", Collocation(boundary_weight=100.0)))
