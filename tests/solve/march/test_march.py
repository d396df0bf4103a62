"""Marching: errors by part and time, windows of several steps, interruption, storage, what is refused."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

import pcpinn
from pcpinn import Dirichlet, Initial, Interval, PcpinnError, Periodic, Problem, Reference, solve
from pcpinn.checkpoint import Checkpoint
from pcpinn.network.marched import MarchedNetwork
from pcpinn.progress import Progress

SMALL = {"cells": (6,), "degree": 3, "scheme": "radau", "order": 2, "steps": 6, "time": "march", "width": 24,
         "depth": 1, "features": "none", "tolerance": 1e-7, "iterations": 0, "start_iterations": 0, "device": "cpu"}  # fmt: skip


def logistic(nonlinear=1.0):
    """u_t = 0.05 u_xx + nonlinear u (1 - u); from a sine."""
    return Problem(
        Interval(0, 1).over(0, 1),
        density=lambda x, u: u.value,
        flux=lambda x, u: 0.05 * u.grad,
        source=lambda x, u: -nonlinear * u.value * (1 - u.value),
        boundary={
            "left": Dirichlet(0.0),
            "right": Dirichlet(0.0),
            "initial": Initial(lambda x: torch.sin(torch.pi * x[0])),
        },
        name="logistic",
    )


def decay():
    """u = sin(pi x) exp(-0.05 pi^2 t), as a reference at times between the steps too."""
    x = np.stack(np.meshgrid(np.linspace(0, 1, 9), np.linspace(0, 1, 8), indexing="ij"), -1).reshape(-1, 2)
    return Reference(x, np.sin(np.pi * x[:, 0]) * np.exp(-0.05 * np.pi**2 * x[:, 1]))


@pytest.fixture(scope="module")
def linear(tmp_path_factory):
    out = tmp_path_factory.mktemp("march") / "run"
    return solve(logistic(0.0), dict(**SMALL), out=out, reference=decay()), out


def test_the_error_of_all_so_far_stands_beside_each_window(linear):
    solution, out = linear
    exact = decay()
    rows = solution.result["error_history"]
    assert [n for n, _, _ in rows] == [1, 2, 3, 4, 5, 6]
    for n, _, error in rows:
        so_far = exact.points[:, 1] <= n / 6 + 1e-9
        off = solution(exact.points[so_far]) - exact.values[so_far, 0]
        assert error == pytest.approx(np.linalg.norm(off) / np.linalg.norm(exact.values[so_far]))
    assert rows[-1][2] == solution.errors["l2re"]
    number, seconds, error = np.array(pcpinn.load(out).history.measured).T
    assert number == pytest.approx(np.array(rows)[:, 0])
    assert error == pytest.approx(np.array(rows)[:, 2], rel=1e-3)
    assert seconds == pytest.approx(np.array(rows)[:, 1], rel=1e-3, abs=1e-3)  # written with few digits


def test_errors_by_part_and_time(linear):
    solution, out = linear
    errors = solution.errors
    assert errors["l2re"] < 2e-4
    assert errors["training"] < 5e-5
    assert errors["discretisation"] < 2e-4
    rows = solution.result["march"]["errors_by_time"]
    assert [round(r["t"], 6) for r in rows] == [round(k / 7, 6) for k in range(8)]
    total = np.array([r["total"] for r in rows[1:]])
    parts = np.array([r["training"] + r["discretisation"] for r in rows[1:]])
    assert (total <= 1.001 * parts).all()
    assert (out / "errors.csv").read_text().startswith("t,total,training,discretisation\n0.0,")


def test_loads_as_it_was(linear, tmp_path):
    solution, out = linear
    again = pcpinn.load(out)
    assert isinstance(again.network, MarchedNetwork)
    x = np.random.default_rng(0).uniform(size=(50, 2))
    np.testing.assert_array_equal(again(x), solution(x))
    again.plot(tmp_path / "u.png")
    again.to_vtu(tmp_path / "u.vtu")
    again.to_pvd(tmp_path / "u.pvd")
    again.animate(tmp_path / "u.gif", frames=3)
    again.save(tmp_path / "copy")
    np.testing.assert_array_equal(pcpinn.load(tmp_path / "copy")(x), solution(x))
    assert not (out / "checkpoint.safetensors").exists()


def test_hidden_layers_are_stored_once(linear):
    solution, out = linear
    assert (out / "network.safetensors").stat().st_size < 8 * solution.network.parameter_count


def test_differentiable_in_space_and_time(linear):
    solution, _ = linear
    x = torch.tensor([[0.3, 0.41], [0.6, 0.77]], dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(solution(x).sum(), x)
    exact = torch.exp(-0.05 * torch.pi**2 * x[:, 1].detach())
    rate = -0.05 * torch.pi**2 * torch.sin(torch.pi * x[:, 0].detach()) * exact
    torch.testing.assert_close(g[:, 1], rate, rtol=0.02, atol=1e-3)
    torch.testing.assert_close(g[:, 0], torch.pi * torch.cos(torch.pi * x[:, 0].detach()) * exact, rtol=0.02, atol=2e-3)


@pytest.mark.parametrize(
    "changes",
    [
        {"time": "march", "window": 3},
        {"time": "march", "window": 3, "causality": 10.0},
        {"time": "march", "window": 2, "scheme": "bdf2", "order": 1},
        {"scheme": "crank-nicolson", "order": 1},
        {"scheme": "gauss"},
        {"scheme": "euler", "order": 1, "steps": 12, "time": "march", "window": 4},
        {"linearisation": "linear-part"},
        {"halvings": 2},
    ],
)
def test_the_network_follows_the_discrete_march(changes):
    """Whatever the scheme, window or linearisation: what is left is the network's own error."""
    solution = solve(logistic(), dict(**SMALL | changes))
    assert solution.errors["training"] < 2e-4
    assert solution.result["march"]["largest_residual"] < 1e-4


