"""The doctor: how hard a problem is, why, and what to do about it, before anything is trained."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from ..discretize.in_time import Slabs
from ..discretize.saddle import with_stable_degrees
from ..discretize.samples import sample_points
from ..discretize.singular import Degenerate
from ..discretize.time_orders import check_start
from ..errors import PcpinnError
from ..mesh.mesh import Mesh
from ..mesh.slab_mesh import AnyMesh, SlabMesh
from ..precondition import ILU, AutoILU
from ..problem.field import component_names
from ..problem.problem import Problem
from ..problem.shape_base import SpaceTime
from ..solve.build import make_discretisation, make_mesh, make_network
from ..solve.linear import settings_of
from ..solve.march.recipe import March
from ..solve.settings import Settings
from ..train import GaussNewton
from .ahead import look_ahead
from .checks import boundary_findings, scaling_findings
from .discrete import Examined, examine, measured_with
from .findings import ORDER, Finding, graded
from .record import ConditionNumber, Preconditioned
from .resolution import resolution_findings
from .signs import refusals
from .size import affordable, first_steps
from .terms import largest_term, states
from .whole_time import by_elements, over_all_time

_PRECONDITION = "precondition, as the finding about preconditioners says"
_BLIND = {  # what residuals at points do not show, or what stalls training on them, by the topic of a finding
    "interfaces": "residuals at points do not see that fluxes must agree across a jump",
    "corners": "its residual is unbounded at the corners",
    "travel": "errors travel along with the waves, and gradients carry them slowly",
}

Variants = Mapping[str, tuple[float, Callable[[float], Problem]]]

_MOST, _MOST_3D, _MOST_GROWTH = 15_000, 6_000, 5_000  # degrees of freedom that are examined, and those of a comparison
_CHEAP = 3  # times as many for marches along a line: short steps, small factors
_HALVINGS = 6  # of the time
_PATIENCE = 2.0  # seconds for incomplete factors, one drop tolerance after the other
_DROPS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
_GOOD, _NEAR = 1.1, 0.05  # condition after preconditioning and error of P^-1 b that are good enough
_STATES = 300  # points at which coefficients are looked at
_MODE = {
    "condition": "accuracy mode trains on the preconditioned residual, whose condition number is near one",
    "difficulty": "accuracy mode trains on the preconditioned residual, which is nearly the error itself",
    "preconditioner": "accuracy mode takes complete factors where they fit into memory",
    "precision": "accuracy mode computes in float64",
    "resolution": "accuracy mode chooses its own mesh and steps, finer where the error is",
    "scaling": "accuracy mode trains each field in its own units and measures its error beside its own size",
    "cost": "accuracy mode stops at its limits of time and memory and says what it has reached",
}  # of findings that do not say it themselves


@dataclass(frozen=True)
class Diagnosis:
    """All findings, the worst first, and the condition number that they rest on; none where the problem is ill-posed."""

    findings: tuple[Finding, ...]
    condition: ConditionNumber | None
    note: str
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "condition": None if self.condition is None else self.condition.to_dict(),
            "findings": [f.to_dict() for f in self.findings],
            "note": self.note,
            "seconds": round(self.seconds, 2),
        }


def diagnose(
    problem: Problem,
    settings: Settings | Mapping[str, Any] | None = None,
    name: str = "FILE.py",
    variants: Variants | None = None,
) -> Diagnosis:
    """Look at a problem's functions, domain and data; then examine it at reduced size, unless it is ill-posed.

    Args:
        problem: the PDE.
        settings: those that it would be solved with.
        name: what commands call it.
        variants: parameter -> (its value, the problem for another value): growth is measured with these.

    Raises:
        PcpinnError: when the problem cannot be discretised, and no finding says why.
    """
    if not isinstance(problem, Problem):
        raise PcpinnError(
            f"{problem!r:.80} is of type {type(problem).__name__}",
            "give a pcpinn.Problem; of a file: pcpinn doctor FILE",
        )
    started = time.perf_counter()
    problem, _ = with_stable_degrees(problem)  # as it would be solved
    refused = refusals(problem)
    if refused:
        return _finished(refused, None, "nothing was measured: there is no solution", started)
    try:
        return _measured(problem, settings, name, variants or {}, started)
    except PcpinnError as error:
        check_start(problem, sample_points(problem, 10))  # a condition that is missing or too many is the cause
        found = look_ahead(problem)
        hard = [f for f in found if f.severity == "problem" or (f.topic == "nonlinearity" and f.number != 0)]
        if not hard or not str(error).startswith(("Newton", "the step to", "the matrix is singular")):
            raise
        return _finished(found, None, f"nothing was measured: {error.problem}", started)


def _measured(
    problem: Problem, settings: Settings | Mapping[str, Any] | None, name: str, variants: Variants, started: float
) -> Diagnosis:
    settings = by_elements(settings_of("pcpinn", problem, settings, {})).updated({"device": "cpu"})
    whole, full = over_all_time(problem, settings)
    mesh = make_mesh(whole, full)
    size = make_discretisation(whole, mesh, full).size
    small, seen, note = _examined(problem, settings, size)
    found = seen.number
    sampled = states(seen.system.discretisation, seen.u, _STATES)
    ahead = look_ahead(problem, sampled if problem.domain.dimension == mesh.dimension else None, found.inverse_norm)
    findings = [*ahead, *_condition(seen, ahead), *_growth(problem, small, variants, name)]
    findings += _preconditioner(seen, small, name)
    findings.append(_precision(seen, name))
    findings += resolution_findings(whole, mesh, settings.mesh.degree, sampled, name)
    findings += boundary_findings(whole, mesh, name)
    findings += scaling_findings(_sizes(seen), name)
    findings.append(_cost(problem, settings, mesh, size, seen, name))
    return _finished(findings, found, note, started)


def _finished(findings: list[Finding], condition: ConditionNumber | None, note: str, started: float) -> Diagnosis:
    told = [f if f.accuracy_mode else replace(f, accuracy_mode=_MODE.get(f.topic, "")) for f in findings]
    told.sort(key=lambda f: ORDER.index(f.severity))
    return Diagnosis(tuple(told), condition, note, time.perf_counter() - started)


def _examined(problem: Problem, settings: Settings, size: int) -> tuple[Settings, Examined, str]:
    """At reduced size; a march that needs its short steps, over the first of them."""
    most = _MOST if problem.domain.dimension < 3 else _MOST_3D  # factors fill in
    small, note = affordable(problem, settings, most=most * _more(problem, settings), size=size)
    try:
        return small, examine(problem, small), note
    except PcpinnError as error:
        if not settings.marches:
            return _over_less_time(problem, settings, error)
    small, mesh, note = first_steps(problem, settings)
    return small, examine(problem, small, mesh), note


def _over_less_time(problem: Problem, settings: Settings, error: PcpinnError) -> tuple[Settings, Examined, str]:
    """Where all of time at once is beyond all numbers, as for waves that cross the domain often: over the first part of it.

    Raises:
        PcpinnError: the error itself, where that is not so, or shorter times do not help.
    """
    domain = problem.domain
    if not (isinstance(domain, SpaceTime) and isinstance(error, Degenerate)):
        raise error
    most = _MOST if problem.domain.dimension < 3 else _MOST_3D
    for k in range(1, _HALVINGS + 1):
        end = domain.start + (domain.end - domain.start) / 2**k
        part = replace(problem, domain=replace(domain, end=end))
        small, _ = affordable(part, settings, most=most)
        with contextlib.suppress(PcpinnError):
            return small, examine(part, small), f"measured over the time up to t = {end:g}"
    raise error


def _more(problem: Problem, settings: Settings) -> int:
    return _CHEAP if isinstance(settings.time, Slabs | March) and problem.domain.dimension == 2 else 1


def _condition(seen: Examined, ahead: list[Finding]) -> list[Finding]:
    found = seen.number
    if found.relative:
        factors = f"||f||/||u|| = {found.ratio_f_u:.4g} times ||F^-1|| = {found.inverse_norm:.4g}"
        text = f"the condition number is {found.condition:.4g}: {factors}"
    else:
        text = f"f or u vanishes, so only the absolute condition number is there: ||F^-1|| = {found.inverse_norm:.4g}"
    # A residual is small beside the terms of the equation, which cancel, rather than beside f, which may vanish.
    terms = max(found.norm_f, largest_term(seen.system.discretisation, seen.u))
    left = 1e-3 * terms * found.inverse_norm / (found.norm_u or 1.0)
    return [
        Finding("condition", graded(left, 1e-1, 1, 1e2), found.condition, text),
        _difficulty(left, terms, ahead),
    ]


def _difficulty(left: float, terms: float, ahead: list[Finding]) -> Finding:
    """For a network that is trained on the residual at points: what that hides, and what it does not see at all."""
    what = f"a residual of 1e-3 of the equation's terms (||.|| = {terms:.3g}) hides an error of up to {left:.1e}"
    blind = [f for f in ahead if f.topic in _BLIND and f.severity != "fine"]
    grade = graded(left, 1e-2, 0.1, 1)
    if blind:
        reasons = "; ".join(dict.fromkeys(_BLIND[f.topic] for f in blind))
        grade = min(grade, "warning", key=ORDER.index)
        hard = "hopeless" if left >= 1 else "hard"
        return Finding("difficulty", grade, left, f"{hard} for an ordinary PINN: {reasons}; {what}", _PRECONDITION)
    hard = "moderate" if left < 0.1 else "hard" if left < 1 else "hopeless"
    words = "no obstacle is seen for an ordinary PINN" if left < 1e-2 else f"{hard} for an ordinary PINN"
    return Finding("difficulty", grade, left, f"{words}: {what}", "" if left < 1e-2 else _PRECONDITION)


def _growth(problem: Problem, settings: Settings, variants: Variants, name: str) -> list[Finding]:
    """The condition number with twice a parameter (||F^-1|| where it is absolute), or ||F^-1|| on half the domain."""
    small, _ = affordable(problem, settings, most=_MOST_GROWTH * _more(problem, settings))
    result = []
    try:
        here = examine(problem, small).number
        for key, (value, make) in variants.items():
            if value == 0:
                continue
            other = examine(make(2 * value), small).number
            power = math.log2(other.inverse_norm / here.inverse_norm)
            change = f"from {here.inverse_norm:.3g} to {other.inverse_norm:.3g} at {key}={2 * value:g}"
            text = f"||F^-1|| grows as {key}^{power:.2g}, {change}"
            if here.relative and other.relative:
                power = math.log2(other.condition / here.condition)
                text = f"the condition number grows as {key}^{power:.2g} (to {other.condition:.3g}); {text}"
            result.append(
                Finding(
                    "growth",
                    "note" if abs(power) > 0.5 else "fine",
                    power,
                    text,
                    f"pcpinn condition {name} --set {key}={2 * value:g}",
                )
            )
        if result:
            return result
        whole, over = over_all_time(problem, small)
        mesh = make_mesh(whole, over)
        half = examine(problem, small, half_of(mesh)).number
        power = math.log2(here.inverse_norm / half.inverse_norm)
        what = "the length of time" if mesh.has_time else "the size of the domain"
        text = f"||F^-1|| grows as the {power:.2g}th power of {what} (half of it: {half.inverse_norm:.3g})"
        more = f"pcpinn solve {name} --set time=march" if mesh.has_time and power > 3 else ""
        return [Finding("growth", graded(power, 3, 6), power, text, more)]
    except PcpinnError as error:
        return [*result, Finding("growth", "note", None, f"growth could not be measured: {error.problem}")]


def half_of(mesh: AnyMesh) -> AnyMesh:
    """The same mesh over half the time, or of half the size about its lower corner."""
    if isinstance(mesh, SlabMesh):
        start = mesh.times[0]
        return SlabMesh(mesh.space, start + (mesh.times - start) / 2)
    nodes = mesh.nodes.copy()
    axes = [-1] if mesh.has_time else list(range(mesh.dimension))
    lower = nodes.min(axis=0)
    for axis in axes:
        nodes[:, axis] = lower[axis] + (nodes[:, axis] - lower[axis]) / 2
    return Mesh(nodes, mesh.cells, mesh.boundaries, has_time=mesh.has_time)


def _preconditioner(seen: Examined, settings: Settings, name: str) -> list[Finding]:
    """The largest drop tolerance that is good enough; what the settings' own choice does."""
    start = f"pcpinn solve {name}"
    if isinstance(settings.time, Slabs | March):
        own = measured_with(seen, settings, "auto")
        text = f"{own.preconditioner} brings it to {_figure(own.condition)}; P^-1 b is {own.applied_error:.1e} from the solution"
        good = (own.condition or math.inf) <= _GOOD
        return [
            Finding(
                "preconditioner", "fine" if good else "note", own.condition, text, f"{start} --set preconditioner=auto"
            )
        ]
    tried: list[tuple[float, Preconditioned]] = []
    started = time.perf_counter()
    for drop in _DROPS:
        if tried and time.perf_counter() - started > _PATIENCE:
            break
        try:
            own = measured_with(seen, settings, ILU(drop, 100.0))
        except PcpinnError:
            continue
        tried.append((drop, own))
        if own.condition is not None and own.condition <= _GOOD and own.applied_error <= _NEAR:
            break
    if not tried or not (tried[-1][1].condition or math.inf) <= 2:
        with contextlib.suppress(PcpinnError):  # other orders of elimination, refinement
            own = measured_with(seen, settings, AutoILU())
            if (own.condition or math.inf) <= 2:
                text = f"ILU with a drop tolerance chosen by its quality brings it to {_figure(own.condition)}"
                command = f"{start} --set preconditioner=auto-ilu"
                return [Finding("preconditioner", "fine", own.condition, text, command)]
    if not tried:
        return [
            Finding(
                "preconditioner",
                "warning",
                None,
                "no incomplete factorisation succeeds",
                f"{start} --set preconditioner=lu",
            )
        ]
    drop, best = tried[-1]
    words = ", ".join(f"{d:g}: {_figure(o.condition)}" for d, o in tried)
    text = f"ILU by drop tolerance brings it to {words}; P^-1 b is then {best.applied_error:.1e} from the solution"
    reached = best.condition is not None and best.condition <= 2
    command = f"{start} --set preconditioner=ilu --set drop_tolerance={drop:g} --set fill_factor=100"
    return [Finding("preconditioner", "fine" if reached else "warning", best.condition, text, command)]


