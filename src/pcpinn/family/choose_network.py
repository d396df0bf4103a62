"""Which network and which loss a family gets, and why."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from torch import Tensor

from ..errors import PcpinnError
from ..network.trunk_branch import TrunkBranch
from ..network.trunk_solve import TrunkSolve
from ..precondition.auto_lu import AutoLU
from ..progress import Progress
from ..solve.build import make_network
from ..solve.settings import Settings
from ..train import Adam, GaussNewton
from .anchors import Anchors, Values
from .assembly import Assembly
from .budget import SNAPSHOTS, Budget
from .discretise import AnySystem
from .family import Family
from .parameters import Distribution
from .recipe import NETWORK, Sampled, Spanned, Superposed
from .reduced import reduced_equations
from .settled import FEWEST, THRICE, Answers, choose_at, snapshots
from .sizes import sizes_of
from .span import Span, span_of
from .superposed import grouped, units
from .superposition import Superposition, answers_are_affine, linear_part_is_affine, superposition
from .system import System
from .units import first_units

FEW = 8  # parameters up to which one perceptron sees them all
_USUAL = 5e-3  # accuracy that a width is chosen for where none is asked for
_LEFT = 0.3  # of the accuracy: what the least number of functions leaves
_UNITS = 2.5  # hidden units for each of these functions, of which no network has fewer
_UNITS_FEW = 10.0  # the same where functions, or parameters, are few: each function has all details of the answers
_FEW_FUNCTIONS = 32
_WAVES = 4.0  # sines for each function, where these fit well: they have the frequencies of the answers, and each costs its time
_UNTRAINED = 8.0  # of what functions leave: units that leave more than this untrained are too few for so few functions
_UNITS_PER_AXIS = 5.0  # at least: one unit varies along one direction alone
_WIDTHS = 48, 640
_POINTS = 3  # nodes for each unit of a trunk, at least: between fewer it is anything
_ITERATIONS = 2000  # of Gauss-Newton with several parameters: time ends it, or the accuracy
_RATE, _RATE_OF_SOLVES = 2e-3, 1e-3  # Adam's, for coordinates
_FEW_SNAPSHOTS = {1: 16, 2: 64, 3: 192}  # by number of parameters
_BY_SAMPLES = 0.02  # error that one perceptron trained by samples hardly goes below
_MOST_SNAPSHOTS = THRICE**2  # in multiples of these
_ENOUGH = 0.5  # of the accuracy: what functions for few parameters may leave of answers that they were not made of
_DIRECT = {1: 1_000_000, 2: 200_000}  # degrees of freedom of one matrix that is factorised, by dimension
_ROWS, _ROWS_EACH = 600, 6  # of the small matrices of a branch that solves: at least, and for each of its coordinates
_PLACE_ROWS = (2, 3, 6)  # rows at each place that are tried
_COMPARED, _ROUGHLY = 256, (50, 512)  # answers that tell which is best, with units fitted in few steps to few samples
_ACTIVATIONS = "tanh", "sin"  # of hidden units: steps and waves
_BRANCH_OF_ONE = 2, 256  # units of a branch of one parameter for each of many answers, and the most
_BRANCH = 128  # width of the branch of a span


@dataclass(frozen=True)
class Choice:
    """Settings, the reason for their network, and the functions that all answers are sums of, where there are such.

    `otherwise` is what is taken where few functions turn out not to be enough.
    """

    settings: Settings
    why: str
    answers: Superposition | Span | None = None
    otherwise: Choice | None = None


def asks_for(settings: Settings, slot: str, *keys: str) -> bool:
    """Whether a slot, or one of its keys (any by default), was given."""
    named = {f"{slot}.{k}" for k in keys}
    return any((k in named) if keys else k.partition(".")[0] == slot for k in settings.asked) or slot in settings.asked


def with_network(family: Family, settings: Settings) -> Choice:
    """The network that was asked for, or the one that fits the number and kind of parameters."""
    if asks_for(settings, "network"):
        return Choice(settings, "asked for")
    functions = [n for n, p in family.parameters.items() if not isinstance(p, Distribution)]
    if family.count <= FEW and not functions:
        return Choice(settings, f"{family.count} parameters: one perceptron sees them beside the place")
    what = f"{functions[0]!r} is a function" if functions else f"{family.count} parameters"
    keys = {k: getattr(NETWORK, k) for k in NETWORK.schema()}
    why = f"{what}: functions of the place, combined by a branch, learn them apart"
    return Choice(settings.with_recipe("network", TrunkBranch(**keys)), why)


def with_loss(choice: Choice, system: System) -> Choice:
    """The loss over all parameters at once where answers are affine in these, and nothing that only samples have is asked for.

    Raises:
        PcpinnError: where it is asked for and they are not.
    """
    settings = choice.settings
    if isinstance(settings.loss, Superposed):
        if not answers_are_affine(system):
            raise PcpinnError(
                "loss=superposed is for answers that are affine in the parameters, and these are not: "
                "matrix or scaled parameters make them otherwise",
                "leave loss out",
            )
        return Choice(_factorised(settings, system), choice.why)
    if isinstance(settings.loss, Spanned):
        if asks_for(settings, "network") and not isinstance(settings.network, TrunkBranch | TrunkSolve):
            raise PcpinnError(
                f"loss=spanned is for a trunk and a branch, and network={settings.network.name}",
                "leave the network out, or give network=trunk-branch with depth=1",
            )
        return choice
    free = type(settings.loss) is Sampled and not asks_for(settings, "network")
    free &= not asks_for(settings, "loss", "samples", "adaptive")
    free &= not asks_for(settings, "optimiser", "sample", "matrix", "even")
    if not free:
        return choice
    if not answers_are_affine(system):
        if asks_for(settings, "optimiser"):
            return choice
        shared = {k: getattr(settings.loss, k) for k in Sampled.schema().keys() & Spanned.schema().keys() - {"samples"}}
        if system.family.count <= FEWEST:
            shared |= {"snapshots": _FEW_SNAPSHOTS[system.family.count], "samples": 16}
        spanned = settings.with_recipe("loss", Spanned(**shared))
        return Choice(spanned, choice.why, otherwise=None if isinstance(settings.network, TrunkBranch) else choice)
    keys = {k: getattr(settings.loss, k) for k in Superposed.schema()}
    return Choice(_factorised(settings.with_recipe("loss", Superposed(**keys)), system), choice.why)


def _factorised(settings: Settings, system: System) -> Settings:
    """With complete factors of larger matrices than usual, unless another P is asked for: one serves all parameters."""
    own = settings.preconditioner
    if (
        not isinstance(own, AutoLU)
        or not isinstance(system, Assembly)
        or asks_for(settings, "preconditioner", "direct")
    ):
        return settings
    most = _DIRECT.get(system.form.mesh.dimension, own.direct)
    return settings.with_recipe("preconditioner", replace(own, direct=max(most, own.direct)))


def _optimised(settings: Settings, numbers: int) -> Settings:
    """With the optimiser that goes with a span, unless another one is given: Gauss-Newton for one hidden layer of the branch."""
    if settings.asked.get("optimiser") not in (None, "auto"):
        return settings
    own, counted = settings.optimiser, asks_for(settings, "optimiser", "iterations")
    if getattr(settings.network, "branch_depth", 0) == 1:
        if isinstance(own, GaussNewton) and numbers > 1 and not counted:
            return settings.with_recipe("optimiser", replace(own, iterations=_ITERATIONS))
        return settings
    given = {"iterations": own.iterations} if counted else {}
    rate = _RATE_OF_SOLVES if isinstance(settings.network, TrunkSolve) else _RATE
    return settings if isinstance(own, Adam) else settings.with_recipe("optimiser", Adam(learning_rate=rate, **given))


def with_answers(
    choice: Choice,
    system: AnySystem,
    anchors: Anchors,
    choose: Callable[[Values | None], None],
    progress: Progress,
    budget: Budget,
) -> Choice:
    """The functions that all answers are sums of, where the loss has such, and a network as wide as their number asks for."""
    settings = choice.settings
    if isinstance(settings.loss, Spanned):
        return _with_span(choice, system, anchors, choose, progress, budget)
    if not isinstance(settings.loss, Superposed):
        return choice
    answers = superposition(system, anchors)
    if system.one_matrix:
        anchors.answers = answers.at
    if asks_for(settings, "network"):
        return Choice(settings, choice.why, answers)
    left = _LEFT * (settings.run.accuracy or _USUAL)
    rank = answers.rank([rows.to(system.device) for _, rows, _ in grouped(system)], units(system, answers), left)
    width = min(max(math.ceil(_UNITS * rank), _WIDTHS[0]), _WIDTHS[1])
    recipe = TrunkBranch(width=width, depth=1, features="none", initialisation="spread", branch_depth=0)
    why = (
        "one matrix for all parameters, and a right side that is affine in them: so are the answers. "
        f"{rank} functions of the place leave {left:.0e} of them, {width} units are trained for these, and the branch is linear"
    )
    return Choice(settings.with_recipe("network", recipe), why, answers)


def _with_equations(settings: Settings, system: System, anchors: Anchors, span: Span) -> Span:
    """The span with the equations in it, where these are such that a branch can solve them.

    Of some numbers of places and rows, unless they are given, those with which it leaves least of the answers.
    """
    if not isinstance(system, Assembly) or not anchors.symmetric:
        return span
    own = settings.network if isinstance(settings.network, TrunkSolve) else TrunkSolve()
    total = max(_ROWS, _ROWS_EACH * span.count)
    tried = sorted({(own.places or total // k, own.place_rows or k) for k in _PLACE_ROWS})
    z, y = span.z[:_COMPARED], (span.u @ span.D)[:_COMPARED]

    def left(size: tuple[int, int]) -> float:
        found = reduced_equations(system, span, *size, settings.run.seed, *_ROUGHLY)
        return math.inf if found is None else float((found.solution(z.to(y)) - y).norm())

    best = min(tried, key=left) if len(tried) > 1 else tried[0]
    return replace(span, reduced=reduced_equations(system, span, *best, settings.run.seed))


def _asked(settings: Settings, span: Span) -> Settings:
    """The network that was asked for; one that solves with the size of the equations in the span.

    Raises:
        PcpinnError: where there are none.
    """
    network = settings.network
    if not isinstance(network, TrunkSolve):
        return settings
    if span.reduced is None:
        raise PcpinnError(
            "network=trunk-solve is for linear families with symmetric positive matrices, each the sum of numbers times "
            "fixed matrices, and prescribed values of zero; this is none",
            "leave the network out",
        )
    return settings.with_recipe("network", replace(network, **span.reduced.sizes_of()))


def _are_numbers(system: System) -> bool:
    """Whether no parameter is a function."""
    family = system.family
    return isinstance(family, Family) and all(isinstance(p, Distribution) for p in family.parameters.values())


def _spanning(
    choice: Choice, system: AnySystem, anchors: Anchors, progress: Progress, budget: Budget, asked: float
) -> tuple[Answers, Span]:
    """Answers and functions that span them, of more and more answers where these leave too much and nothing else is asked for."""
    settings, loss, count = choice.settings, choice.settings.loss, choice.settings.loss.snapshots
    most = count * (_MOST_SNAPSHOTS if choice.otherwise is not None else 1)
    answers: Answers | None = None
    while True:
        answers = snapshots(system, anchors, count, settings.run.seed, budget, answers)
        tried = budget.done[SNAPSHOTS]
        if tried < count:
            progress.note(f"the time limit has room for {tried} of {count} snapshots")
        if 2 * len(answers[0]) < tried:
            raise PcpinnError(
                f"corrections with the shared P settled at {len(answers[0])} of {tried} parameters only",
                "take loss=sampled, or more krylov_steps and anchors",
            )
        span = span_of(system, *answers, _LEFT * asked, loss.modes)
        progress.note(f"{span.count} functions leave {span.left:.1e} of answers at {len(answers[0])} parameters")
        if span.left <= _ENOUGH * asked or tried < count or count == most or budget.seconds(SNAPSHOTS) <= 0:
            return answers, span
        count *= THRICE


def _seen_by(system: AnySystem, settings: Settings) -> Callable[[Tensor], Tensor]:
    """Places (n, d) -> what the hidden units of a trunk see there."""
    own = settings.network.of_one()
    trunk = settings.with_recipe("network", TrunkBranch(**{k: getattr(own, k) for k in own.schema()}, branch_depth=0))
    assert isinstance(system.family, Family)
    encode: Callable[[Tensor], Tensor] = make_network(system.family.base, system.form.mesh, trunk, parameters=1).encode
    return encode


def _branch_width(numbers: int, answers: int, usual: int) -> int:
    """As wide as answers can tell; along one parameter, where more than usual were made until they told enough, twice as wide."""
    if numbers == 1 and answers > usual:
        each, most = _BRANCH_OF_ONE
        return min(each * answers, most)
    return min(_BRANCH, answers) if numbers <= FEWEST else _BRANCH


def _with_span(
    choice: Choice,
    system: AnySystem,
    anchors: Anchors,
    choose: Callable[[Values | None], None],
    progress: Progress,
    budget: Budget,
) -> Choice:
    settings = choice.settings
    progress.stage("snapshots")
    asked = settings.run.accuracy or _USUAL
    answers, span = _spanning(choice, system, anchors, progress, budget, asked)
    if choice.otherwise is not None and span.left > max(_ENOUGH * asked, _BY_SAMPLES):
        progress.note("that is too much: one perceptron of place and parameters is trained instead")
        return choice.otherwise
    if not system.linear:
        choose_at(answers, choose)
    few = system.family.count <= FEWEST
    if isinstance(settings.network, TrunkSolve) or not (few or asks_for(settings, "network")):
        span = _with_equations(settings, system, anchors, span)
    if asks_for(settings, "network"):
        settings = _optimised(_asked(settings, span), system.family.count)
        own = settings.network
        scale = sizes_of(system, span.z, span.u, span.usual) if getattr(own, "sized", False) else None
        units = first_units(system, span, _seen_by(system, settings), own.width, (own.activation,), settings.run.seed)
        return Choice(settings, choice.why, replace(span, units=units, scale=scale))
    # of all fields: one with few nodes is anything between them
    fewest = min(len(points) for _, _, points in grouped(system))
    left, most = _LEFT * asked, min(_WIDTHS[1], fewest // _POINTS)
    detailed = few or span.count <= _FEW_FUNCTIONS
    each = max(_UNITS_FEW, _UNITS_PER_AXIS * system.form.mesh.dimension) if detailed else _UNITS
    width = min(max(math.ceil(each * span.count), _WIDTHS[0]), most)
    plain = settings.with_recipe("network", replace(NETWORK, width=width, depth=1))
    units = first_units(system, span, _seen_by(system, plain), width, _ACTIVATIONS, settings.run.seed)
    while detailed and units.left > _UNTRAINED * left and 2 * width <= most:
        width *= 2
        units = first_units(system, span, _seen_by(system, plain), width, _ACTIVATIONS, settings.run.seed)
    fewer = min(width, max(math.ceil(_WAVES * span.count), _WIDTHS[0]))
    if units.activation == "sin" and fewer < width:
        waves = first_units(system, span, _seen_by(system, plain), fewer, ("sin",), settings.run.seed)
        if waves.left <= _UNTRAINED * left:
            width, units = fewer, waves
    span, activation = replace(span, units=units), units.activation
    if span.reduced is not None:
        sizes = span.reduced.sizes_of()
        trunk = TrunkSolve(
            width=width, depth=1, features="none", initialisation="spread", activation=activation, **sizes
        )
        why = (
            f"answers at {len(span.z)} parameters have {span.count} functions of the place in common, which leave "
            f"{span.left:.0e} of them: {width} units are trained for these. Matrices are sums of positive numbers times fixed "
            "matrices, and so is the small one that the branch solves with"
        )
        return Choice(_optimised(settings.with_recipe("network", trunk), system.family.count), why, span)
    one = settings.asked.get("optimiser") == GaussNewton.name or _are_numbers(system) or linear_part_is_affine(system)
    span = replace(span, scale=sizes_of(system, span.z, span.u, span.usual))
    recipe = TrunkBranch(
        width=width,
        depth=1,
        features="none",
        initialisation="spread",
        activation=activation,
        sized=span.scale is not None,
        branch_width=_branch_width(system.family.count, len(span.z), settings.loss.snapshots),
        branch_activation=_ACTIVATIONS[0],
        branch_depth=1 if one else 2,
    )
    enters = (
        "numbers, or functions that enter as a source: one hidden layer, and the last one solved for"
        if one
        else "functions that change the matrix: two hidden layers"
    )
    why = (
        f"answers at {len(span.z)} parameters have {span.count} functions of the place in common, which leave {span.left:.0e} "
        f"of them: {width} units are trained for these, then a branch for their coordinates ({enters})"
    ) + ("" if span.scale is None else ". Sizes of answers vary over powers of ten: a factor for them is tried")
    return Choice(_optimised(settings.with_recipe("network", recipe), system.family.count), why, span)
