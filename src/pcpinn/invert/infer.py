"""Inverse problems: find coefficients from data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..mesh.slab_mesh import AnyMesh
from ..problem.family import Family
from ..problem.problem import Problem
from ..problem.unknowns import Unknown
from ..progress import Callback, Progress
from ..solve.method import INVERSE_METHODS, Method
from ..solve.settings import Settings, problem_is_over_time, resolve
from ..terminal import shown
from .inference import Inference
from .observations import Observations, as_data
from .recipe import offer_inverse
from .record import announce_noise, conclude
from .solution import InverseSolution
from .truth import Truth


def infer(
    problem: Callable[..., Problem],
    data: Observations | Sequence[Observations],
    unknowns: Mapping[str, Unknown],
    settings: Settings | Mapping[str, Any] | None = None,
    *,
    out: str | Path | None = None,
    truth: Truth | None = None,
    progress: Progress | None = None,
    callbacks: Callback | Iterable[Callback] | None = None,
    record: Mapping[str, Any] | None = None,
    resume: bool = False,
    on: AnyMesh | None = None,
    **choices: Any,
) -> InverseSolution:
    """Find the unknown coefficients of a problem from data.

    Args:
        problem: makes the Problem from its unknowns: `lambda a, k: Problem(..., flux=lambda x, u: a(x) * u.grad, ...)`. A
            `Coefficient` is a function of the point, a `Parameter` a tensor. Boundaries where nothing is known are
            `Free()`.
        data: observed values, one set or several.
        unknowns: name -> `Coefficient` or `Parameter`.
        settings: all choices by key, as in presets and `--set`, where they come as one mapping.
        out: a folder to record the run in; it must not exist, unless resumed.
        truth: to measure errors against; training never sees it.
        progress, callbacks, record, resume, on: as of `pcpinn.solve`.
        choices: recipes by slot and single keys, as of `pcpinn.solve`; the loss is `Joint`.

    Raises:
        PcpinnError: for anything the user can correct; nothing has been written then.
    """
    family = Family(problem, unknowns)
    chosen = inverse_settings("infer", family, settings, choices)
    options: dict[str, Any] = {"out": out, "record": record, "resume": resume}
    with shown(progress, callbacks) as told:
        run = Inference(family, as_data(data), chosen, on, truth, progress=told, **options)
        solution = conclude(run, run.carry_out())
        if run.own.out is not None:
            solution.finish(run.own.out)
    announce_noise(run)
    return solution


def inverse_settings(
    method: str, family: Family, settings: Settings | Mapping[str, Any] | None, choices: Mapping[str, Any]
) -> Settings:
    """What a method is to be run with: settings that are complete already, or choices that complete its defaults."""
    if isinstance(settings, Settings):
        return settings.updated(choices)
    over_time = problem_is_over_time(family.base)
    return resolve(INVERSE_METHODS.find(method), over_time, {**(settings or {}), **choices})


INVERSE_METHODS.register(Method("infer", offer_inverse, infer, inverse=True))
