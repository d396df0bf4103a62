"""Newton's method around the training: convergence, damping, P kept, resume, failure, continuation."""

import itertools
import json

import numpy as np
import pytest
import torch
from cases import Manufactured

from pcpinn import (
    Dirichlet,
    Initial,
    Interval,
    PcpinnError,
    Problem,
    Progress,
    Rectangle,
    Reference,
    certify,
    continuation,
    load,
    solve,
)
from pcpinn.baselines import solve_pinn
from pcpinn.discretize.discretisation import check_functions
from pcpinn.discretize.finite_elements import FiniteElements
from pcpinn.mesh.generate import generate_mesh
from pcpinn.solution.folder import read_network
from pcpinn.solve.newton import NotConverged
from pcpinn.train import Checkpoints

SMALL = {"cells": (6,), "degree": 3, "width": 8, "depth": 1, "features": "none", "iterations": 80, "device": "cpu"}
X = np.linspace(0, 1, 41)[:, None]


def line(strength=1.0, power=3):
    """-u'' + strength u^power = f with u = sin(pi x) + x."""
    made = Manufactured(
        Interval(0, 1),
        flux=lambda x, u: u.grad,
        source=lambda x, u: strength * u.value**power,
        exact=(lambda x: torch.sin(torch.pi * x[0]) + x[0],),
    )
    return made.problem({"left": Dirichlet(0.0), "right": Dirichlet(1.0)}, name="cubic")


REFERENCE = Reference(X, np.sin(np.pi * X) + X)


class Notes(Progress):
    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


def test_a_quasilinear_problem_in_two_dimensions():
    made = Manufactured(
        Rectangle((0, 0), (1, 1)),
        flux=lambda x, u: (1 + u.value**2) * u.grad,
        source=lambda x, u: 0 * u.value,
        exact=(lambda x: torch.sin(torch.pi * x[0]) * torch.sin(torch.pi * x[1]),),
    )
    problem = made.problem(dict.fromkeys(made.domain.boundary_names, Dirichlet(0.0)))
    x = np.random.default_rng(0).uniform(size=(100, 2))
    reference = Reference(x, np.prod(np.sin(np.pi * x), axis=1))
    solution = solve(problem, cells=(6, 6), degree=3, width=10, depth=2, features="none", iterations=90, device="cpu",
                     reference=reference)  # fmt: skip
    errors, newton = solution.errors, solution.result["newton"]
    assert errors["training"] < 1e-3
    assert errors["l2re"] < 2e-3
    assert 0.3 < errors["estimate"] / errors["l2re"] < 3
    corrections = newton["corrections"]
    assert corrections[1] < corrections[0] / 5
    assert corrections[2] < corrections[1] / 5
    assert newton["iterations"] <= 7
    assert certify(solution).estimate == pytest.approx(errors["estimate"])


@pytest.mark.parametrize("linearisation", ["newton", "linear-part"])
def test_both_linearisations_find_the_same(linearisation):
    solution = solve(line(), **SMALL, linearisation=linearisation, reference=REFERENCE, tolerance=2e-4)
    newton = solution.result["newton"]
    assert solution.errors["training"] < 1e-3
    assert solution.errors["l2re"] < 1e-3
    assert solution.result["stopped_by"] == "tolerance"
    assert newton["linearisation"] == linearisation
    built = [step["preconditioner"] for step in newton["steps"]]
    assert built[0] == "built"
    if linearisation == "linear-part":
        assert newton["preconditioners_built"] == 1
    assert built[-1] == "kept"  # the last steps change the matrix by next to nothing
    json.dumps(newton, allow_nan=False)


def test_history_and_budget_run_over_all_steps():
    solution = solve(line(), **{**SMALL, "iterations": 30})
    rows = solution.history.rows
    assert [r[0] for r in rows] == list(range(1, len(rows) + 1))
    assert all(a[1] <= b[1] for a, b in itertools.pairwise(rows))
    steps = solution.result["newton"]["steps"]
    assert sum(s["iterations"] for s in steps) == len(rows) == solution.result["iterations"] <= 30
    early = solve(line(), **{**SMALL, "iterations": 6, "newton_iterations": 3, "forcing": 0.0})
    assert [s["iterations"] for s in early.result["newton"]["steps"]] == [2, 2, 2]


def steep():
    """-u'' + 100 (exp(u) - 11) = 0: from far below, where exp is flat, full steps go much too high."""
    return Problem(
        Interval(0, 1),
        lambda x, u: u.grad,
        lambda x, u: 100 * (torch.exp(u.value) - 11),
        {"left": Dirichlet(0.0), "right": Dirichlet(0.0)},
    )


def test_damping_where_it_is_needed():
    solution = solve(steep(), **{**SMALL, "iterations": 200}, start=lambda x: np.full(len(x), -3.0))
    steps = solution.result["newton"]["steps"]
    assert min(s["damping"] for s in steps) < 1
    assert steps[-1]["damping"] == 1
    assert solution.errors["training"] < 1e-2


