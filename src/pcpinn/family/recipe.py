"""What families read: the recipe of their loss, and what they have for each slot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..discretize.in_time import Simplices, Slabs
from ..errors import PcpinnError
from ..mesh.meshing import Meshing
from ..network.recipe import MLP
from ..network.trunk_branch import TrunkBranch
from ..network.trunk_solve import TrunkSolve
from ..precondition import PRECONDITIONERS, Schwarz, Separable, Stages, TimeOrder
from ..precondition.auto_lu import AutoLU
from ..recipes import Recipe
from ..solve.method import LOSSES, Chosen, Offer, Options, Refusal, offer_optimisers
from ..train import GaussNewton


@LOSSES.register
@dataclass(frozen=True)
class Sampled(Recipe):
    """The preconditioned residual over samples of the parameters, fresh ones in every step.

    Attributes:
        samples: parameters in a step.
        krylov_steps: steps of conjugate gradients or GMRES with the P of the nearest anchor.
        anchors: most anchors.
        anchor_target: anchors are added until the Krylov steps leave at most this part of a solution.
        adaptive: part of the samples that is drawn near parameters where the error was large.
        validation: parameters on which the answer is judged.
    """

    samples: int = 96
    krylov_steps: int = 8
    anchors: int = 6
    anchor_target: float = 0.05
    adaptive: float = 0.3
    validation: int = 64

    name: ClassVar[str] = "sampled"
    positive: ClassVar[tuple[str, ...]] = ("samples", "krylov_steps", "anchors", "anchor_target", "validation")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.adaptive <= 0.9:
            raise PcpinnError(
                f"adaptive={self.adaptive:g} is outside [0, 0.9]", "it is a part of the samples, usually 0.3"
            )


@LOSSES.register
@dataclass(frozen=True)
class Superposed(Recipe):
    """The mean error over all parameters of a family whose answers are affine in them: sums of K + 1 functions of the place.

    It is taken where that is so and neither loss nor network are given. Gauss-Newton trains the hidden layer, and each of its
    trials solves for the last one.

    Attributes:
        krylov_steps, anchors, anchor_target: as of sampled; the matrix is the same everywhere, so that one anchor is enough.
        validation: parameters on which the answer is judged.
    """

    krylov_steps: int = 8
    anchors: int = 6
    anchor_target: float = 0.05
    validation: int = 64

    name: ClassVar[str] = "superposed"
    positive: ClassVar[tuple[str, ...]] = ("krylov_steps", "anchors", "anchor_target", "validation")


@LOSSES.register
@dataclass(frozen=True)
class Spanned(Recipe):
    """The error of coordinates in functions of the place that span the answers, over samples of the parameters.

    It is taken for families of many parameters, or of functions, where neither loss, network nor optimiser are given, and of
    up to three parameters, where few functions turn out to be enough. Over time these are functions of place and time.
    Answers at some parameters tell which functions span them all; a trunk is fitted to these, then a branch learns coordinates:
    one of one hidden layer by Gauss-Newton with its last layer solved for, one of more by Adam.

    Attributes:
        samples: fresh parameters each time that some are drawn.
        snapshots: answers that the functions are found from. Where the loss is not asked for and these leave too much, up to
            nine times as many are made.
        modes: most functions of each field; as few are taken as leave a third of the accuracy.
        steps: of the optimiser between fresh parameters; 100 of Adam, 5 of Gauss-Newton if not given.
        batch: parameters in a step of Adam; Gauss-Newton takes all.
        krylov_steps, anchors, anchor_target: as of sampled.
        validation: parameters on which the answer is judged.
    """

    samples: int = 64
    snapshots: int = 256
    modes: int = 128
    steps: int | None = None
    batch: int = 128
    krylov_steps: int = 8
    anchors: int = 6
    anchor_target: float = 0.05
    validation: int = 64

    name: ClassVar[str] = "spanned"
    positive: ClassVar[tuple[str, ...]] = (
        "samples", "snapshots", "modes", "steps", "batch", "krylov_steps", "anchors", "anchor_target", "validation",
    )  # fmt: skip


NETWORK = MLP(width=32, depth=3, features="none")
NOT_READ = {
    "certify": "a family is always estimated: its verdict is over parameters",
    "precision": "families are solved in float64",
}


def offer_family(slot: str, chosen: Chosen, over_time: bool) -> Offer | Refusal:
    """The recipes of families."""
    if slot == "time":
        if not over_time:
            return Refusal("the problems do not depend on time")
        return Offer(Slabs(), (Simplices, Slabs), why="families are solved for all times at once")
    if slot == "mesh":
        return Offer(Meshing(), (Meshing,), why="families are solved with finite elements")
    if slot == "preconditioner":
        slabs = (TimeOrder,) if isinstance(chosen.get("time"), Slabs) else ()
        general = tuple(P for P in PRECONDITIONERS if P not in (Stages, TimeOrder, Separable, Schwarz))
        why = "it does not fit this problem"
        return Offer(AutoLU(), (*general, *slabs), {"dense": "P^-1 A is never held here"}, why)
    if slot == "network":
        return Offer(
            NETWORK, (MLP, TrunkBranch, TrunkSolve), why="a family's network takes parameters beside the place"
        )
    if slot == "optimiser":
        return offer_optimisers(GaussNewton(iterations=200))
    if slot == "newton":
        return Refusal("every step of a nonlinear family is one of Newton's method at the network's own values")
    if slot == "loss":
        return Offer(Sampled(), (Sampled, Superposed, Spanned), why="families are trained on residuals over parameters")
    return Offer(Options(), without=NOT_READ)
