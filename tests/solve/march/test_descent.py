"""The paper's march: descent on ||P^-1 F(u)||^2 with P of the linear part, a cold start in the first window, exact resume."""

import numpy as np
import pytest
import scipy.sparse.linalg as spla
import torch

from pcpinn import Dirichlet, Initial, Interval, PcpinnError, Periodic, Problem, solve
from pcpinn.discretize.step_scheme import Layers, step_scheme
from pcpinn.discretize.window import MarchSpace, Window
from pcpinn.mesh.generate import generate_mesh
from pcpinn.progress import Progress
from pcpinn.solve.march import descent
from pcpinn.solve.march.deadline import MarchStopped

PAPER = {"time": "march", "scheme": "euler", "linearisation": "none", "head_steps": 0, "coupled": False, "drop_tolerance": 1e-4,
         "cells": (6,), "degree": 2, "steps": 4, "window": 2, "causality": 1.0, "width": 8, "depth": 1, "features": "none",
         "optimiser": "adam", "learning_rate": 3e-3, "iterations": 3, "cold_iterations": 7, "start_iterations": 5,
         "tolerance": 1e-12, "device": "cpu"}  # fmt: skip


def logistic():
    """u_t = 0.05 u_xx + u (1 - u), from a sine."""
    return Problem(
        Interval(0, 1).over(0, 1),
        density=lambda x, u: u.value,
        flux=lambda x, u: 0.05 * u.grad,
        source=lambda x, u: -u.value * (1 - u.value),
        boundary={
            "left": Dirichlet(0.0),
            "right": Dirichlet(0.0),
            "initial": Initial(lambda x: torch.sin(torch.pi * x[0])),
        },
        name="logistic",
    )


@pytest.fixture
def trainings(monkeypatch):
    """Each training of a window: its iterations, the weights it began and ended with, its first plain loss."""
    seen = []
    usual = descent.train

    def train(loss, optimiser, stopping, *rest, **more):
        begun, value = loss.theta.detach().clone(), loss.value()
        result = usual(loss, optimiser, stopping, *rest, **more)
        seen.append((stopping.iterations, begun, loss.theta.detach().clone(), value))
        return result

    monkeypatch.setattr(descent, "train", train)
    return seen


def test_the_cold_start_trains_the_first_window(trainings):
    """Not the initial values: these are fitted for t = 0 alone. All else goes on from the window before, heads included."""
    solution = solve(logistic(), **PAPER)
    (cold, first, after, value), (iterations, second, _, _) = trainings
    assert (cold, iterations) == (7, 3)
    assert solution.result.iterations == 10
    thetas = solution.network.theta.detach()
    assert not torch.equal(first, thetas[0])
    other = solve(logistic(), **PAPER | {"start_iterations": 0})
    assert torch.equal(other.network.theta.detach()[1:], thetas[1:])
    assert torch.equal(after, thetas[1])
    assert torch.equal(second, after)
    assert value == pytest.approx(loss_by_hand(solution.network.base, first), rel=1e-9)


def loss_by_hand(network, theta):
    """0.5 ||P^-1 F||^2 / size^2 of the first window, P an ILU of each step's own linear part by SciPy."""

    space = MarchSpace(logistic(), generate_mesh(Interval(0, 1), cells=(6,)), (0.0, 1.0), 2)
    window = Window(space, Layers(step_scheme("euler"), np.array([0.0, 0.25, 0.5]), True), space.initial_values()[None])
    x, n = torch.from_numpy(space.form.space.unknown_nodes), space.size
    U = network.evaluate(theta, x).T.detach()
    A = window.linearise(torch.zeros_like(U)).to_scipy()[:n, :n].tocsc()  # the same in both steps
    lu = spla.spilu(A, drop_tol=1e-4, fill_factor=50, permc_spec="COLAMD")
    weights = np.tile(space.weights, 2) / 2
    moves = lu.solve(window.residual(U).numpy().T).T.ravel()
    known = window.known[-1].repeat(2).numpy()
    return 0.5 * (weights @ moves**2) / (weights @ known**2)