def test_training_takes_over_where_the_last_layer_is_not_enough():
    small = SMALL | {"width": 5, "depth": 2, "tolerance": 1e-4, "steps": 3}
    heads = solve(logistic(), dict(**small))
    trained = solve(logistic(), dict(**small | {"iterations": 15, "start_iterations": 40}))
    assert trained.result["iterations"] > 0
    assert trained.errors["training"] < 0.2 * heads.errors["training"]


def test_adam_steps_as_in_the_paper():
    settings = dict(**SMALL | {"head_steps": 0, "optimiser": "adam", "iterations": 300, "start_iterations": 1500,
                                   "scheme": "euler", "order": 1, "linearisation": "linear-part", "newton_iterations": 3,
                                   "learning_rate": 3e-3})  # fmt: skip
    assert solve(logistic(), settings).errors["training"] < 0.03


def test_periodic_in_the_network():
    problem = Problem(
        Interval(0, 1).over(0, 1),
        density=lambda x, u: u.value,
        flux=lambda x, u: 0.01 * u.grad,
        source=lambda x, u: u.grad[0],
        boundary={"left": Periodic("right"), "initial": Initial(lambda x: torch.cos(2 * torch.pi * x[0]))},
    )
    solution = solve(problem, dict(**SMALL | {"features": "log", "feature_count": 3, "order": 3}))
    t = np.linspace(0, 1, 7)
    ends = [solution(np.stack([np.full(7, x), t], 1), outside="ignore") for x in (0.0, 1.0, 2.0)]
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-9)
    np.testing.assert_allclose(ends[0], ends[2], atol=1e-9)
    exact = np.cos(2 * np.pi * (0.0 - t)) * np.exp(-0.01 * 4 * np.pi**2 * t)
    np.testing.assert_allclose(ends[0], exact, atol=5e-3)


@pytest.mark.parametrize("changes", [{}, {"scheme": "bdf2", "order": 1, "steps": 24}, {"time": "march", "window": 3}])
def test_fields_without_a_rate_are_right_from_the_start(changes):
    """w = -0.1 u_xx has no initial values: network and discrete march give it those that the first step implies."""
    problem = Problem(
        Interval(0, 1).over(0, 1),
        fields=["u", "w"],
        density=lambda x, u, w: (u.value, None),
        flux=lambda x, u, w: (None, -0.1 * u.grad),
        source=lambda x, u, w: (w.value, w.value),
        boundary={
            "left": {"u": Dirichlet(0.0), "w": Dirichlet(0.0)},
            "right": {"u": Dirichlet(0.0), "w": Dirichlet(0.0)},
            "initial": {"u": Initial(lambda x: torch.sin(torch.pi * x[0]))},
        },
    )
    points = np.stack(np.meshgrid(np.linspace(0.1, 0.9, 9), [0.0, 0.02, 0.05, 0.5], indexing="ij"), -1).reshape(-1, 2)
    u = np.sin(np.pi * points[:, 0]) * np.exp(-0.1 * np.pi**2 * points[:, 1])
    truth = Reference(points, np.stack([u, 0.1 * np.pi**2 * u], axis=1), components=(0, 1))
    solution = solve(problem, {**SMALL, **changes}, reference=truth)
    rows = solution.result["march"]["errors_by_time"]
    assert max(row["total"] for row in rows) < 0.05
    assert max(row["training"] for row in rows) < 5e-4
    assert max(row["discretisation"] for row in rows) < 0.05