class Kill(Exception):
    pass


class Killer(Progress):
    def __init__(self, after):
        self.after = after

    def update(self, iteration, loss):
        if iteration > self.after:
            raise Kill


def test_a_run_killed_after_its_last_iteration_ends_as_one_that_was_not(tmp_path, monkeypatch):
    """The last step has met its first tolerance, and was going on to a smaller one when the budget ended."""
    problem = Problem(
        Interval(0, 1),
        lambda x, u: (1 + u.value**2) * u.grad,
        lambda x, u: u.value**3 - 3.0,
        {"left": Dirichlet(0.0), "right": Dirichlet(0.0)},
    )
    settings = {
        "cells": (8,),
        "degree": 2,
        "width": 6,
        "depth": 1,
        "feature_count": 2,
        "iterations": 12,
        "device": "cpu",
    }
    settings["checkpoint_every"] = 0.0
    expected = solve(problem, settings)
    assert expected.result["iterations"] == 12
    write = Checkpoints.write

    def failing(self, snapshot):
        write(self, snapshot)
        if snapshot.iteration >= 12:
            raise Kill

    monkeypatch.setattr(Checkpoints, "write", failing)
    with pytest.raises(Kill):
        solve(problem, settings, out=tmp_path / "run")
    monkeypatch.setattr(Checkpoints, "write", write)
    resumed = solve(problem, settings, out=tmp_path / "run", resume=True)
    assert resumed.result["newton"] == expected.result["newton"]
    assert resumed.result["stopped_by"] == expected.result["stopped_by"]


@pytest.mark.parametrize(
    ("linearisation", "after"), [("newton", 1), ("newton", 9), ("newton", 17), ("linear-part", 12)]
)
def test_resume_gives_what_an_unbroken_run_gives(tmp_path, linearisation, after):
    settings = dict(**{**SMALL, "iterations": 20}, linearisation=linearisation, checkpoint_every=0, certify=False)
    expected = solve(line(), settings)
    with pytest.raises(Kill):
        solve(line(), settings, out=tmp_path / "run", progress=Killer(after))
    resumed = solve(line(), settings, out=tmp_path / "run", resume=True)
    assert torch.equal(resumed.network.theta, expected.network.theta)
    np.testing.assert_array_equal(resumed.history.losses, expected.history.losses)
    assert resumed.result["newton"] == expected.result["newton"]
    quality = [r.result["preconditioner"]["quality"] for r in (resumed, expected)]  # of a P that was kept, too
    assert quality[0] == quality[1]
    np.testing.assert_array_equal(load(tmp_path / "run")(X), expected(X))


def test_a_damaged_checkpoint_is_refused(tmp_path):
    settings = dict(**{**SMALL, "iterations": 20}, checkpoint_every=0)
    with pytest.raises(Kill):
        solve(line(), settings, out=tmp_path / "run", progress=Killer(8))
    (tmp_path / "run" / "checkpoint.safetensors").write_bytes(b"not one")
    with pytest.raises(PcpinnError):
        solve(line(), settings, out=tmp_path / "run", resume=True)


def bratu(strength):
    """-u'' = strength exp(u): no solution beyond 3.51."""
    return Problem(
        Interval(0, 1),
        lambda x, u: u.grad,
        lambda x, u: -strength * torch.exp(u.value),
        {"left": Dirichlet(0.0), "right": Dirichlet(0.0)},
    )


def test_what_has_no_solution_fails_with_its_history(tmp_path):
    with pytest.raises(NotConverged, match="corrections by step") as caught:
        solve(bratu(20.0), **{**SMALL, "iterations": 400}, out=tmp_path / "run")
    assert "continuation" in caught.value.remedy
    assert "linear-part" in caught.value.remedy
    kept = read_network(tmp_path / "run" / "network-unfinished.safetensors")
    assert torch.isfinite(kept.theta).all()
    with pytest.raises(PcpinnError, match="no finished run"):
        load(tmp_path / "run")


def test_continuation_starts_from_the_last_network(tmp_path):
    notes = Notes()
    solution = continuation(bratu, [1.0, 2.0, 3.0], dict(**SMALL), out=tmp_path / "run", progress=notes)
    facts = solution.result["continuation"]
    assert [f["value"] for f in facts] == [1.0, 2.0]
    assert load(tmp_path / "run").result["continuation"] == facts
    assert solution.errors["training"] < 5e-3
    # u(1/2) = 2 log cosh(t / 4) with t = sqrt(6) cosh(t / 4)
    t = 2.0
    for _ in range(200):
        t = np.sqrt(2 * 3.0) * np.cosh(t / 4)
    assert solution([[0.5]])[0] == pytest.approx(2 * np.log(np.cosh(t / 4)), rel=1e-2)
    assert any("continuation 3 of 3" in note for note in notes.notes)
    with pytest.raises(PcpinnError, match=r"at 20\.0: Newton's method failed"):
        continuation(bratu, [1.0, 20.0], dict(**{**SMALL, "iterations": 100}))
    with pytest.raises(PcpinnError, match="no values"):
        continuation(bratu, [])


