"""Marches that cannot be done: a coarser answer with a verdict, or a verdict that says what would be needed."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from cli.typed import run

import pcpinn as pc
from pcpinn.errors import PcpinnError
from pcpinn.progress import Progress
from pcpinn.solution.no_answer import NoAnswer
from pcpinn.solve.adapt import accuracy, first_march, marched
from pcpinn.solve.adapt.limits import Limits
from pcpinn.solve.adapt.marches import TooLong
from pcpinn.solve.adapt.pace import Pace, TooSlow
from pcpinn.solve.adapt.sizes import Round, Size, next_size
from pcpinn.solve.adapt.steps import AdaptedMarch
from pcpinn.solve.afford import TooLarge
from pcpinn.solve.march.march import WindowSolver
from pcpinn.solve.newton import NotConverged

FILE = """
import torch
import pcpinn as pc
problem = pc.Problem(
    pc.Interval(0, 1).over(0, 1),
    density=lambda x, u: u.value,
    flux=lambda x, u: 0.1 * u.grad,
    boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0),
              "initial": pc.Initial(lambda x: torch.sin(torch.pi * x[0]))},
)
"""


def heat():
    space = {}
    exec(FILE, space)
    return space["problem"]


def exact(points):
    return np.sin(np.pi * points[:, 0]) * np.exp(-0.1 * np.pi**2 * points[:, 1])


def slow_windows(monkeypatch, own_time, seconds, shorter_than=1.0):
    """Each window of a march of networks, if it is short enough, takes so much longer."""
    usual = WindowSolver.solve

    def solve(self, window, *rest):
        own_time.skip(seconds if np.ptp(window.layers.times) < shorter_than else 0.0)
        return usual(self, window, *rest)

    monkeypatch.setattr(WindowSolver, "solve", solve)


class Notes(Progress):
    def __init__(self):
        self.texts = []

    def note(self, text):
        self.texts.append(text)


@pytest.mark.filterwarnings("ignore::pcpinn.errors.AccuracyWarning")
def test_a_march_that_is_too_slow_is_done_on_a_coarser_plan(monkeypatch, own_time):
    """16 steps of 0.8 s do not fit into what is left of 10 s."""
    slow_windows(monkeypatch, own_time, 0.8, shorter_than=0.1)
    monkeypatch.setattr(marched, "first_width", lambda *_: 3)
    monkeypatch.setattr(marched, "next_size", lambda rounds, *_: (Size(5) if len(rounds) < 2 else None, None))
    notes = Notes()
    solution = pc.solve(heat(), accuracy=1e-4, time_limit=10.0, device="cpu", progress=notes)
    assert (solution.verdict.reached, solution.verdict.limited_by) == (False, "time")
    steps = len(solution.network.times) - 1
    planned = [level[1] for level in solution.result["adaptation"]["levels"]]
    assert steps == planned[-2] < planned[-1]
    assert any(re.search(r"steps of \d", text) and "are left" in text for text in notes.texts)
    points = np.random.default_rng(0).random((500, 2))
    true = np.linalg.norm(solution(points) - exact(points)) / np.linalg.norm(exact(points))
    assert true < 1.5 * solution.verdict.estimate  # judged by the finest level


def test_a_march_without_any_time_says_how_much_it_needs(monkeypatch, own_time, tmp_path, capfd):
    (tmp_path / "heat.py").write_text(FILE)
    file, folder = tmp_path / "heat.py", tmp_path / "run"
    options = ("--accuracy", "1e-2", "--device", "cpu", "--set", "time_limit=2.5", "--json", "--out", folder)
    with monkeypatch.context() as slowly:
        slow_windows(slowly, own_time, 0.5)
        code, out, err = run(capfd, "solve", file, *options)
    assert code == 3
    verdict = json.loads(out)["verdict"]
    assert (verdict["asked"], verdict["reached"], verdict["estimate"]) == (0.01, False, None)
    assert verdict["limited_by"] == "time"
    assert re.search(r"steps of \d", err)
    assert "time_limit=" in verdict["advice"]
    code, out, err = run(capfd, "resume", folder, "--problem", file, "--set", "time_limit=60", "--json")
    assert code == 0, err
    assert json.loads(out)["verdict"]["reached"] is True


def test_planning_out_of_time_says_how_much_it_needs():
    with pytest.raises(NoAnswer, match=r"steps are solved, .* s each") as stop:
        pc.solve(heat(), accuracy=1e-3, time_limit=0.05)
    assert stop.value.verdict.limited_by == "time"


def test_steps_of_networks_that_cannot_be_solved_are_named(monkeypatch):
    """Newton's method fails in the networks of every plan, as where a discrete march found garbage."""

    def solve(self, *_):
        raise NotConverged("Newton's method does not converge at t = 0.1", "shorter steps")

    monkeypatch.setattr(WindowSolver, "solve", solve)
    with pytest.raises(NoAnswer, match="steps cannot be solved: a network with 16, 8 steps: Newton's method") as stop:
        pc.solve(heat(), accuracy=1e-2, device="cpu")
    assert stop.value.verdict.limited_by == "time step"
    lowest = []
    monkeypatch.setattr(first_march, "below_zero", lambda problem, values: lowest.append(values) or "clamp it")
    with pytest.raises(NoAnswer) as stop:
        pc.solve(heat(), accuracy=1e-2, device="cpu")
    assert stop.value.remedy == "clamp it"
    assert lowest[0].shape == (1,)


