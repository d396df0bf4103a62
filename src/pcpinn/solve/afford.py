"""What a run is going to need, estimated from its settings before anything is allocated, beside what the machine has.

Figures are within a factor of three where they were measured (`cost.py`): they are to tell a slip (width=100000) from a large
problem, and a stage that cannot be interrupted from one that ends within the time limit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..discretize.in_time import Simplices, Slabs
from ..environment import available_memory, free_on_gpu
from ..errors import PcpinnError
from ..mesh.mesh import Mesh
from ..mesh.slab_mesh import AnyMesh, SlabMesh
from ..network.recipe import MLP
from ..network.separated import LARGE
from ..precondition import LU
from ..problem.problem import Problem
from ..train.gauss_newton import GaussNewton
from .build import make_device
from .cost import MARGIN, PROGRAM, iteration_seconds, judging_seconds, setup_seconds, system_bytes
from .march.recipe import March
from .march.room import Sizes, divided, forms_of, march_limit, part_of_optimiser, parts
from .settings import Settings

AFFORDABLE = {1: 10**6, 2: 400_000, 3: 80_000}  # degrees of freedom up to which errors are estimated unasked
_COPIES = 6.0  # of the weights: gradients, an optimiser's memory, trial values, checkpoints
_USUAL_CELLS = 25  # along an axis, as `Meshing` has it
_SIMPLICES = {1: 1.0, 2: 2.0, 3: 6.0, 4: 24.0}  # per cell of a grid
_REMEDIES = {
    "factors in P": "use solves=polynomial, or a coarser mesh",
    "dense inverses in P": "use solves=factors, or a coarser mesh",
    "least squares of the last layer": "take a smaller width or feature_count",
    "features at the nodes": "take a smaller width or feature_count, or give memory, to have tables made a part at a time",
}
_SLOWEST = 86_400.0  # seconds that one iteration may take


class TooLarge(PcpinnError):
    """A run needs more memory than it may take, or than there is."""


@dataclass(frozen=True)
class Need:
    """What one part of a run takes.

    Attributes:
        what: in words, with its size.
        gib: memory.
        remedy: what to make smaller.
    """

    what: str
    gib: float
    remedy: str


def refuse_unaffordable(problem: Problem, settings: Settings, mesh: AnyMesh | None = None, observed: int = 0) -> None:
    """Refuse a run that needs more memory than the machine has free, or a day for each iteration; not with force=true.

    Args:
        problem, settings: of the run.
        mesh: if it is given.
        observed: number of data of an inverse problem.

    Raises:
        PcpinnError: with the figure and what to do; TooLarge where it is one of memory.
    """
    if settings.run.force:
        return
    found = needs(problem, settings, mesh, observed)
    _refuse_memory(found, settings)
    found_cost = predicted(problem, settings, mesh)
    if found_cost.iteration_s > _SLOWEST:
        raise PcpinnError(
            f"one iteration is going to take about {found_cost.iteration_s / 3600:.3g} hours",
            "take a smaller network or fewer cells, or try all the same with --force (force=true)",
        )
    if settings.run.accuracy is not None:
        return  # then the limit is one of all stages, which the search for mesh and network keeps (adapt/limits.py)
    limit = settings.run.time_limit
    for what, seconds in (("setting up P", found_cost.setup_s), ("one iteration", found_cost.iteration_s)):
        if seconds > MARGIN * limit:
            raise PcpinnError(
                f"{what} is going to take about {seconds:.2g} s, and cannot be interrupted: the time limit is {limit:g} s",
                f"allow more time (time_limit={math.ceil(3 * seconds)}), take a smaller network or fewer cells, "
                "or try all the same with --force (force=true)",
            )


def _refuse_memory(found: list[Need], settings: Settings) -> None:
    """Refuse parts that are more than the run may take, or than there is."""
    total, worst = sum(n.gib for n in found), max(found, key=lambda n: n.gib)
    needed = f"this run needs about {total:.3g} GiB"
    takes = f"{worst.what} take {worst.gib:.3g} GiB"
    anyway = "or try all the same with --force (force=true)"
    allowed = settings.run.memory
    if allowed is not None and settings.run.accuracy is None and total > allowed:
        enough = f"allow memory={math.ceil(1.1 * total)}, or {worst.remedy}"
        raise TooLarge(f"{needed}, and memory={allowed:g} are allowed: {takes}", f"{enough}, {anyway}")
    free = available_memory()
    if make_device(settings.run.device).type == "cuda":
        free = None if free is None else free + free_on_gpu()  # what is held where is not told apart here
    if free is not None and total > free:
        raise TooLarge(f"{needed}, and {free:.3g} GiB are free: {takes}", f"{worst.remedy}, {anyway}")


@dataclass(frozen=True)
class Predicted:
    """What a run is going to take, about.

    Attributes:
        dofs, weights: its size.
        setup_s: seconds of assembly and P; iteration_s: of one iteration; judging_s: of the error estimate, 0 without one.
        gib: memory.
    """

    dofs: float
    weights: float
    setup_s: float
    iteration_s: float
    judging_s: float
    gib: float


def predicted(problem: Problem, settings: Settings, mesh: AnyMesh | None = None) -> Predicted:
    """The cost of a run on one core."""
    d, weights = _dimension(problem, settings), _weights(problem, settings)
    dofs = _nodes(problem, settings, mesh)[1] * problem.components
    P, optimiser = settings.recipes.get("preconditioner"), settings.recipes.get("optimiser")
    setup = 0.0 if P is None else setup_seconds(dofs, d, complete=isinstance(P, LU))
    if isinstance(settings.recipes.get("time"), March) and not part_of_optimiser(settings):
        each = iteration_seconds(dofs, _features(problem, settings), second_order=False)  # the last layer alone
    else:
        each = iteration_seconds(dofs, weights, isinstance(optimiser, GaussNewton))
    judging = judging_seconds(_finer(dofs, settings, d), d) if settings.run.certify else 0.0
    gib = sum(n.gib for n in needs(problem, settings, mesh))
    return Predicted(dofs, weights, setup, each, judging, gib)


def _dimension(problem: Problem, settings: Settings) -> int:
    """Of what is meshed."""
    apart = isinstance(settings.recipes.get("time"), Slabs | March)
    return min(3, problem.domain.dimension - int(apart))


def _finer(dofs: float, settings: Settings, d: int) -> float:
    """Degrees of freedom of an error estimate; none where it would be refused."""
    degree = getattr(settings.recipes.get("mesh"), "degree", 1)
    finer = dofs * ((degree + 1) / degree) ** d
    return finer if settings.run.certify and finer <= AFFORDABLE[d] else 0.0


def needs(problem: Problem, settings: Settings, mesh: AnyMesh | None = None, observed: int = 0) -> list[Need]:
    """The parts of a run that take memory."""
    weights = _weights(problem, settings)
    inputs, d = _inputs(problem, settings), _dimension(problem, settings)
    _, nodes = _nodes(problem, settings, mesh)
    marches = isinstance(settings.recipes.get("time"), March)
    result = [
        Need("the program and its libraries", PROGRAM, "use a machine with more memory"),
        Need(f"{weights:.3g} weights", _COPIES * 8 * weights / 2**30, "take a smaller width, depth or feature_count"),
    ]
    points = getattr(settings.recipes.get("loss"), "collocation", None) or 0
    if points:
        width = getattr(settings.recipes.get("network"), "width", 32)
        result.append(
            Need(f"{points:.3g} points of collocation", 8 * points * (inputs + 10 * width) / 2**30, "take fewer")
        )
    else:
        dofs = nodes * problem.components
        result.append(
            Need(
                f"{dofs:.3g} degrees of freedom",
                system_bytes(max(dofs, 0.0 if marches else _finer(dofs, settings, d)), d) / 2**30,
                "take fewer cells or steps, or a lower degree",
            )
        )
        if not marches:
            result.append(Need("features at the nodes", 8 * nodes * inputs / 2**30, "take a smaller feature_count"))
    recipe = settings.recipes.get("time")
    if isinstance(recipe, March):
        device = make_device(settings.run.device)
        sizes = march_sizes(problem, settings, device, mesh)
        tables = parts(sizes, divided(march_limit(settings.run, device), sizes))
        result += [Need(what, tables[what] / 2**30, remedy) for what, remedy in _REMEDIES.items()]
        kept = recipe.steps / recipe.window * weights
        result.append(Need(f"the networks of {recipe.steps:.3g} steps", 8 * kept / 2**30, "take fewer steps"))
    if observed:
        gib = 3 * 8 * observed * weights / 2**30
        result.append(Need(f"derivatives of {observed:.3g} data", gib, "take fewer data, or a smaller network"))
    return result


def march_sizes(problem: Problem, settings: Settings, device: torch.device, mesh: AnyMesh | None = None) -> Sizes:
    """What the memory of a march on a device is going to depend on."""
    time, network = settings.time, settings.recipes.get("network")
    levels, deep = time.order * time.window, not isinstance(network, MLP) or network.depth > 0
    points = _nodes(problem, settings, mesh)[1] / levels
    inputs = round(_inputs(problem, settings))
    return Sizes(
        points,
        points * problem.components,
        levels,
        _dimension(problem, settings),
        inputs,
        round(_features(problem, settings)),
        deep,
        *forms_of(settings.preconditioner, round(points * problem.components), time.order, device),
        separated=not deep
        and getattr(network, "features", None) in ("waves", "cosines")
        and getattr(settings.recipes.get("mesh"), "cells", None) is not None
        and points * inputs > LARGE,
        trained=part_of_optimiser(settings),
    )


def _inputs(problem: Problem, settings: Settings) -> float:
    """What the first layer sees, about."""
    recipe, d = settings.recipes.get("network"), problem.domain.dimension
    d -= isinstance(settings.recipes.get("time"), March)
    if not isinstance(recipe, MLP):
        return float(d)
    if recipe.features in ("waves", "cosines"):
        ball = {1: 2.0, 2: math.pi, 3: 4 * math.pi / 3}[min(d, 3)] * float(recipe.feature_count) ** min(d, 3)
        return ball if recipe.features == "waves" else ball / 2 ** min(d, 3) + 1
    per_axis = {"log": d, "series": d, "gaussian": 1}.get(recipe.features, 0)
    return d + 2.0 * per_axis * recipe.feature_count


def _features(problem: Problem, settings: Settings) -> float:
    """What the last layer sees, about."""
    network = settings.recipes.get("network")
    return float(network.width) if isinstance(network, MLP) and network.depth else _inputs(problem, settings)


def _weights(problem: Problem, settings: Settings) -> float:
    recipe: Any = settings.recipes.get("network")
    if not isinstance(recipe, MLP):
        return 0.0  # a module is there already, and some methods have no network
    outputs, inputs = float(problem.components), _inputs(problem, settings)
    time = settings.recipes.get("time")
    if isinstance(time, March):
        outputs *= time.order * time.window
    if not recipe.depth:
        return (inputs + 1) * outputs
    width = float(recipe.width)
    return (inputs + 1) * width + (recipe.depth - 1) * (width + 1) * width + (width + 1) * outputs


def _nodes(problem: Problem, settings: Settings, mesh: AnyMesh | None) -> tuple[float, float]:
    """Cells, and nodes of all time levels that are held at once."""
    recipe: Any = settings.recipes.get("mesh")
    if recipe is None:
        return 0.0, 0.0
    given = mesh if mesh is not None else problem.domain if isinstance(problem.domain, Mesh) else None
    time = settings.recipes.get("time")
    degree = float(recipe.degree)
    d = problem.domain.dimension
    levels = 1.0
    if isinstance(time, Slabs | March):
        levels = float(time.order) * (time.steps if isinstance(time, Slabs) else time.window)
        d -= 1
    if given is not None:
        cells = float(len((given.space if isinstance(given, SlabMesh) else given).cells))
    else:
        cells = _SIMPLICES[d] * _grid(problem, recipe, time, d)
    return cells, levels * max(1.0, cells * degree**d / math.factorial(d))


def _grid(problem: Problem, recipe: Any, time: Any, d: int) -> float:
    """Cells of a grid over the box around the domain."""
    lower, upper = (np.asarray(b, dtype=np.float64)[:d] for b in problem.domain.bounds)  # type: ignore[attr-defined]
    sides = upper - lower
    if recipe.cells is not None:
        along = [float(c) for c in recipe.cells][:d]
        along += [along[-1]] * (d - len(along))
    else:
        size = recipe.size or float(sides.max()) / _USUAL_CELLS
        along = [max(1.0, float(s) / size) for s in sides]
    if isinstance(time, Simplices) and problem.domain.has_time:
        along[-1] = float(time.steps or max(along))
    return math.prod(along)
