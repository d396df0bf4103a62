"""What the baselines read: the recipe of collocation, and what they have for each slot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from ..discretize.in_time import Simplices, Slabs
from ..mesh.slab_mesh import AnyMesh
from ..network.recipe import MLP
from ..problem.problem import Problem
from ..recipes import Recipe
from ..solve.method import ALL_FIXED, LOSSES, Chosen, Offer, Options, Refusal, offer_discretisation, offer_optimisers
from ..solve.recipes import NewtonMethod, Residual
from ..train import GaussNewton
from .piece import Piece

_NO_NEWTON = dict.fromkeys(("newton_iterations", "forcing", "linearisation"), "this method is trained in one go")


@LOSSES.register
@dataclass(frozen=True)
class Collocation(Recipe):
    """The strong form at random points instead of a discretisation: the ordinary PINN.

    Methods that add something derive from it: they give `pieces`, or other `equations`.

    Attributes:
        collocation: number of points inside, drawn once.
        boundary_points: number of points on all walls together, and as many at the start of time; none: they are as dense as
            those inside.
        boundary_weight: of the mean squared residual of each condition, beside that of the PDE.
        hard: Dirichlet and initial values hold exactly, by the form of u; else all conditions are penalties.
    """

    collocation: int = 4096
    boundary_points: int | None = None
    boundary_weight: float = 1.0
    hard: bool = False

    name: ClassVar[str] = "collocation"
    positive: ClassVar[tuple[str, ...]] = ("collocation", "boundary_points", "boundary_weight")
    terms_apart: ClassVar[bool] = False  # whether values on each boundary are a term of their own

    def pieces(self) -> list[Piece]:
        """What the method adds to the loss."""
        return []

    def equations(self, problem: Problem, mesh: AnyMesh, like: Tensor) -> Callable[[Any], Tensor] | None:
        """The residual of the PDE as a function of the loss, in place of that at the points; None for this."""
        return None


def offer_all_at_once(slot: str, chosen: Chosen, over_time: bool) -> Offer | Refusal:
    """What methods share that are trained in one go, with no preconditioner."""
    if slot == "time" and over_time:
        return Offer(Simplices(), (Simplices, Slabs), why="this method solves for all times at once")
    if slot in ("time", "mesh"):
        return offer_discretisation(slot, chosen, over_time)
    if slot == "preconditioner":
        return Refusal("this method has none")
    if slot == "network":
        return Offer(MLP())
    if slot == "newton":
        return Offer(NewtonMethod(), without=_NO_NEWTON)
    return Offer(Options(), without=ALL_FIXED)


def offer_fem_fit(slot: str, chosen: Chosen, over_time: bool) -> Offer | Refusal:
    """Regression onto the discrete solution."""
    if slot == "optimiser":
        return offer_optimisers(GaussNewton())
    if slot == "loss":
        return Offer(Residual(), (Residual,))
    return offer_all_at_once(slot, chosen, over_time)