def _precision(seen: Examined, name: str) -> Finding:
    """What rounding of the residual to float32 does to the solution, by doing it."""
    A, u = seen.system.A, seen.u
    single = A.astype(np.float32)
    r = (single @ u.astype(np.float32)).astype(np.float64) - A @ u
    size = seen.system.norm(u) or 1.0
    left = seen.system.norm(seen.inverse.solve(r)) / size
    double = left * 2.0**-29
    choice = "float32" if left < 1e-5 else "float64"
    text = f"rounding the residual to float32 costs {left:.1e} of u, to float64 about {double:.0e}"
    return Finding("precision", graded(left, 1e-5, 1e-1), left, text, f"pcpinn solve {name} --set precision={choice}")


def _sizes(seen: Examined) -> dict[str, float]:
    discretisation, weights = seen.system.discretisation, seen.system.weights
    names = component_names(discretisation.problem.unknowns)
    component = np.asarray(discretisation.unknown_components)
    result = {}
    for k, name in enumerate(names):
        own = component == k
        result[name] = float(np.sqrt(weights[own] @ seen.u[own] ** 2 / weights[own].sum()))
    return result


def _cost(problem: Problem, settings: Settings, mesh: AnyMesh, size: int, seen: Examined, name: str) -> Finding:
    """Degrees of freedom, weights, and a guess of the time from what small pieces took here."""
    where = mesh.space if settings.marches and isinstance(mesh, SlabMesh) else mesh
    weights = make_network(problem, where, settings).parameter_count
    started = time.perf_counter()
    a = torch.ones(1000, 1000)
    for _ in range(3):
        a = a @ a / 1000
    speed = 6e9 / (time.perf_counter() - started)  # flop/s
    growth = (size / seen.number.dofs) ** (1.5 if where.dimension - where.has_time <= 2 else 2)
    setup = seen.seconds * max(growth, 1.0)
    rows = min(size, getattr(settings.optimiser, "sample", 0) or max(4 * weights, 4000))
    gram = 2 * rows * weights**2 + weights**3 / 3
    passes = 12 * size * weights
    flops = gram + passes if isinstance(settings.optimiser, GaussNewton) else passes
    training = settings.optimiser.iterations * flops / speed
    if settings.marches:
        training *= settings.time.steps / settings.time.window
    memory = 12 * 10 * seen.system.A.nnz * max(growth, size / seen.number.dofs) / 2**30  # ten times the entries of A
    total = setup + training
    text = (
        f"{size} degrees of freedom, {weights} weights, {settings.optimiser.iterations} iterations: set-up about {setup:.0f} s, "
        f"training at most about {training:.0f} s, factors {memory:.2g} GiB on this machine (a rough guess)"
    )
    quick = f"pcpinn solve {name} --preset quick"
    return Finding("cost", graded(total, 120, 3600), total, text, quick if total > 120 else f"pcpinn solve {name}")


def _figure(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4g}"