def test_failures_of_the_finest_plan_leave_a_coarser_answer(monkeypatch):
    usual = WindowSolver.solve

    def solve(self, window, *rest):
        if np.ptp(window.layers.times) < 0.1:
            raise NotConverged("Newton's method does not converge", "shorter steps")
        return usual(self, window, *rest)

    monkeypatch.setattr(WindowSolver, "solve", solve)
    solution = pc.solve(heat(), accuracy=1e-2, device="cpu")
    assert len(solution.network.times) == 9
    assert solution.verdict.reached


def test_a_network_too_large_for_the_memory_is_made_on_a_coarser_plan(monkeypatch):
    usual = marched.march

    def march(problem, settings, **rest):
        if settings.time.steps > 8:
            raise TooLarge("this run needs about 99 GiB", "take less")
        return usual(problem, settings, **rest)

    monkeypatch.setattr(marched, "march", march)
    solution = pc.solve(heat(), accuracy=1e-2, device="cpu")
    assert len(solution.network.times) == 9
    assert solution.verdict.reached

    def refused(*_, **__):
        raise TooLarge("this run needs about 99 GiB", "take less")

    monkeypatch.setattr(marched, "march", refused)
    with pytest.raises(NoAnswer, match="99 GiB") as stop:
        pc.solve(heat(), accuracy=1e-2, device="cpu")
    assert stop.value.verdict.limited_by == "memory"


def test_discrete_steps_that_cannot_be_solved_say_what_was_tried():
    """u_t = u^2 from 2 blows up at t = 1/2."""
    problem = pc.Problem(
        pc.Interval(0, 1).over(0, 1),
        density=lambda x, u: u.value,
        flux=lambda x, u: u.grad,
        source=lambda x, u: -(u.value**2),
        boundary={"left": pc.Neumann(0.0), "right": pc.Neumann(0.0), "initial": pc.Initial(2.0)},
    )
    with pytest.raises(
        NoAnswer, match=r"step to t = 0\.(499|5).* cannot be solved, not even one of length [0-9.]+e-"
    ) as stop:
        pc.solve(problem, accuracy=1e-2, device="cpu")
    assert stop.value.verdict.limited_by == "time step"


@pytest.mark.filterwarnings("ignore::pcpinn.errors.AccuracyWarning")
def test_a_larger_network_that_fails_does_not_cost_the_answer(monkeypatch):
    monkeypatch.setattr(accuracy, "_WIDTHS", (2, 3))
    monkeypatch.setattr(accuracy, "_LONG", 40)
    usual, notes = accuracy.Trainer._train, Notes()

    def train(self, attempt):
        if attempt.width == 3:
            raise NotConverged("Newton's method does not converge", "another start")
        return usual(self, attempt)

    monkeypatch.setattr(accuracy.Trainer, "_train", train)
    problem = pc.Problem(
        pc.Interval(0, 1),
        flux=lambda x, u: u.grad,
        source=lambda x, u: -1000 * torch.sin(60 * x[0]) * x[0],
        boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)},
    )
    solution = pc.solve(problem, accuracy=1e-5, device="cpu", progress=notes)
    assert solution.verdict.reached is False
    assert any("the answer before stands" in text for text in notes.texts)


def test_a_second_level_that_confirms_the_first_may_take_more_of_the_time():
    limits = Limits(100.0)
    limits.clock.add(40.0)
    assert limits.would_exceed(0.5)
    assert not limits.would_exceed(0.5, confirming=True)
    assert limits.would_exceed(0.8, confirming=True)
    longer = Limits(limits.needed(0.8), clock=limits.clock)
    assert not longer.would_exceed(0.79)
    assert longer.would_exceed(0.81)


def tried(*rounds):
    return [Round(Size(width, *halvings), estimate) for width, estimate, *halvings in rounds]


