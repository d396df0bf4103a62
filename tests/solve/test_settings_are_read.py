"""No setting is accepted and ignored: changed, it changes the run; or it is refused, with the reason."""

import math
import types
import typing

import pytest
import torch

import pcpinn as pc
from pcpinn.errors import PcpinnError
from pcpinn.solve.method import METHODS
from pcpinn.solve.settings import problem_is_over_time, resolve

# What may leave a run as it is, each for a reason of its own.
NOT_THIS_RUN = {
    "device", "checkpoint_every", "force", "memory", "time_limit",  # how it runs, not what comes out
    "patience",  # stops what stagnates
    "lines",  # of kinks: 1 is refused without them, 0 is the default
    "curved", "curvature", "grading",  # of curved boundaries and unstructured meshes
    "sweep_tolerance",  # of a GPU
    "newton_iterations", "tolerance", "refresh",  # limits that a short run may not come to
    "causality", "halvings", "cold_iterations",  # tried in tests/solve/march
    "accelerate", "even", "stretch", "refinement",
    "matrix",  # auto chooses one of the others
}  # fmt: skip
SMALL = {"width": 4, "depth": 1, "iterations": 6, "certify": False}
POINTS = {**SMALL, "collocation": 20, "cells": (3, 3)}
METHODS_TRIED = {
    "pcpinn": {**SMALL, "cells": (5, 5), "degree": 1, "optimiser": "adam", "preconditioner": "ilu"},
    "fem-fit": {**SMALL, "cells": (3, 3), "degree": 1},
    "pinn": POINTS,
    "random-features": {"waves": 6, "collocation": 20, "iterations": 2, "certify": False, "cells": (3, 3)},
}


def steady():
    domain = pc.Rectangle((0, 0), (1, 1))
    return pc.Problem(
        domain,
        flux=lambda x, u: u.grad,
        source=lambda x, u: u.value**3 - 1.0,
        boundary=dict.fromkeys(domain.boundary_names, pc.Dirichlet(0.0)),
    )


def heat():
    return pc.Problem(
        pc.Interval(0, 1).over(0, 1),
        density=lambda x, u: u.value,
        flux=lambda x, u: 0.1 * u.grad,
        boundary={
            "left": pc.Dirichlet(0.0),
            "right": pc.Dirichlet(0.0),
            "initial": pc.Initial(lambda x: torch.sin(math.pi * x[..., 0])),
        },
    )


def others(kind, value):
    """Values of a key that are not the present one."""
    if typing.get_origin(kind) is typing.Literal:
        return [v for v in typing.get_args(kind) if v != value]
    if typing.get_origin(kind) in (types.UnionType, typing.Union):
        kind = next(a for a in typing.get_args(kind) if a is not types.NoneType)
    if value is None and typing.get_origin(kind) is tuple:
        return ["0.5;", "0.5,0.5", "0.4"]
    if value is None:
        return {float: [0.3], int: [1, 9]}.get(kind, [])
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, 2 * value + 7]
    if isinstance(value, float):
        return [2 * value or 0.5, 0.02 * value, 1e6 * value, 0.5]
    return ["3,5"] if isinstance(value, tuple) else []


def outcome(method, problem, settings):
    solution = METHODS.find(method).solver(problem, settings)
    facts = {k: v for k, v in solution.result.items() if k not in ("time", "memory", "environment", "preconditioner")}
    return solution.network.theta.detach().numpy().tobytes(), repr(facts)


@pytest.mark.parametrize("method", METHODS_TRIED)
@pytest.mark.filterwarnings("ignore::pcpinn.errors.AccuracyWarning")
def test_each_setting_changes_the_run_or_is_refused(method):
    problem, base = steady(), METHODS_TRIED[method]
    usual = outcome(method, problem, base)
    assert outcome(method, problem, base) == usual  # so that a difference means something
    ignored = []
    for slot, recipe in resolve(METHODS.find(method), problem_is_over_time(problem), base).recipes.items():
        for key in (k for k in recipe.schema().values() if k.name not in NOT_THIS_RUN):
            tried = []
            for value in others(key.type, getattr(recipe, key.name)):
                try:
                    tried.append(outcome(method, problem, {**base, f"{slot}.{key.name}": value}) == usual)
                except PcpinnError:
                    continue  # refused
                if not tried[-1]:
                    break
            if tried and all(tried):
                ignored.append(f"{slot}.{key.name}")
    assert not ignored


@pytest.mark.parametrize(
    ("method", "problem", "changes", "word"),
    [
        ("pcpinn", steady, {"features": "log", "feature_std": 2.0}, "features=gaussian"),
        ("pcpinn", steady, {"features": "none", "feature_high": 2.0}, "features=log"),
        ("pinn", steady, {"frequencies": "1;2"}, "features=list"),
        ("laaf", steady, {"frequencies": "1;2"}, "features=list"),
        ("pcpinn", steady, {"features": "list", "frequencies": "1;2", "feature_count": 3}, "frequencies"),
        ("pcpinn", steady, {"depth": 0, "width": 9}, "no hidden layer"),
        ("pcpinn", steady, {"corner_size": 0.1}, "no corners"),
        ("pinn", steady, {"quadrature": 3}, "assembles nothing"),
        ("fbpinn", steady, {"kinks": "0.5;"}, "coordinates alone"),
        ("pcpinn", steady, {"optimiser": "gauss-newton", "matrix": "exact", "sample": 50}, "no sample"),
        ("pcpinn", heat, {"time": "march", "scheme": "euler", "order": 2}, "one time level"),
        ("pcpinn", heat, {"time": "march", "causality": 1.0}, "window=1"),
        ("pcpinn", heat, {"time": "march", "preconditioner": "stages", "fill_factor": 9}, "complete factors"),
        (
            "pcpinn",
            heat,
            {"time": "march", "preconditioner": "stages", "solves": "factors", "polynomial_accuracy": 0.1},
            "no polynomial",
        ),
    ],
)
def test_what_other_settings_leave_without_effect_is_refused(method, problem, changes, word):
    with pytest.raises(PcpinnError, match=word):
        resolve(METHODS.find(method), problem_is_over_time(problem()), changes)


def test_a_preset_may_hold_what_another_choice_does_not_read():
    """features=none beside a preset with feature_high: nothing was said about it by the user."""
    found = resolve(METHODS.find("pcpinn"), False, {"features": "none"}, {"features": "log", "feature_high": 3.0})
    assert found.network.features == "none"