class Interrupted(Progress):
    """Stops like Ctrl-C in a given window."""

    def __init__(self, at):
        self.at, self.marching = at, False

    def stage(self, name, total=None):
        self.marching = name == "marching"

    def update(self, iteration, loss):
        if self.marching and iteration == self.at:
            raise KeyboardInterrupt


@pytest.mark.parametrize(("refresh", "nonlinear"), [(1, 1.0), (2, 1.0), (1, 0.0)])
def test_resumed_march_gives_the_same_answer(tmp_path, refresh, nonlinear):
    """Also where one P serves for all windows, whose lengths differ by rounding."""
    settings = dict(**SMALL | {"checkpoint_every": 0.0, "refresh": refresh, "iterations": 3, "width": 8, "steps": 5})
    problem = logistic(nonlinear)
    whole = solve(problem, settings, out=tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        solve(problem, settings, out=tmp_path / "cut", progress=Interrupted(4))
    assert (tmp_path / "cut/checkpoint.safetensors").exists()
    assert not (tmp_path / "cut/result.json").exists()
    resumed = solve(problem, settings, out=tmp_path / "cut", resume=True)
    assert torch.equal(resumed.network.theta, whole.network.theta)
    assert resumed.errors == whole.errors
    assert resumed.result["march"]["preconditioners"] == whole.result["march"]["preconditioners"]


KILLED = """
import sys
sys.path[:0] = {path!r}
import os, signal
from test_march import SMALL, decay, logistic
from pcpinn import solve
from pcpinn.progress import Progress

class Killed(Progress):
    def stage(self, name, total=None):
        self.marching = name == "marching"
    def update(self, iteration, loss):
        if self.marching and iteration == 5:
            os.kill(os.getpid(), signal.SIGKILL)

solve(logistic(), {settings!r}, out={out!r}, reference=decay(), progress=Killed())
"""


@pytest.mark.parametrize("refresh", [1, 2])
def test_a_killed_march_measures_the_very_same_errors(tmp_path, refresh):
    """Bit for bit: those over all times, and those at each time of a reference."""
    settings = dict(**SMALL | {"checkpoint_every": 0.0, "refresh": refresh, "iterations": 3, "width": 8})
    whole = solve(logistic(), settings, out=tmp_path / "whole", reference=decay())
    path = [str(Path(__file__).parent), str(Path(pcpinn.__file__).parents[1])]
    script = KILLED.format(path=path, settings=settings, out=str(tmp_path / "cut"))
    ended = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    resumed = solve(logistic(), settings, out=tmp_path / "cut", resume=True, reference=decay())
    assert resumed.errors == whole.errors
    assert resumed.result["march"]["errors_by_time"] == whole.result["march"]["errors_by_time"]
    csv = [(tmp_path / name / "errors.csv").read_bytes() for name in ("whole", "cut")]
    assert csv[0] == csv[1]


def test_time_spent_before_an_interruption_counts(tmp_path, monkeypatch):
    """All of the run, and all of its training; the windows that were done keep their times."""
    settings = dict(**SMALL | {"checkpoint_every": 0.0})
    write = Checkpoint.write
    monkeypatch.setattr(
        Checkpoint, "write", lambda self, t, f: write(self, t, {**f, "seconds": 100.0, "elapsed": 111.0})
    )
    with pytest.raises(KeyboardInterrupt):
        solve(logistic(), settings, out=tmp_path / "cut", progress=Interrupted(4))
    resumed = solve(logistic(), settings, out=tmp_path / "cut", resume=True)
    times = resumed.result["time"]
    assert 111 < times["total_s"] < 140
    assert 100 < times["train_s"] < 129
    assert times["total_s"] >= times["train_s"]
    seconds = [row[1] for row in resumed.history.rows]
    assert [row[0] for row in resumed.history.rows] == [1, 2, 3, 4, 5, 6]
    assert seconds[3] < 60
    assert seconds[4] > 100


def test_damaged_checkpoint(tmp_path):
    settings = dict(**SMALL | {"checkpoint_every": 0.0})
    with pytest.raises(KeyboardInterrupt):
        solve(logistic(), settings, out=tmp_path / "cut", progress=Interrupted(4))
    other = dict(**SMALL | {"width": 25})
    with pytest.raises(PcpinnError, match="damaged"):
        solve(logistic(), other, out=tmp_path / "cut", resume=True)
    (tmp_path / "cut/checkpoint.safetensors").write_bytes(b"no")
    with pytest.raises(PcpinnError):
        solve(logistic(), settings, out=tmp_path / "cut", resume=True)


def test_damaged_network(linear, tmp_path):
    solution, out = linear
    from pcpinn.files import read_tensors, write_tensors

    tensors, metadata = read_tensors(out / "network.safetensors")
    for name, change in {
        "nan": ({"heads": tensors["heads"] * np.nan}, {}),
        "order": ({"times": tensors["times"][::-1].copy()}, {}),
        "short": ({"heads": tensors["heads"][:-1]}, {}),
        "plan": ({}, {"plan": {**metadata["plan"], "scheme": "nonsense"}}),
        "many": ({}, {"plan": {**metadata["plan"], "per_window": 10**9}}),
        "missing": ({}, {"plan": {}}),
    }.items():
        folder = solution.save(tmp_path / name)
        write_tensors(folder / "network.safetensors", tensors | change[0], metadata | change[1])
        with pytest.raises(PcpinnError):
            pcpinn.load(folder)


def test_explosion_is_told(tmp_path):
    """u_t = 4000 u^2 blows up at t = 1/4000: nothing can be solved beyond."""
    problem = Problem(
        Interval(0, 1).over(0, 1),
        density=lambda x, u: u.value,
        flux=lambda x, u: 0.01 * u.grad,
        source=lambda x, u: -4000 * u.value**2,
        boundary={
            "left": Dirichlet(0.0),
            "right": Dirichlet(0.0),
            "initial": Initial(lambda x: torch.sin(torch.pi * x[0])),
        },
    )
    with pytest.raises(PcpinnError, match=r"does not converge at t = .*corrections") as caught:
        solve(problem, dict(**SMALL), out=tmp_path / "run")
    assert "shorter steps" in caught.value.remedy
    assert (tmp_path / "run/checkpoint.safetensors").exists()


def test_time_limit_keeps_what_is_done(tmp_path):
    with pytest.raises(PcpinnError, match="time limit"):
        solve(logistic(), dict(**SMALL | {"time_limit": 1e-6}), out=tmp_path / "run")
    solution = solve(logistic(), dict(**SMALL), out=tmp_path / "run", resume=True)
    assert json.loads((tmp_path / "run/result.json").read_text())["stopped_by"] == "all steps"
    assert solution.errors["training"] < 2e-4


LONG = SMALL | {"width": 8, "optimiser": "adam", "tolerance": 1e-12, "iterations": 10**6}


def test_the_time_limit_ends_a_window_too(tmp_path):
    """A window of a million iterations is left within one of them; windows before it are kept."""
    started = time.perf_counter()
    with pytest.raises(PcpinnError, match=r"time limit of 0\.5 s was reached after 0 of 6 windows") as caught:
        solve(logistic(), dict(**LONG | {"time_limit": 0.5}), out=tmp_path / "run")
    assert time.perf_counter() - started < 10
    assert "pcpinn resume" in caught.value.remedy
    assert (tmp_path / "run/checkpoint.safetensors").exists()
    assert not (tmp_path / "run/result.json").exists()
    with pytest.raises(PcpinnError, match=r"time limit of 0\.4 s"):  # what was spent before counts
        solve(logistic(), dict(**SMALL | {"width": 8, "time_limit": 0.4}), out=tmp_path / "run", resume=True)


def test_the_time_limit_ends_the_fit_of_the_initial_values_too(tmp_path):
    settings = dict(**LONG | {"start_iterations": 10**6, "time_limit": 0.3})
    with pytest.raises(PcpinnError, match="after 0 of 6 windows") as caught:
        solve(logistic(), settings)
    assert "resume" not in caught.value.remedy


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"precision": "float32"}, "marches are in float64"),
        ({"start": lambda x: np.zeros(len(x))}, "start="),
    ],
)
def test_refused_before_anything_is_written(tmp_path, options, message):
    with pytest.raises(PcpinnError, match=message):
        solve(logistic(), dict(**SMALL), out=tmp_path / "run", **options)
    assert not list(tmp_path.iterdir())


def test_resume_needs_a_folder():
    with pytest.raises(PcpinnError, match="resume needs the folder"):
        solve(logistic(), dict(**SMALL), resume=True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"time": "march", "window": 4}, "cannot be cut into windows"),
        ({"time": "march", "window": 2, "halvings": 2, "steps": 4}, "differ in length"),
        ({"scheme": "galerkin"}, "scheme='galerkin' does not fit"),
        ({"window": 0}, "window=0 must be positive"),
    ],
)
def test_what_is_refused(changes, message):
    with pytest.raises(PcpinnError, match=message):
        solve(logistic(), dict(**SMALL | changes))


def test_a_problem_without_time_cannot_march():
    problem = Problem(
        Interval(0, 1), flux=lambda x, u: u.grad, boundary={"left": Dirichlet(0.0), "right": Dirichlet(0.0)}
    )
    with pytest.raises(PcpinnError, match="does not depend on time"):
        solve(problem, dict(**SMALL))