def test_descent_comes_to_the_discrete_solution():
    """Of the nonlinear equation: with nonlinear terms left out the solution is a third smaller at the end."""
    settings = PAPER | {"iterations": 300, "cold_iterations": 1500, "width": 24, "start_iterations": 500}
    assert solve(logistic(), **settings).errors["training"] < 0.02


class Interrupted(Progress):
    """Stops like Ctrl-C in an iteration of the cold start, or after a window."""

    def __init__(self, stage, at):
        self.wanted, self.at, self.now = stage, at, ""

    def stage(self, name, total=None):
        self.now = name

    def update(self, iteration, loss):
        if self.now == self.wanted and iteration == self.at:
            raise KeyboardInterrupt


@pytest.mark.parametrize(("stage", "at"), [("cold start", 5), ("marching", 1)])
def test_resumed_march_gives_the_same_answer(tmp_path, trainings, stage, at):
    settings = PAPER | {"checkpoint_every": 0.0}
    whole = solve(logistic(), **settings, out=tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        solve(logistic(), **settings, out=tmp_path / "cut", progress=Interrupted(stage, at))
    trainings.clear()
    resumed = solve(logistic(), **settings, out=tmp_path / "cut", resume=True)
    assert torch.equal(resumed.network.theta, whole.network.theta)
    assert resumed.result.iterations == whole.result.iterations == 10
    assert len(trainings) == 2 if stage == "cold start" else 1


def test_a_cold_start_that_runs_out_of_time_goes_on(tmp_path, monkeypatch):
    """From the iteration that it stopped in, which is kept whether or not a checkpoint was due."""
    settings = PAPER | {"checkpoint_every": 1e6, "cold_iterations": 800}
    whole = solve(logistic(), **settings)
    with pytest.raises(MarchStopped, match="after 0 of 2 windows"):
        solve(logistic(), **settings, time_limit=0.4, out=tmp_path / "cut")
    begun = []
    usual = descent.train
    monkeypatch.setattr(descent, "train", lambda *a, **k: begun.append(a[6] and a[6].iteration) or usual(*a, **k))
    resumed = solve(logistic(), **settings, out=tmp_path / "cut", resume=True)
    assert 0 < begun[0] < 800
    assert torch.equal(resumed.network.theta, whole.network.theta)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"head_steps": 8}, "head_steps=8 need a linear problem"),
        ({"newton_iterations": 3}, "newton_iterations=3 has no effect with linearisation=none"),
        ({"linearisation": "linear-part"}, "cold_iterations=7 has no effect with linearisation=linear-part"),
        ({"optimiser": "gauss-newton"}, "there is no linear problem that it could step to"),
        ({"repeat": False}, "repeat=false has no effect: no axis is periodic"),
    ],
)
def test_what_is_refused(changes, message):
    with pytest.raises(PcpinnError, match=message):
        solve(logistic(), **PAPER | changes)


def test_a_network_that_need_not_repeat_itself():
    """Then opposite sides agree as far as the equations are trained."""
    problem = Problem(
        Interval(0, 1).over(0, 1),
        density=lambda x, u: u.value,
        flux=lambda x, u: 0.01 * u.grad,
        source=lambda x, u: u.grad[0],
        boundary={"left": Periodic("right"), "initial": Initial(lambda x: torch.cos(2 * torch.pi * x[0]))},
    )
    few = PAPER | {"features": "log", "feature_count": 2}
    ends = {
        repeat: solve(problem, **few | {"repeat": repeat})(np.array([[0.0, 0.5], [1.0, 0.5]]))
        for repeat in (True, False)
    }
    assert abs(float(ends[True][0] - ends[True][1])) < 1e-12
    assert abs(float(ends[False][0] - ends[False][1])) > 1e-3
    trained = few | {"repeat": False, "cold_iterations": 1500, "iterations": 300}
    left, right = solve(problem, **trained)(np.array([[0.0, 0.5], [1.0, 0.5]]))
    assert abs(float(left - right)) < 0.05
