"""Problems over time to an accuracy: steps and mesh planned by discrete marches, then a march of networks on them."""

from __future__ import annotations

import contextlib
import math
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...discretize.outflow import refuse_outflow
from ...errors import PcpinnError
from ...mesh.mesh import Mesh
from ...mesh.slab_mesh import SlabMesh
from ...network.marched import MarchedNetwork
from ...problem.first_order import first_order
from ...problem.problem import Problem
from ...problem.shape_base import SpaceTime
from ...progress import Progress
from ...recipes import PerAxis
from ...solution.solution import Solution
from ...solution.verdict import Verdict, judge
from ..build import make_device
from ..followed import looked_at
from ..march.march import march
from ..quantity.goal import MarchGoal
from ..refinement import refined_everywhere
from .accuracy import limits_of
from .fields import counted, counts, scales
from .first_march import first_march
from .first_steps import first_steps
from .interfaces import interfaces_of, pieces_of
from .level import Elements
from .limits import Limits
from .march_error import march_distances
from .marches import Marches, MarchPair, Steps, rounded_up
from .moments import steps_that_see
from .plan_file import MarchPlan
from .sizes import Round, Size, first_width, next_size
from .steps import FAR, HELPED, AdaptedMarch, adapt_march
from .unfinished import Unfinished
from .unseen import SAFE, along_pixels, cut_first, pixels_of, say_unseen
from .wish import DEGREE, Wish

_SPACE, _TIME, _TRAINED = 0.22, 0.13, 0.25  # parts of the accuracy
_FIRST_STEPS = 8
_FINE = 4  # times the cells of an even first mesh: with more, steps are chosen on that one first
_ORDER = 3
_QUANTITY = (0.15, 0.1)  # the first two where a quantity is asked for, whose error is doubled in the end
_MANY = 4  # times the degrees of freedom, after which an error by space is to have fallen
_KEPT = 5e6  # at most so many values of the plan are kept, for quantities
_RIDGES = {  # beside what a user says of the network
    "network.depth": 1,
    "network.initialisation": "cells",
    "network.feature_count": 8,
    "network.feature_high": 2.0,
}


