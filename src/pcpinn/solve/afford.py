"""What a run is going to need, estimated from its settings before anything is allocated, beside what the machine has.

Rough figures, not calibrated: they are to tell a slip (width=100000) from a large problem.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..discretize.in_time import Simplices, Slabs
from ..environment import available_memory
from ..errors import PcpinnError
from ..mesh.mesh import Mesh
from ..mesh.slab_mesh import AnyMesh, SlabMesh
from ..network.recipe import MLP
from ..problem.problem import Problem
from .march.recipe import March
from .settings import Settings

_PER_DOF = 1500.0  # bytes: matrix, P of some fill, their indices and copies
_COPIES = 6.0  # of the weights: gradients, an optimiser's memory, trial values, checkpoints
_USUAL_CELLS = 25  # along an axis, as `Meshing` has it
_SIMPLICES = {1: 1.0, 2: 2.0, 3: 6.0}  # per cell of a grid
_FLOPS = 5e9  # per second, of one core
_SLOWEST = 86_400.0  # seconds that one iteration may take


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
        PcpinnError: with the figure and what to do.
    """
    if settings.run.force:
        return
    found, free = needs(problem, settings, mesh, observed), available_memory()
    total = sum(n.gib for n in found)
    if free is not None and total > free:
        worst = max(found, key=lambda n: n.gib)
        raise PcpinnError(
            f"this run needs about {total:.3g} GiB, and {free:.3g} GiB are free: {worst.what} take {worst.gib:.3g} GiB",
            f"{worst.remedy}, or try all the same with --force (force=true)",
        )
    seconds = 6.0 * _nodes(problem, settings, mesh)[1] * _weights(problem, settings) / _FLOPS
    if seconds > _SLOWEST:
        raise PcpinnError(
            f"one iteration is going to take about {seconds / 3600:.3g} hours",
            "take a smaller network or fewer cells, or try all the same with --force (force=true)",
        )


def needs(problem: Problem, settings: Settings, mesh: AnyMesh | None = None, observed: int = 0) -> list[Need]:
    """The parts of a run that take memory."""
    weights = _weights(problem, settings)
    inputs = _inputs(problem, settings)
    _, nodes = _nodes(problem, settings, mesh)
    result = [
        Need(f"{weights:.3g} weights", _COPIES * 8 * weights / 2**30, "take a smaller width, depth or feature_count")
    ]
    points = getattr(settings.loss, "collocation", None) or 0
    if points:
        width = getattr(settings.network, "width", 32)
        result.append(
            Need(f"{points:.3g} points of collocation", 8 * points * (inputs + 10 * width) / 2**30, "take fewer")
        )
    else:
        dofs = nodes * problem.components
        result.append(
            Need(
                f"{dofs:.3g} degrees of freedom",
                _PER_DOF * dofs / 2**30,
                "take fewer cells or steps, or a lower degree",
            )
        )
        result.append(Need("features at the nodes", 8 * nodes * inputs / 2**30, "take a smaller feature_count"))
    recipe = settings.recipes.get("time")
    if isinstance(recipe, March):
        kept = recipe.steps / recipe.window * weights
        result.append(Need(f"the networks of {recipe.steps:.3g} steps", 8 * kept / 2**30, "take fewer steps"))
    if observed:
        gib = 3 * 8 * observed * weights / 2**30
        result.append(Need(f"derivatives of {observed:.3g} data", gib, "take fewer data, or a smaller network"))
    return result


def _inputs(problem: Problem, settings: Settings) -> float:
    """What the first layer sees, about."""
    recipe, d = settings.network, problem.domain.dimension
    if not isinstance(recipe, MLP):
        return float(d)
    per_axis = {"log": d, "series": d, "gaussian": 1}.get(recipe.features, 0)
    return d + 2.0 * per_axis * recipe.feature_count


def _weights(problem: Problem, settings: Settings) -> float:
    recipe: Any = settings.network
    if not isinstance(recipe, MLP):
        return 0.0  # a module is there already
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
