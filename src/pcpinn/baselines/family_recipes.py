"""What the methods that families are compared with read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..family.recipe import NOT_READ, Sampled, offer_family
from ..recipes import Recipe
from ..solve.method import ALL_FIXED, LOSSES, Chosen, Offer, Options, Refusal, offer_optimisers
from ..train import Adam, GaussNewton

_NOT_IN_TABLES = {
    **ALL_FIXED,
    **NOT_READ,
    "checkpoint_every": "this method cannot be resumed, so it writes no checkpoints",
    "time_limit": "direct solves are counted, not timed: set solves",
}


@LOSSES.register
@dataclass(frozen=True)
class Solves(Recipe):
    """Direct solutions at parameters that are spread evenly.

    Attributes:
        solves: how many.
        krylov_steps, anchors, anchor_target: of estimates, as those of a trained family.
    """

    solves: int = 64
    krylov_steps: int = 8
    anchors: int = 6
    anchor_target: float = 0.05

    name: ClassVar[str] = "solves"
    positive: ClassVar[tuple[str, ...]] = ("solves", "krylov_steps", "anchors", "anchor_target")


@LOSSES.register
@dataclass(frozen=True)
class ReducedBasis(Solves):
    """A basis of the solutions by proper orthogonal decomposition; the equations are projected onto it.

    Attributes:
        modes: most functions of the basis.
    """

    modes: int = 64

    name: ClassVar[str] = "reduced-basis"
    positive: ClassVar[tuple[str, ...]] = (*Solves.positive, "modes")


@LOSSES.register
@dataclass(frozen=True)
class Polynomials(Solves):
    """Polynomials of the parameters, by least squares.

    Attributes:
        order: largest total degree; lower where the solutions are too few for it.
    """

    order: int = 4

    name: ClassVar[str] = "polynomials"
    positive: ClassVar[tuple[str, ...]] = (*Solves.positive, "order")


@LOSSES.register
@dataclass(frozen=True)
class Labelled(Sampled):
    """Regression of a network onto direct solutions.

    Attributes:
        solves: how many.
    """

    solves: int = 64

    name: ClassVar[str] = "labelled"
    positive: ClassVar[tuple[str, ...]] = (*Sampled.positive, "solves")


@LOSSES.register
@dataclass(frozen=True)
class StrongSampled(Sampled):
    """The strong form at random points and parameters, fresh ones in every step.

    Attributes:
        collocation: points inside, for each of the sampled parameters.
        boundary_weight: of the mean squared residual of each condition, beside that of the PDE.
    """

    collocation: int = 64
    boundary_weight: float = 100.0

    name: ClassVar[str] = "strong-sampled"
    positive: ClassVar[tuple[str, ...]] = (*Sampled.positive, "collocation", "boundary_weight")


def offer_tables(loss: Offer, slot: str, chosen: Chosen, over_time: bool) -> Offer | Refusal:
    """Of methods without a network."""
    if slot in ("network", "optimiser"):
        return Refusal("this method has none")
    if slot == "loss":
        return loss
    return Offer(Options(), without=_NOT_IN_TABLES) if slot == "run" else offer_family(slot, chosen, over_time)


def offer_regression(slot: str, chosen: Chosen, over_time: bool) -> Offer | Refusal:
    """Of regression."""
    if slot == "loss":
        return Offer(Labelled(), (Labelled,), {"adaptive": "parameters are those of the solutions"})
    return Offer(Options(), without=ALL_FIXED | NOT_READ) if slot == "run" else offer_family(slot, chosen, over_time)


def offer_pino(slot: str, chosen: Chosen, over_time: bool) -> Offer | Refusal:
    """Of the strong form."""
    if slot == "loss":
        return Offer(StrongSampled(), (StrongSampled,), {"adaptive": "this method does not know its errors"})
    if slot == "optimiser":
        return offer_optimisers(Adam(), (GaussNewton,), "Gauss-Newton needs a loss on nodal values")
    return Offer(Options(), without=ALL_FIXED | NOT_READ) if slot == "run" else offer_family(slot, chosen, over_time)