def solve_over_time(
    problem: Problem, wish: Wish, limits: Limits, progress: Progress, unfinished: Unfinished
) -> Solution:
    """Solve a problem over time: steps and mesh first, then a march of networks, larger ones where needed."""
    users, problem = problem, first_order(problem)
    domain = problem.domain
    assert isinstance(domain, SpaceTime)
    settings = wish.settings(problem.dimension, {"time": "march"})
    elements = Elements(settings.mesh.degree, settings.mesh.element, settings.mesh.quadrature)
    times = np.linspace(domain.start, domain.end, _FIRST_STEPS + 1)
    steps = Steps("radau", _ORDER, times)
    goal = None if wish.quantity is None else MarchGoal.of(wish.quantity, users)
    space_part, time_part = (_SPACE, _TIME) if goal is None else _QUANTITY
    targets = (space_part * wish.accuracy, time_part * wish.accuracy)

    def plan() -> AdaptedMarch:
        pixels = pixels_of(problem, settings) if wish.mesh is None else None
        if pixels is None:
            jumps = interfaces_of(problem)
            first = jumps.first_mesh(problem, settings, wish.mesh)
            refuse_outflow(problem, first)
            mesh, begun = cut_first(problem, first, elements, limits), steps_that_see(problem, first, steps)
            if mesh is not first and wish.mesh is None:
                jumps, mesh = jumps.on_cut(problem, mesh)
            free = jumps.onto is None and mesh is first
            return adapt_march(problem, mesh, elements, begun, targets, limits, progress, free, jumps.settled, goal)
        even, along = along_pixels(problem, pixels, elements, limits)
        refuse_outflow(problem, even)
        mesh, begun = cut_first(problem, along, elements, limits), steps_that_see(problem, even, steps)
        if mesh.cell_count > _FINE * even.cell_count:
            begun = first_steps(Marches(problem, elements, progress, limits), even, begun, targets[1])
        return adapt_march(problem, mesh, elements, begun, targets, limits, progress, stretch=False, measure=goal)

    adapted = unfinished.plan(MarchPlan(problem, elements, steps), plan)

    pieces = pieces_of(problem, adapted.mesh)

    def train(size: Size, on: AdaptedMarch, progress: Progress) -> Solution:
        return unfinished.network(
            problem, lambda out, resume: _train(problem, wish, on, size, limits, progress, pieces, out, resume)
        )

    space = adapted.level.space
    unseen = looked_at(problem, space).hidden_part(adapted.level.finer.space.form)
    say_unseen(unseen, wish.accuracy, progress)
    best: tuple[float, Solution, Verdict] | None = None
    rounds: list[Round] = []
    since, used, coarser, why = limits.clock.seconds, adapted, None, None
    device, fixed = make_device(wish.asked.run.device), wish.fixes("network", "optimiser")
    size = Size(0 if fixed else first_width(problem, adapted, device))
    while True:
        try:
            if best is None:
                solution, used, coarser = first_march(wish.accuracy, adapted, partial(train, size), limits, progress)
            else:
                solution = train(size, used, progress)
        except PcpinnError as error:
            if best is None:
                raise
            progress.note(f"{_named(size)}: {error.problem}; the smaller network's answer stands")
            if limits.left < 0.1 * limits.seconds:
                more = math.ceil(2 * limits.seconds)
                why = ("time", f"allow more time (time_limit={more}), for a network of {_named(size)}")
            break
        errors = _errors(adapted, solution, problem, elements, limits, progress)
        fields = {name: error + unseen for name, error in errors.items()}
        limited = "mesh" if unseen > SAFE * wish.accuracy else coarser or adapted.limited_by or "network"
        took, since = limits.clock.seconds - since, limits.clock.seconds
        verdict = judge(
            wish.accuracy,
            counted(problem, fields),
            limited,
            _longer(adapted) if limited == "time" and coarser is None else None,
        )
        estimate = np.inf if verdict.estimate is None else verdict.estimate
        rounds.append(Round(size, estimate))
        dofs = adapted.level.base.space.size
        following, why = next_size(rounds, wish.accuracy, took, limits, dofs, problem.dimension)
        progress.note(f"{_named(size)}: estimated error {estimate:.1e}")
        if best is None or estimate < best[0]:
            best = (estimate, solution, verdict)
        if verdict.reached or following is None or goal is not None:
            break
        size = Size(*unfinished.decided((following.width, following.halvings)))
    assert best is not None
    _, solution, verdict = best
    if verdict.limited_by == "network" and why is not None:  # a wider one was not tried
        verdict = verdict.blaming(*why)
    elif verdict.limited_by == "network" and not fixed:
        larger = f"give a larger network (width={2 * size.width}), or more time (time_limit=...)"
        verdict = verdict.blaming(verdict.limited_by, larger)
    if problem is not users:  # the rates are not part of the answer
        shown = replace(solution.network.plan, shown=users.components)
        network = MarchedNetwork(solution.network.base, shown, solution.network.times, solution.network.theta.detach())
        solution = replace(solution, network=network, fields=users.unknowns, problem=users)
    solution.result["verdict"] = verdict.to_dict()
    solution.result["errors"]["estimate"] = verdict.estimate
    solution.result["adaptation"] = {
        "levels": [list(row) for row in adapted.history],
        "trust": adapted.trust,
        "networks": [{**asdict(r.size), "estimate": r.estimate if r.estimate < np.inf else None} for r in rounds],
    }
    if goal is not None or adapted.level.finest.values.size <= _KEPT:
        solution.kept["marches"] = MarchPair(adapted.level.base, adapted.level.finest)
    if goal is not None:
        found, off = goal.answer(solution, users)
        progress.note(f"{goal.label}: {', '.join(map(str, found))}")
        solution.result["quantity"] = [q.to_dict() for q in found]
        of_quantity = judge(wish.accuracy, {goal.label: off}, adapted.limited_by or "mesh")
        solution.result["verdict"] = of_quantity.for_quantity(goal.label, verdict.estimate).to_dict()
    return solution


def _train(
    problem: Problem,
    wish: Wish,
    adapted: AdaptedMarch,
    size: Size,
    limits: Limits,
    progress: Progress,
    pieces: PerAxis,
    out: Path | None = None,
    resume: bool = False,
) -> Solution:
    steps, level = adapted.steps, adapted.level
    mesh = _dense_mesh(problem, adapted, size, limits)
    chosen: dict[str, Any] = {
        "time": "march",
        "scheme": steps.scheme,
        "time.order": steps.order,
        "time.steps": len(steps.times) - 1,
        "time.tolerance": _TRAINED * wish.accuracy / 1000,
        "time.split_errors": False,
        **(_RIDGES if wish.fixes_but("network.width", "network") else _units(problem, mesh, size.width, pieces)),
        "optimiser.iterations": 0,
        "start_iterations": 0,
        "scales": scales(level.units, problem, float(np.sqrt(level.space.quadrature.dx.sum() * np.ptp(steps.times)))),
        **({"device": "cpu"} if problem.dimension == 1 else {}),  # many small steps: a GPU would wait for each
    }
    settings = limits_of(wish.settings(problem.dimension, chosen), limits)
    return march(problem, settings, progress=progress, mesh=SlabMesh(mesh, steps.times), out=out, resume=resume)


