"""FBPINN: the strong form with networks on overlapping parts of the domain (Moseley et al. 2023)."""

from __future__ import annotations

from ..network.subdomains import FBPINN
from ..solve.method import METHODS
from .strong_method import strong_method

METHODS.register(strong_method("fbpinn", network=FBPINN(), width=64, depth=4, boundary_weight=100.0))