@pytest.mark.parametrize(
    ("start", "message"),
    [(lambda x: np.zeros((len(x), 2)), "shape"), (lambda x: np.full(len(x), np.nan), "not finite")],
)
def test_bad_starts_are_refused(start, message):
    with pytest.raises(PcpinnError, match=message):
        solve(line(), **SMALL, start=start)


def test_a_solution_as_start_saves_work():
    first = solve(line(), **SMALL)
    again = solve(line(), **SMALL, start=first, tolerance=first.errors["training"] * 5)
    assert again.result["iterations"] < 5
    other = solve(line(), **{**SMALL, "width": 6}, start=first)  # another network: only its values are used
    assert other.errors["training"] < 1e-2


def test_space_time_at_once():
    """u_t = u_xx / pi^2 - u^3 + f with u = sin(pi x) exp(-t)."""

    def exact(x, t):
        return torch.sin(torch.pi * x[0]) * torch.exp(-t)

    problem = Problem(
        Interval(0, 1).over(0, 1),
        density=lambda x, u: u.value,
        flux=lambda x, u: u.grad / torch.pi**2,
        source=lambda x, t, u: u.value**3 - exact(x, t) ** 3,
        boundary={"left": Dirichlet(0.0), "right": Dirichlet(0.0), "initial": Initial(exact)},
    )
    x = np.random.default_rng(0).uniform(size=(200, 2))
    reference = Reference(x, np.sin(np.pi * x[:, 0]) * np.exp(-x[:, 1]))
    slabs = {"cells": (4,), "steps": 2, "time": "slabs", "scheme": "radau", "order": 3}
    solution = solve(problem, **{**SMALL, **slabs, "width": 10, "depth": 2, "iterations": 60}, reference=reference)
    assert solution.errors["l2re"] < 3e-3
    assert 0.4 < solution.errors["estimate"] / solution.errors["l2re"] < 2.5
    assert solution.result["preconditioner"]["name"] == "time-order"


def test_an_ordinary_pinn_takes_nonlinear_problems():
    changes = {k: v for k, v in SMALL.items() if k != "iterations"}
    solution = solve_pinn(line(), dict(**changes, optimiser="adam", iterations=80, learning_rate=0.03))
    assert solution.history.losses[-1] < 0.3 * solution.history.losses[0]
    assert (solution.result["dofs"], solution.errors["training"]) == (0, None)  # there is no discrete solution
    assert "newton" not in solution.result


def hidden():
    """-u'' + u, and another (u - 5)^2 (9 - u)^2 for 5 < u < 9 alone; u = 8 sin(pi x)."""
    made = Manufactured(
        Interval(0, 1),
        flux=lambda x, u: u.grad,
        source=lambda x, u: u.value + ((u.value - 5).clamp(min=0) * (9 - u.value).clamp(min=0)) ** 2,
        exact=(lambda x: 8 * torch.sin(torch.pi * x[0]),),
    )
    return made.problem({"left": Dirichlet(0.0), "right": Dirichlet(0.0)})


def test_a_nonlinearity_that_no_probe_sees():
    discretisation = FiniteElements(hidden(), generate_mesh(Interval(0, 1), cells=(12,)), 3)
    assert check_functions(discretisation)  # at random states it is linear
    solution = solve(hidden(), **{**SMALL, "cells": (12,), "width": 12}, reference=Reference(X, 8 * np.sin(np.pi * X)))
    assert solution.result["newton"]["iterations"] > 1
    assert solution.errors["l2re"] < 1e-3
    assert solution.errors["training"] < 1e-3
    assert 0.3 < solution.errors["estimate"] / solution.errors["l2re"] < 3


def test_a_linear_problem_is_one_step():
    problem = line(power=1)
    solution = solve(problem, dict(**SMALL), reference=REFERENCE)
    assert "newton" not in solution.result
    assert solution.errors["training"] < 1e-4
    from_function = solve(problem, dict(**SMALL), start=lambda x: np.ones(len(x)))
    assert from_function.result["newton"]["iterations"] == 1
    assert from_function.errors["training"] < 1e-3


@pytest.mark.parametrize("power", [1, 3])
def test_twice_interrupted_in_one_step(tmp_path, power):
    settings = dict(**{**SMALL, "iterations": 20}, checkpoint_every=0, certify=False)
    expected = solve(line(power=power), settings)
    for after, resume in ((10, False), (11, True)):
        with pytest.raises(Kill):
            solve(line(power=power), settings, out=tmp_path / "run", progress=Killer(after), resume=resume)
    resumed = solve(line(power=power), settings, out=tmp_path / "run", resume=True)
    assert torch.equal(resumed.network.theta, expected.network.theta)