def following(rounds, limits, took=0.01, asked=1e-3):
    return next_size(tried(*rounds), asked, took, limits, dofs=1000, dimension=2)


def test_the_next_network_of_a_march_is_as_wide_as_there_is_time_for():
    limits = Limits(100.0)
    limits.clock.add(20.0)
    assert following([(50, 0.1)], limits, 1.0) == (Size(100), None)
    assert following([(0, 0.1)], limits, 1.0) == (None, None)  # the user's own network
    size, why = following([(50, 0.1)], limits, 40.0)
    assert why is None
    assert 65 < size.width < 75  # twice the time of the last one
    size, (limited, advice) = following([(50, 0.1)], limits, 69.0)
    assert (size, limited) == (None, "time")
    assert "time_limit=326" in advice
    assert "100 units instead of 50" in advice


def test_the_next_network_of_a_march_is_as_wide_as_the_last_ones_say():
    limits = Limits(100.0)
    # The estimate falls with the width: three times too large, so three times the units; 100 times, four.
    assert following([(50, 4e-3), (100, 2e-3)], limits) == (Size(300), None)
    assert following([(50, 0.4), (100, 0.2)], limits) == (Size(400), None)
    most = [(50, 4e-3), (700, 2e-3), (790, 1e-3)]  # sixteen times the first
    assert following(most, limits, asked=1e-4) == (None, None)


@pytest.mark.parametrize("last", [0.0195, 0.03, np.inf])
def test_where_units_do_not_help_cells_may(last):
    stalled, limits = [(50, 0.02), (100, last)], Limits(100.0)
    assert following(stalled, limits) == (Size(50, 1), None)
    size, (limited, advice) = following(stalled, limits, 30.0)  # four times that is more than there is
    assert (size, limited) == (None, "time")
    assert "time_limit=13" in advice
    assert following([*stalled, (50, 2e-3, 1)], limits) == (Size(100, 1), None)  # they did: more units again
    size, (limited, advice) = following([*stalled, (50, 0.019, 1)], limits)
    assert (size, limited) == (None, "network")
    assert "nor finer cells" in advice
    size, (limited, advice) = following(stalled, Limits(100.0, 1e-3))  # no memory for them
    assert (size, limited) == (None, "memory")
    assert "2.0e-02 with 50" in advice


def test_finer_cells_bring_a_march_of_networks_on_where_units_do_not():
    """A standing wave in a square: what is wrong in each step falls with the cells."""
    domain = pc.Rectangle((0, 0), (1, 1), name="sides")

    def start(x):
        return torch.sin(2 * torch.pi * x[0]) * torch.sin(2 * torch.pi * x[1])

    problem = pc.Problem(
        domain.over(0, 0.5),
        fields=["u", "v"],
        density=lambda x, u, v: (u.value, v.value),
        source=lambda x, u, v: (-v.value, 0.0),
        flux=lambda x, u, v: (0 * u.grad, u.grad),
        boundary={
            "sides": {"u": pc.Dirichlet(0.0), "v": pc.Dirichlet(0.0)},
            "initial": {"u": pc.Initial(start), "v": pc.Initial(0.0)},
        },
    )
    given = {"time": "march", "scheme": "radau", "time.order": 3, "steps": 16, "degree": 3, "depth": 1}
    given |= {"initialisation": "radial", "activation": "exp", "features": "none", "feature_count": 1}
    given |= {"iterations": 0, "start_iterations": 0, "device": "cpu", "split_errors": False}
    x = np.random.default_rng(0).random((2000, 3)) * [1, 1, 0.5]
    exact = np.sin(2 * np.pi * x[:, 0]) * np.sin(2 * np.pi * x[:, 1]) * np.cos(np.sqrt(8) * np.pi * x[:, 2])

    def true(cells, width):
        solution = pc.solve(problem, {**given, "cells": (cells, cells), "width": width}, accuracy=None)
        return np.linalg.norm(solution(x)[:, 0] - exact) / np.linalg.norm(exact)

    error = true(6, 120)
    assert true(6, 240) > 0.7 * error
    assert true(12, 120) < 0.2 * error


@pytest.mark.filterwarnings("ignore::pcpinn.errors.AccuracyWarning")
def test_a_march_whose_network_is_too_small_says_that_it_is_time_that_lacks(monkeypatch):
    monkeypatch.setattr(marched, "first_width", lambda *_: 2)
    monkeypatch.setattr(marched, "next_size", lambda *_: (None, ("time", "allow more time (time_limit=7)")))
    verdict = pc.solve(heat(), accuracy=1e-3, device="cpu").verdict
    assert (verdict.limited_by, verdict.advice) == ("time", "allow more time (time_limit=7)")
    monkeypatch.setattr(marched, "next_size", lambda *_: (None, None))
    verdict = pc.solve(heat(), accuracy=1e-3, device="cpu").verdict
    assert verdict.limited_by == "network"
    assert "width=4)" in verdict.advice


