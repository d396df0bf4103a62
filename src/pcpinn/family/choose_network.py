"""Which network and which loss a family gets, and why."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..errors import PcpinnError
from ..network.trunk_branch import TrunkBranch
from ..solve.settings import Settings
from .anchors import Anchors
from .family import Family
from .parameters import Distribution
from .recipe import NETWORK, Sampled, Superposed
from .superposed import grouped, units
from .superposition import Superposition, answers_are_affine, superposition
from .system import System

FEW = 8  # parameters up to which one perceptron sees them all
_USUAL = 5e-3  # accuracy that a width is chosen for where none is asked for
_LEFT = 0.3  # of the accuracy: what the least number of functions leaves
_UNITS = 2.5  # hidden units for each of these functions, of which no network has fewer
_WIDTHS = 48, 640


@dataclass(frozen=True)
class Choice:
    """Settings, the reason for their network, and the functions that all answers are sums of, where there are such."""

    settings: Settings
    why: str
    answers: Superposition | None = None


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
        return choice
    free = type(settings.loss) is Sampled and not asks_for(settings, "network")
    free &= not asks_for(settings, "loss", "samples", "adaptive")
    free &= not asks_for(settings, "optimiser", "sample", "matrix", "even")
    if not free or not answers_are_affine(system):
        return choice
    keys = {k: getattr(settings.loss, k) for k in Superposed.schema()}
    return Choice(settings.with_recipe("loss", Superposed(**keys)), choice.why)


def with_answers(choice: Choice, system: System, anchors: Anchors) -> Choice:
    """For a superposition: the functions that all answers are sums of, and a network as wide as their number asks for."""
    settings = choice.settings
    if not isinstance(settings.loss, Superposed):
        return choice
    answers = superposition(system, anchors)
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
