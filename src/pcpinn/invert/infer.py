"""Inverse problems: find coefficients from data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..clock import Clock
from ..environment import describe_environment, peak_memory
from ..mesh.slab_mesh import AnyMesh
from ..problem.family import Family
from ..problem.problem import Problem
from ..problem.unknowns import Unknown
from ..progress import Progress
from .files import finish_inverse
from .inference import Inference
from .observations import Observations, as_data
from .record import conclude
from .settings import InverseSettings
from .solution import InverseSolution
from .truth import Truth


def infer(
    problem: Callable[..., Problem],
    data: Observations | Sequence[Observations],
    unknowns: Mapping[str, Unknown],
    settings: InverseSettings | None = None,
    *,
    out: str | Path | None = None,
    truth: Truth | None = None,
    progress: Progress | None = None,
    record: Mapping[str, Any] | None = None,
    resume: bool = False,
    mesh: AnyMesh | None = None,
    **changes: Any,
) -> InverseSolution:
    """Find the unknown coefficients of a problem from data.

    Args:
        problem: makes the Problem from its unknowns: `lambda a, k: Problem(..., flux=lambda x, u: a(x) * u.grad, ...)`. A
            `Coefficient` is a function of the point at hand, a `Parameter` a tensor. Boundaries of which nothing is known are
            `Free()`.
        data: observed values, one set or several.
        unknowns: name -> `Coefficient` or `Parameter`.
        settings: all choices; keyword arguments change single ones.
        out: a folder to record the run in; it must not exist, unless resumed.
        truth: to measure errors against; training never sees it.
        progress, record, resume, mesh: as of `pcpinn.solve`.

    Raises:
        PcpinnError: for anything the user can put right; nothing has been written then.
    """
    clock = Clock()
    settings = (settings or InverseSettings()).updated(changes)
    run = Inference(Family(problem, unknowns), as_data(data), settings, mesh, out, truth, progress, record, resume)
    training, optimiser, setup_s = run.carry_out(clock)
    run.progress.stage("errors")
    solution = conclude(run, training, optimiser.name)
    solution.result["time"] = clock.times(setup_s, training.seconds)
    solution.result["memory"] = peak_memory(run.device)
    solution.result["environment"] = describe_environment(run.device)
    if run.out is not None:
        finish_inverse(run.out, solution)
    return solution
