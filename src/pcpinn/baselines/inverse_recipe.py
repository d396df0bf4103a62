"""What the baselines of inverse problems read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from ..invert.recipe import NETWORK, NOT_READ, offer_inverse
from ..network.recipe import MLP
from ..recipes import Recipe
from ..solve.method import ALL_FIXED, LOSSES, Chosen, Offer, Options, Refusal
from ..train import Adam
from ..train.optimiser import OPTIMISERS

_NO_CHECKPOINTS = {**NOT_READ, "checkpoint_every": "this method cannot be resumed, so it writes no checkpoints"}


@dataclass(frozen=True)
class Descent(Recipe):
    """Quasi-Newton descent with bounds, by scipy.

    Attributes:
        iterations: largest number of iterations.
    """

    iterations: int = 300

    name: ClassVar[str] = "l-bfgs-b"
    positive: ClassVar[tuple[str, ...]] = ("iterations",)


OPTIMISERS.register(Descent)  # type: ignore[arg-type]


@LOSSES.register
@dataclass(frozen=True)
class Misfit(Recipe):
    """The misfit of the discrete solution to the data, and a penalty that the method names.

    Attributes:
        misfit: squares, or huber: outliers count linearly.
        noise_level: standard deviation of data that do not say theirs.
    """

    misfit: Literal["squares", "huber"] = "squares"
    noise_level: float | None = None

    name: ClassVar[str] = "misfit"
    positive: ClassVar[tuple[str, ...]] = ("noise_level",)


@LOSSES.register
@dataclass(frozen=True)
class InverseCollocation(Misfit):
    """Data and the strong form at random points.

    Attributes:
        collocation: number of points inside, drawn once.
        boundary_weight: of the mean squared residual of each condition, beside that of the PDE.
        equation_weight: of the mean squared residual of the PDE, beside the misfit of the data.
        coefficient_width, coefficient_depth: of the coefficients' networks; by default what each `Coefficient` says.
    """

    collocation: int = field(default=2048, kw_only=True)
    boundary_weight: float = field(default=1.0, kw_only=True)
    equation_weight: float = field(default=1.0, kw_only=True)
    coefficient_width: int | None = field(default=None, kw_only=True)
    coefficient_depth: int | None = field(default=None, kw_only=True)

    name: ClassVar[str] = "inverse-collocation"
    positive: ClassVar[tuple[str, ...]] = (
        "noise_level", "collocation", "boundary_weight", "equation_weight", "coefficient_width", "coefficient_depth",
    )  # fmt: skip


def offer_adjoint(slot: str, chosen: Chosen, over_time: bool) -> Offer | Refusal:
    """Adjoint methods: nodal values and scipy's descent, no networks."""
    if slot in ("preconditioner", "network", "newton"):
        return Refusal("the adjoint method has none")
    if slot == "optimiser":
        return Offer(Descent(), (Descent,), why="the adjoint method has no other")
    if slot == "loss":
        return Offer(Misfit(), (Misfit,))
    if slot == "run":
        return Offer(
            Options(device="cpu"),
            without=ALL_FIXED | _NO_CHECKPOINTS | {"memory": "the adjoint method has no such limit"},
        )
    return offer_inverse(slot, chosen, over_time)


def offer_inverse_pinn(slot: str, chosen: Chosen, over_time: bool) -> Offer | Refusal:
    """The ordinary PINN on everything at once."""
    if slot in ("preconditioner", "newton"):
        return Refusal("the ordinary PINN has none")
    if slot == "network":
        return Offer(NETWORK, (MLP,))
    if slot == "optimiser":
        return Offer(Adam(iterations=10_000), (Adam,), why="the ordinary PINN of an inverse problem is trained by Adam")
    if slot == "loss":
        return Offer(InverseCollocation(), (InverseCollocation,))
    if slot == "run":
        return Offer(Options(), without=ALL_FIXED | _NO_CHECKPOINTS)
    return offer_inverse(slot, chosen, over_time)
