"""Methods: ways to solve a problem, each with the recipes that it reads and its defaults."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from ..discretize.in_time import TIMES, Simplices, Slabs
from ..errors import PcpinnError
from ..mesh.meshing import MESHINGS, Differences, Meshing
from ..mesh.slab_mesh import AnyMesh
from ..network.recipe import MLP, NETWORKS
from ..precondition import PRECONDITIONERS, AutoILU, Preconditioning, Schwarz, Separable, Stages, TimeOrder
from ..problem.problem import Problem
from ..recipes import Recipe, Registry
from ..team import present_team
from ..train import Adam, GaussNewton
from ..train.optimiser import OPTIMISERS, Optimiser
from .march.recipe import March
from .recipes import NewtonMethod, Residual

SLOTS = ("time", "mesh", "preconditioner", "network", "optimiser", "newton", "loss", "run")

_USUAL_MEMORY = 4.0  # GiB
OPTIMISERS_PART = 0.375  # of the memory that a run may take
_FINEST = 1e-8  # accuracies below are lost in rounding errors of the discretisation
ALL_FIXED = {"accuracy": "this method has settings alone; accuracy is for method=pcpinn"}

LOSSES: Registry[type[Recipe]] = Registry("loss", "losses")
LOSSES.register(Residual)
NEWTONS: Registry[type[Recipe]] = Registry("Newton's method", "newton")
NEWTONS.register(NewtonMethod)


@dataclass(frozen=True)
class Options(Recipe):
    """Options of every run.

    Attributes:
        accuracy: relative L2 error that is asked for, the largest over the fields: what is not given is then chosen and
            adapted, and the answer comes with a verdict. None: everything is fixed, by a preset or by defaults.
        seed: for all random numbers.
        device: auto (a GPU if there is one), cpu or cuda.
        precision: of the network: float64 or float32.
        time_limit: seconds of the whole run, set-up and error estimate included; with an accuracy 600 if not given. A solve
            then returns what it has, after one step of its training at least; a march with given steps, which has no answer
            before its end, stops with an error and can be continued with `pcpinn resume`. A set-up, or an iteration, that is
            going to take three times as long by itself is refused, and an error estimate that would take longer is left out.
        memory: GiB that the run may take, of the GPU if it is on one, else of the host: tables that do not fit are made a part
            at a time or kept in single precision, and a run that cannot do with it is refused before it begins. None: P is
            planned with 4 GiB, Gauss-Newton's matrices with 4 or a quarter of a GPU's memory, and tables are kept.
        certify: estimate the total error on a finer discretisation at the end.
        checkpoint_every: seconds between two checkpoints.
        force: begin though the run seems to need more memory than there is, or a day for each iteration.
    """

    accuracy: float | None = None
    seed: int = 0
    device: Literal["auto", "cpu", "cuda"] = "auto"
    precision: Literal["float64", "float32"] = "float64"
    time_limit: float = float("inf")
    memory: float | None = None
    certify: bool = True
    checkpoint_every: float = 10.0
    force: bool = False

    name: ClassVar[str] = "run"
    positive: ClassVar[tuple[str, ...]] = ("memory",)
    not_negative: ClassVar[tuple[str, ...]] = ("checkpoint_every",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.time_limit > 0:
            raise PcpinnError(f"time_limit={self.time_limit:g} must be positive", "leave time_limit out for no limit")
        if self.accuracy is not None and not _FINEST <= self.accuracy < 1:
            beyond = 0 < self.accuracy < _FINEST
            raise PcpinnError(
                f"accuracy={self.accuracy:g} is " + ("beyond double precision" if beyond else "no relative error"),
                f"ask for {_FINEST:g} or more" if beyond else "give one below 1, such as 1e-3",
            )
        if abs(self.seed) >= 2**63:
            raise PcpinnError(f"seed={self.seed} is too large", "take one below 2^63")

    @property
    def planned(self) -> float:
        """GiB that meshes and P are planned with."""
        return _USUAL_MEMORY if self.memory is None else self.memory

    @property
    def for_preconditioner(self) -> float:
        """GiB for P: a half of what is allowed."""
        return _USUAL_MEMORY if self.memory is None else 0.5 * self.memory

    @property
    def for_optimiser(self) -> float | None:
        """GiB for the matrices of an optimiser; None where it may decide by itself."""
        return None if self.memory is None else OPTIMISERS_PART * self.memory

    @property
    def limit(self) -> float:
        """Bytes that the run may take; infinite without a limit."""
        return math.inf if self.memory is None else self.memory * 2**30


RUNS: Registry[type[Recipe]] = Registry("set of options", "runs")
RUNS.register(Options)

REGISTRIES: dict[str, Registry[Any]] = {
    "time": TIMES,
    "mesh": MESHINGS,
    "preconditioner": PRECONDITIONERS,
    "network": NETWORKS,
    "optimiser": OPTIMISERS,
    "newton": NEWTONS,
    "loss": LOSSES,
    "run": RUNS,
}


@dataclass(frozen=True)
class Offer:
    """What a method has for one slot.

    Attributes:
        default: used where nothing is given.
        allowed: the recipes that fit; None for all of the slot.
        without: keys that are not read here, and why.
        why: the reason for the restriction, for messages.
    """

    default: Recipe
    allowed: tuple[type[Recipe], ...] | None = None
    without: Mapping[str, str] = field(default_factory=dict)
    why: str = ""


@dataclass(frozen=True)
class Refusal:
    """Why a method does not read a slot."""

    why: str


Chosen = Mapping[str, Recipe]


@dataclass(frozen=True)
class Method:
    """A way to solve.

    Attributes:
        name: on the command line and in records.
        offer: slot, what was chosen for earlier slots, whether the problem is over time -> what there is for it.
        solver: (problem, settings, ...) -> Solution, with the options of `pcpinn.solve` (or `pcpinn.infer`).
        inverse: whether it is for inverse problems.
        family: whether it is for families of problems.
        presets: what it changes of presets that were made for another method, by preset.
        mesh: makes the mesh that it takes from problem and settings; None: that of its discretisation.
        steady: whether it refuses problems that depend on time.
    """

    name: str
    offer: Callable[[str, Chosen, bool], Offer | Refusal]
    solver: Callable[..., Any]
    inverse: bool = False
    family: bool = False
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    mesh: Callable[[Problem, Any], AnyMesh] | None = None
    steady: bool = False


METHODS: Registry[Method] = Registry("method", "methods")
INVERSE_METHODS: Registry[Method] = Registry("method for inverse problems", "inverse_methods")
FAMILY_METHODS: Registry[Method] = Registry("method for families", "family_methods")


def offer_discretisation(slot: str, chosen: Chosen, over_time: bool) -> Offer | Refusal:
    """Time and mesh, as most methods have them."""
    time = chosen.get("time")
    if slot == "time":
        return Offer(Simplices()) if over_time else Refusal("the problem does not depend on time")
    if isinstance(time, Slabs | March):
        return Offer(Meshing(), (Meshing,), why=f"time={time.name} needs finite elements")
    return Offer(Meshing(), (Meshing, Differences))


def offer_preconditioned(slot: str, chosen: Chosen, over_time: bool) -> Offer | Refusal:
    """The recipes of Algorithms 1 to 4: a preconditioned residual, all at once or marched."""
    time = chosen.get("time")
    marches = isinstance(time, March)
    if slot in ("time", "mesh"):
        return offer_discretisation(slot, chosen, over_time)
    if slot == "preconditioner":
        return _preconditioners(time)
    if slot == "network":
        return Offer(MLP(), (MLP,), why="a march solves for the last layer") if marches else Offer(MLP())
    if slot == "optimiser":
        if isinstance(time, March) and time.linearisation == "none":
            why = "with linearisation=none there is no linear problem that it could step to"
            return offer_optimisers(Adam(), (GaussNewton,), why)
        P = chosen["preconditioner"]
        assert isinstance(P, Preconditioning)
        return offer_optimisers(GaussNewton() if P.near_identity else Adam())
    if slot == "newton":
        return Refusal("a march has Newton's keys in time=march") if marches else Offer(NewtonMethod())
    if slot == "loss":
        return Offer(Residual(), (Residual,))
    if marches:
        no_certificate = {
            "certify": "a march is estimated when an accuracy is asked for, or by pcpinn.certify(solution)",
            "precision": "marches are in float64",
        }
        return Offer(Options(), without=no_certificate)
    return Offer(Options())


def offer_optimisers(default: Optimiser, without: tuple[type[Optimiser], ...] = (), why: str = "") -> Offer:
    """All that train networks (methods without networks have others), but for some."""
    fits = tuple(o for o in OPTIMISERS if issubclass(o, Optimiser) and o not in without)
    return Offer(default, fits, why=why or "it does not train networks")


def _preconditioners(time: Recipe | None) -> Offer:
    team = present_team().size
    shared: Recipe | None = Schwarz(parts=max(Schwarz().parts, team)) if team > 1 else None
    if isinstance(time, March):
        return Offer(shared or Stages(), (Stages, Schwarz), why="a march has a preconditioner of its own")
    general = tuple(P for P in PRECONDITIONERS if P not in (Stages, TimeOrder, Separable))
    if not isinstance(time, Slabs):
        return Offer(shared or AutoILU(), general, why="it needs time=slabs or time=march")
    usual: Recipe = Separable() if time.scheme == "galerkin" else TimeOrder()
    return Offer(shared or usual, (*general, type(usual)), why=f"it does not fit slabs of scheme={time.scheme}")
