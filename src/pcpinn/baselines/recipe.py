"""What the baselines read: the recipe of collocation, and what they have for each slot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..discretize.in_time import Simplices, Slabs
from ..network.recipe import MLP
from ..recipes import Recipe
from ..solve.method import ALL_FIXED, LOSSES, Chosen, Offer, Options, Refusal, offer_discretisation, offer_optimisers
from ..solve.recipes import NewtonMethod, Residual
from ..train import Adam, GaussNewton

_NO_NEWTON = dict.fromkeys(("newton_iterations", "forcing", "linearisation"), "this method is trained in one go")


@LOSSES.register
@dataclass(frozen=True)
class Collocation(Recipe):
    """The strong form at random points instead of a discretisation: the ordinary PINN.

    Attributes:
        collocation: number of points inside, drawn once; those on the boundary are as dense.
        boundary_weight: of the mean squared residual of each condition, beside that of the PDE.
        hard: Dirichlet and initial values hold exactly, by the form of u; else all conditions are penalties.
    """

    collocation: int = 4096
    boundary_weight: float = 1.0
    hard: bool = False

    name: ClassVar[str] = "collocation"
    positive: ClassVar[tuple[str, ...]] = ("collocation", "boundary_weight")


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


def offer_pinn(slot: str, chosen: Chosen, over_time: bool) -> Offer | Refusal:
    """The ordinary PINN: Adam, and the strong form."""
    if slot == "optimiser":
        return offer_optimisers(Adam(), (GaussNewton,), "Gauss-Newton needs a loss on nodal values")
    if slot == "loss":
        return Offer(Collocation(), (Collocation,))
    return offer_all_at_once(slot, chosen, over_time)


def offer_fem_fit(slot: str, chosen: Chosen, over_time: bool) -> Offer | Refusal:
    """Regression onto the discrete solution."""
    if slot == "optimiser":
        return offer_optimisers(GaussNewton())
    if slot == "loss":
        return Offer(Residual(), (Residual,))
    return offer_all_at_once(slot, chosen, over_time)