def _units(problem: Problem, mesh: Mesh, width: int, pieces: PerAxis) -> dict[str, Any]:
    """Gaussian units where the cells are, that know of interfaces; or waves on a ring that is meshed finely enough for them."""
    longest = np.ptp(mesh.nodes[mesh.vertices], axis=1).max()
    ring = mesh.dimension == 1 and any(
        len(problem.conditions[name]) == len(problem.unknowns) for name, _ in problem.periodic_pairs
    )
    if ring and not pieces and 0 < width * longest <= DEGREE[1] * np.ptp(mesh.nodes):  # two nodes per wave
        return {"network.depth": 0, "network.features": "waves", "network.feature_count": width // 2}
    sizes = {"network.width": width} if width else {}
    units = {"network.depth": 1, "network.initialisation": "radial", "network.activation": "exp"}
    known = {"network.interfaces": pieces} if pieces else {}
    return {**units, "network.features": "none", "network.feature_count": 1, **sizes, **known}


def _longer(adapted: AdaptedMarch) -> str | None:
    """What to do where time ended the planning, if it is known how much would have been enough, or that no time is."""
    *earlier, (dofs, _, now, _) = adapted.history or [(0, 0, 0.0, 0.0)]
    before = [row for row in earlier if row[0] * _MANY <= dofs]
    if before and now > FAR and now > HELPED * before[-1][2]:
        return (
            f"finer cells do not help (error by space {before[-1][2]:.1e} with {before[-1][0]} degrees of freedom, {now:.1e} "
            f"with {dofs}): check the conditions of each field, without one flux . n = 0; else the solution is rough"
        )
    if adapted.needed is None:
        return None
    return f"allow more time (time_limit={rounded_up(adapted.needed)}), for finer cells and shorter steps"


def _named(size: Size) -> str:
    return f"width {size.width}" + (", cells halved" if size.halvings else "")


def _dense_mesh(problem: Problem, adapted: AdaptedMarch, wanted: Size, limits: Limits) -> Mesh:
    """The adapted mesh, its cells halved, then refined until it has two nodes per unit of the network."""
    mesh, finest = adapted.mesh, adapted.level.base.space
    for _ in range(wanted.halvings):
        mesh = refined_everywhere(mesh, problem)
    size = finest.size // problem.components * mesh.cell_count // finest.mesh.cell_count
    d = mesh.dimension
    while size < 2 * wanted.width and limits.affords(size * 2**d, d) and limits.in_time(size * 2**d, d):
        mesh, size = refined_everywhere(mesh, problem), size * 2**d
    return mesh


def _errors(
    adapted: AdaptedMarch,
    solution: Solution,
    problem: Problem,
    elements: Elements,
    limits: Limits,
    progress: Progress,
) -> dict[str, float]:
    """Estimated relative L2 error over space and time of a march of networks, by field.

    A network that was trained on finer cells than were planned, and is nearer to the finest march of the plan than the base of
    the plan is, is compared with marches on these cells, where that is cheap: those of the plan might be further off than it is.
    """
    pair: MarchPair = adapted.level
    mesh, network = solution.mesh, solution.network
    distances = march_distances(pair.finest, network)
    if (
        problem.dimension == 1
        and isinstance(mesh, SlabMesh)
        and mesh.space.cell_count > pair.base.space.mesh.cell_count
        and (distances < pair.errors)[counts(problem)].any()
    ):
        progress.stage("error estimate: marches on the cells of the network")
        with contextlib.suppress(PcpinnError):
            pair = Marches(problem, elements, progress, limits).pair(mesh.space, adapted.steps)
            distances = march_distances(pair.finest, network)
    total = distances + (1 / adapted.trust - 1) * pair.errors
    return dict(zip((f.name for f in problem.unknowns), total.tolist(), strict=True))
