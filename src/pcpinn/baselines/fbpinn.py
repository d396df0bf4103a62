"""FBPINN: the strong form with networks on overlapping parts of the domain (Moseley et al. 2023)."""

from __future__ import annotations

from ..network.subdomains import FBPINN
from ..solve.method import METHODS
from .strong_method import strong_method

METHODS.register(
    strong_method("fbpinn", network=FBPINN(), width=50)
)  # four such networks have the weights of one of 100