@pytest.mark.filterwarnings("ignore::pcpinn.errors.AccuracyWarning")
def test_a_wider_network_that_runs_out_of_time_is_no_reason_to_ask_for_a_wider_one(monkeypatch):
    usual = marched._train

    def train(problem, wish, on, size, limits, *rest):
        if size.width == 3:
            limits.clock.add(limits.seconds)
            raise PcpinnError("the time limit was reached", "allow more")
        return usual(problem, wish, on, size, limits, *rest)

    monkeypatch.setattr(marched, "_train", train)
    monkeypatch.setattr(marched, "first_width", lambda *_: 2)
    monkeypatch.setattr(marched, "next_size", lambda *_: (Size(3), None))
    verdict = pc.solve(heat(), accuracy=1e-3, device="cpu", time_limit=50.0).verdict
    assert verdict.limited_by == "time"
    assert "time_limit=100), for a network of width 3" in verdict.advice


def test_pace(own_time):
    pace = Pace(Progress(), left=0.05)

    def march():
        pace.stage("marching", 100)
        for k in range(1, 10):
            own_time.skip(0.01)
            pace.update(k, 1.0)

    with pytest.raises(TooSlow) as stop:
        march()
    assert 0.009 < stop.value.each < 0.05
    pace.stage("errors")
    pace.update(1, 1.0)
    assert isinstance(stop.value, PcpinnError)


@pytest.mark.parametrize(
    ("flux", "source", "limited_by"),
    [
        (1.0, lambda x, u: -50 * torch.exp(u.value), "newton"),  # Bratu's problem beyond its fold has no solution
        (0.0125, lambda x, u: x[0] * u.grad[0], "ill-posedness"),  # what is between two layers hangs on exp(-40)
    ],
)
def test_steady_problems_that_are_not_solved_end_with_a_verdict(flux, source, limited_by, tmp_path):
    sides = {"left": pc.Dirichlet(1.0), "right": pc.Dirichlet(2.0)}
    problem = pc.Problem(pc.Interval(-1, 1), flux=lambda x, u: flux * u.grad, source=source, boundary=sides)
    with pytest.raises(NoAnswer) as stop:
        pc.solve(problem, accuracy=1e-3, out=tmp_path / "run")
    assert stop.value.verdict.reached is False
    assert stop.value.verdict.limited_by == limited_by
    assert not (tmp_path / "run").exists()


def test_more_steps_than_were_planned_are_no_part_of_them():
    """Where steps are halved because they cannot be solved, more are solved than were planned: "25 of 24"."""
    said = str(TooLong(60.0, 25, 24, 37.5))
    assert "25 steps are solved, 1.5 s each" in said
    assert "time_limit=200" in said
    assert "6 of 24 steps are solved" in str(TooLong(60.0, 6, 24, 12.0))


def test_no_limit_is_advised_that_is_shorter_than_one_that_was_not_enough():
    """Most of 300 s had gone by with steps that could not be solved; the rest of the level was short: "time_limit=200"."""
    assert "time_limit=500" in TooLong(300.0, 10, 195, 2.0, before=193.0).remedy
    assert "time_limit=4000" in TooLong(300.0, 10, 100, 100.0).remedy


def test_a_plan_that_time_ended_says_what_one_more_level_needs():
    plan = AdaptedMarch(None, None, None, 1.0, "time", needed=312.0)
    assert marched._longer(plan) == "allow more time (time_limit=400), for finer cells and shorter steps"
    assert marched._longer(replace(plan, needed=None)) is None


def test_a_plan_that_finer_cells_do_not_help_is_not_said_to_need_time():
    """A vibrating beam without a condition on the velocity, whose equation has the shear force as flux."""
    errors = [(183, 8, 0.60, 0.15), (363, 22, 0.60, 0.13), (723, 44, 0.60, 0.3), (1443, 88, 0.60, 0.2)]
    plan = AdaptedMarch(None, None, None, 1.0, "time", errors, needed=312.0)
    assert "error by space 6.0e-01 with 183 degrees of freedom, 6.0e-01 with 1443" in marched._longer(plan)
    assert "time_limit=400" in marched._longer(replace(plan, history=[*errors[:-1], (2883, 88, 0.30, 0.01)]))
