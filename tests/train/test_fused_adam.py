"""Adam's steps of a GPU, several in a graph, on a CPU: the graph is replaced by the work that it would replay."""

import itertools
import math

import numpy as np
import pytest
import torch
from cases import task

from pcpinn import PcpinnError
from pcpinn.train import Adam, Checkpoints, Stopping, train
from pcpinn.train.adam import Fused


@pytest.fixture
def replayed(monkeypatch):
    """Captured pieces of work in the order of their capture."""
    captured = []

    def capture(work, tables):
        captured.append(work)
        return work

    monkeypatch.setattr("pcpinn.train.graph.capture", capture)
    monkeypatch.setattr("pcpinn.train.graph.warm_up", lambda work: [work() for _ in range(3)])
    return captured


class Batched(Adam):
    """Adam that takes its fused steps on a CPU, too."""

    at_once = 4

    def bind(self, problem, state):
        steps = Fused(self, problem, state, self.at_once)
        assert steps.try_out()
        return steps


@pytest.mark.usefixtures("replayed")
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("settings", [{}, {"learning_rate": 0.02, "beta1": 0.5, "beta2": 0.999, "epsilon": 1e-3}])
def test_fused_steps_are_adams_steps(settings, dtype):
    plain, fused = task(dtype=dtype), task(dtype=dtype)
    adam = Adam(**settings)
    state, batched = adam.start(plain, 0), adam.start(fused, 0)
    steps = Fused(adam, fused, batched, at_once=8)
    assert steps.try_out()
    assert torch.equal(fused.theta, plain.theta)
    assert all(torch.equal(batched[k], state[k]) for k in state)
    one_by_one = [adam.step(plain, state) for _ in range(25)]
    together = list(itertools.chain(*(steps(most) for most in (100, 8, 9, 1))))
    tolerance = {"rtol": 1e-5, "atol": 1e-7} if dtype == torch.float64 else {"rtol": 5e-4, "atol": 5e-5}
    np.testing.assert_allclose(together, one_by_one, **tolerance)
    torch.testing.assert_close(fused.theta.detach(), plain.theta.detach(), **tolerance)
    for key in state:
        torch.testing.assert_close(batched[key], state[key], **tolerance)
    assert float(batched["count"]) == 25


def test_two_graphs_serve_any_number_of_steps(replayed):
    problem = task()
    steps = Fused(Adam(), problem, Adam().start(problem, 0), at_once=5)
    assert steps.try_out()
    assert [len(steps(most)) for most in (12, 7, 2, 1)] == [5, 5, 1, 1]
    assert len(replayed) == 2
    steps = Fused(
        Adam(), problem, Adam().start(problem, 0), at_once=20
    )  # halves serve a loss that changes every tenth step
    assert [len(steps(most)) for most in (30, 10, 9, 4, 10)] == [20, 10, 5, 1, 10]


def test_history_has_every_step_and_ends_on_time(replayed):
    single, batched = task(), task()
    expected = train(single, Adam(), Stopping(11))
    result = train(batched, Batched(), Stopping(11))
    assert (result.iterations, result.reason) == (11, "iterations")
    assert [row[0] for row in result.history.rows] == list(range(1, 12))
    np.testing.assert_allclose(result.history.losses, expected.history.losses, rtol=1e-5)
    assert np.all(np.diff([row[1] for row in result.history.rows]) > 0)
    assert result.loss == result.history.losses[-1]


@pytest.mark.usefixtures("replayed")
def test_resuming_changes_nothing(tmp_path):
    whole, parts = task(), task()
    train(whole, Batched(), Stopping(16))
    train(parts, Batched(), Stopping(8), checkpoints=Checkpoints(tmp_path))
    fresh = task(seed=5)
    result = train(fresh, Batched(), Stopping(16), resume=Checkpoints(tmp_path).read(fresh.theta))
    assert torch.equal(fresh.theta, whole.theta)
    assert len(result.history.rows) == 16


def poisoned(problem, at):
    """The loss of the given evaluation, counted from the first step of training, is not finite."""
    original, calls = problem.loss, itertools.count(-2)  # three steps warm up

    def loss():
        return original() * (math.nan if next(calls) == at else 1.0)

    problem.loss = loss
    return problem


@pytest.mark.usefixtures("replayed")
@pytest.mark.parametrize(("bad", "kept", "rows"), [(7, 4, 6), (5, 0, 4), (2, 0, 1), (1, 0, 0)])
def test_not_finite_goes_back_to_the_batch_that_began_well(bad, kept, rows):
    """The weights before step 5 are judged by the loss of step 5."""
    good, broken = task(), poisoned(task(), bad)
    if kept:
        train(good, Batched(), Stopping(kept))
    result = train(broken, Batched(), Stopping(20))
    assert (result.reason, result.iterations, len(result.history.rows)) == ("not finite", rows, rows)
    assert torch.equal(broken.theta.detach(), good.theta.detach())
    if rows:
        assert result.loss == float(good.loss().detach())


@pytest.mark.parametrize("error", [RuntimeError("stream is capturing"), PcpinnError("a function failed")])
def test_a_loss_that_cannot_be_captured_leaves_no_trace(monkeypatch, error):
    def refuse(work, tables):
        work()
        raise error

    monkeypatch.setattr("pcpinn.train.graph.warm_up", lambda work: work())
    monkeypatch.setattr("pcpinn.train.graph.capture", refuse)
    monkeypatch.setattr("torch.cuda.synchronize", lambda: None)
    problem, adam = task(), Adam()
    state = adam.start(problem, 0)
    before = problem.theta.detach().clone()
    assert not Fused(adam, problem, state).try_out()
    assert torch.equal(problem.theta.detach(), before)
    assert not any(v.any() for v in state.values())
