"""The ordinary PINN: the strong form of the PDE at random points, its conditions as penalties or built in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..discretize.system import LinearSystem
from ..network.protocol import Network
from ..problem.problem import Problem
from ..solution.solution import Solution
from ..solve.method import METHODS
from ..solve.settings import Settings
from .collocation import StrongLoss, collocation_loss
from .strong_method import solve_strong, strong_method

__all__ = ["StrongLoss", "solve_pinn", "strong_loss"]


def strong_loss(system: LinearSystem, network: Network, settings: Settings) -> StrongLoss:
    """The loss on the domain of a discrete system, of which only mesh and problem are used."""
    return collocation_loss(system.discretisation.problem, system.discretisation.mesh, network, settings)


def solve_pinn(problem: Problem, settings: Settings | Mapping[str, Any] | None = None, **options: Any) -> Solution:
    """Solve a problem with an ordinary PINN; arguments as of `pcpinn.solve`.

    The mesh gives the places of the points; nothing is assembled on it. Conditions are penalties, `boundary_weight` times as
    heavy as the PDE; with hard=True Dirichlet and initial values hold exactly instead (see `strong/hard.py`).
    """
    return solve_strong("pinn", problem, settings, **options)


METHODS.register(strong_method("pinn"))
