"""What inverse problems read: the recipe of their loss, and what `infer` has for each slot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ..discretize.in_time import Simplices, Slabs
from ..mesh.meshing import Meshing
from ..network.recipe import MLP
from ..precondition import PRECONDITIONERS, Schwarz, Separable, Stages, TimeOrder
from ..precondition.auto_lu import AutoLU
from ..recipes import Recipe
from ..solve.method import ALL_FIXED, LOSSES, Chosen, Offer, Options, Refusal
from ..train import Adam, GaussNewton


@LOSSES.register
@dataclass(frozen=True)
class Joint(Recipe):
    """Data, preconditioned equations, priors and known values as one least-squares problem.

    Attributes:
        warmup: iterations on the data alone; the optimiser's iterations follow.
        equation_weight: how much more the equations count than data of the same misfit; approached in three stages.
        prior: auto (smoothness priors, their parameters chosen by evidence) or none.
        misfit: squares, or huber: outliers count linearly.
        noise_level: standard deviation of data that do not say theirs; by default estimated.
        refresh: iterations between two builds of P.
        norm: of the equations: mass (approximates that of L2 on the domain) or uniform.
        coefficient_width, coefficient_depth: of the coefficients' networks; by default what each `Coefficient` says.
    """

    warmup: int = 5
    equation_weight: float = 10.0
    prior: Literal["auto", "none"] = "auto"
    misfit: Literal["squares", "huber"] = "squares"
    noise_level: float | None = None
    refresh: int = 2
    norm: Literal["mass", "uniform"] = "mass"
    coefficient_width: int | None = None
    coefficient_depth: int | None = None

    name: ClassVar[str] = "joint"
    positive: ClassVar[tuple[str, ...]] = (
        "equation_weight", "noise_level", "refresh", "coefficient_width", "coefficient_depth",
    )  # fmt: skip
    not_negative: ClassVar[tuple[str, ...]] = ("warmup",)


NETWORK = MLP(width=20, depth=2, feature_count=3, feature_high=0.0)
NOT_READ = {
    "certify": "inverse problems come with a posterior instead of an error estimate",
    "precision": "inverse problems are solved in float64",
}
_DENSE = dict.fromkeys(("matrix", "sample", "even", "accelerate"), "the joint loss has a dense matrix of its own")


def offer_inverse(slot: str, chosen: Chosen, over_time: bool) -> Offer | Refusal:
    """The recipes of `pcpinn.infer`."""
    if slot == "time":
        if not over_time:
            return Refusal("the problem does not depend on time")
        return Offer(Simplices(), (Simplices, Slabs), why="inverse problems are solved for all times at once")
    if slot == "mesh":
        return Offer(Meshing(), (Meshing,), why="inverse problems are solved with finite elements")
    if slot == "preconditioner":
        slabs = (TimeOrder,) if isinstance(chosen.get("time"), Slabs) else ()
        general = tuple(P for P in PRECONDITIONERS if P not in (Stages, TimeOrder, Separable, Schwarz))
        return Offer(
            AutoLU(), (*general, *slabs), {"dense": "P^-1 A is never held here"}, "it does not fit this problem"
        )
    if slot == "network":
        return Offer(NETWORK, (MLP,), why="the joint loss needs the derivatives of an mlp")
    if slot == "optimiser":
        why = "the joint loss changes with P, and its weights are those of several networks"
        return Offer(GaussNewton(damping=0.1), (GaussNewton, Adam), _DENSE, why)
    if slot == "newton":
        return Refusal("the joint loss linearises the equations itself")
    if slot == "loss":
        return Offer(Joint(), (Joint,))
    return Offer(Options(), without=ALL_FIXED | NOT_READ)
