"""The loop: why it stops, what it keeps, and how it goes on after an interruption."""

import itertools
import math

import numpy as np
import pytest
import torch
from cases import task

from pcpinn import Progress
from pcpinn.train import Adam, Checkpoints, GaussNewton, LeastSquares, Stopping, train

OPTIMISERS = {
    "adam32": (Adam(0.01), torch.float32),
    "adam64": (Adam(0.01), torch.float64),
    "gauss-newton": (GaussNewton(), torch.float64),
    "sampled": (GaussNewton(sample=20), torch.float64),
    "exact32": (GaussNewton("exact"), torch.float32),
}


class Interrupted(Exception):
    pass


class Recorder(Progress):
    """Collects what it is told; breaks off after an iteration if asked."""

    def __init__(self, stop_after=math.inf):
        self.stop_after, self.stages, self.iterations, self.losses, self.notes = stop_after, [], [], [], []

    def stage(self, name, total=None):
        self.stages.append((name, total))

    def update(self, iteration, loss):
        if iteration > self.stop_after:
            raise Interrupted
        self.iterations.append(iteration)
        self.losses.append(loss)

    def note(self, text):
        self.notes.append(text)


@pytest.mark.parametrize("name", OPTIMISERS)
@pytest.mark.parametrize("stop_after", [1, 5])
def test_resuming_changes_nothing(name, stop_after, tmp_path):
    """Killed in mid-training and continued from the file: the same weights and losses, bit for bit."""
    optimiser, dtype = OPTIMISERS[name]
    stopping = Stopping(iterations=9)
    whole = task(dtype=dtype)
    expected = train(whole, optimiser, stopping, optimiser.start(whole, 3))

    broken = task(dtype=dtype)
    with pytest.raises(Interrupted):
        train(
            broken,
            optimiser,
            stopping,
            optimiser.start(broken, 3),
            Recorder(stop_after),
            Checkpoints(tmp_path, interval=0),
        )
    fresh = task(dtype=dtype, seed=77)  # other weights, which the snapshot replaces
    snapshot = Checkpoints(tmp_path).read(fresh.theta)
    assert snapshot.iteration == stop_after
    recorder = Recorder()
    result = train(fresh, optimiser, stopping, None, recorder, Checkpoints(tmp_path, interval=0), snapshot)

    assert recorder.iterations == list(range(stop_after + 1, 10))
    assert torch.equal(fresh.theta, whole.theta)
    np.testing.assert_array_equal(result.history.losses, expected.history.losses)
    assert [row[0] for row in result.history.rows] == list(range(1, 10))
    assert np.all(np.diff([row[1] for row in result.history.rows]) >= 0)
    assert (result.iterations, result.loss, result.reason) == (expected.iterations, expected.loss, expected.reason)


@pytest.mark.parametrize("name", OPTIMISERS)
def test_same_seed_same_training(name):
    optimiser, dtype = OPTIMISERS[name]
    a, b = task(dtype=dtype), task(dtype=dtype)
    for problem in (a, b):
        train(problem, optimiser, Stopping(5), optimiser.start(problem, 1))
    assert torch.equal(a.theta, b.theta)


def test_stops_after_its_iterations():
    recorder = Recorder()
    result = train(task(), Adam(), Stopping(iterations=7), progress=recorder)
    assert (result.iterations, result.reason, len(result.history.rows)) == (7, "iterations", 7)
    assert recorder.stages == [("training (adam)", 7)]
    assert recorder.losses == result.history.losses.tolist()
    assert result.loss == recorder.losses[-1]


def test_stops_at_its_tolerance():
    result = train(task(), GaussNewton(), Stopping(iterations=200, tolerance=0.05))
    residuals = np.sqrt(2 * result.history.losses)
    assert result.reason == "tolerance"
    assert residuals[-1] <= 0.05
    assert np.all(residuals[:-1] > 0.05)
    assert result.iterations == len(residuals) < 200


def test_stops_when_five_iterations_gain_too_little():
    """Counted from where it is told to, whatever the loss was before."""
    long = train(task(), GaussNewton(), Stopping(iterations=60)).history.losses
    gains = long[:-5] - long[5:]
    least = float(np.sort(gains)[len(gains) // 2])
    first = 5 + 1 + int(np.flatnonzero(gains < least)[0])  # iterations are counted from one
    result = train(task(), GaussNewton(), Stopping(iterations=60, gain=least))
    assert (result.reason, result.iterations) == ("stagnation", first)
    later = train(task(), GaussNewton(), Stopping(iterations=60, gain=1e9, since=20))
    assert (later.reason, later.iterations) == ("stagnation", 26)


def test_stops_at_its_time_limit(monkeypatch):
    clock = itertools.count()
    monkeypatch.setattr("pcpinn.train.loop.time.perf_counter", lambda: float(next(clock)))
    result = train(task(), Adam(), Stopping(iterations=100, time_limit=5.0))
    assert (result.reason, result.iterations) == ("time limit", 5)
    assert [row[1] for row in result.history.rows] == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_time_before_an_interruption_counts(monkeypatch, tmp_path):
    clock = itertools.count()
    monkeypatch.setattr("pcpinn.train.loop.time.perf_counter", lambda: float(next(clock)))
    problem = task()
    train(problem, Adam(), Stopping(iterations=3), checkpoints=Checkpoints(tmp_path))
    snapshot = Checkpoints(tmp_path).read(problem.theta)
    assert snapshot.seconds == 4.0
    result = train(problem, Adam(), Stopping(iterations=100, time_limit=10.0), resume=snapshot)
    assert (result.reason, result.iterations) == ("time limit", 9)


class Poisoned(Adam):
    """Steps onto weights that are not finite."""

    def step(self, problem, state):
        loss = super().step(problem, state)
        if int(state["count"]) == 4:
            with torch.no_grad():
                problem.theta[0] = torch.nan
        return loss


def test_not_finite_keeps_the_last_good_weights():
    good = task()
    expected = train(good, Adam(), Stopping(3))
    problem, recorder = task(), Recorder()
    result = train(problem, Poisoned(), Stopping(20), progress=recorder)
    assert (result.reason, result.iterations) == ("not finite", 4)
    assert torch.equal(problem.theta, good.theta)
    np.testing.assert_array_equal(result.history.losses[:3], expected.history.losses)
    assert result.loss == result.history.losses[-1] == float(problem.loss().detach())
    assert "iteration 5" in recorder.notes[0]


def test_not_finite_from_the_start_keeps_the_initial_weights():
    for optimiser in (Adam(), GaussNewton()):
        problem = task()
        before = problem.theta.detach().clone()
        problem.operator._rhs.fill_(torch.nan)
        result = train(problem, optimiser, Stopping(10))
        assert (result.reason, result.iterations, result.history.rows) == ("not finite", 0, [])
        assert torch.equal(problem.theta.detach(), before)


def test_a_finished_training_does_not_go_on(tmp_path):
    problem = task()
    train(problem, Adam(), Stopping(4), checkpoints=Checkpoints(tmp_path))
    before = problem.theta.detach().clone()
    result = train(problem, Adam(), Stopping(4), resume=Checkpoints(tmp_path).read(problem.theta))
    assert torch.equal(problem.theta.detach(), before)
    assert (result.iterations, result.reason, len(result.history.rows)) == (4, "iterations", 4)


def test_a_training_that_reached_its_tolerance_does_not_go_on(tmp_path):
    problem, stopping = task(), Stopping(100, tolerance=0.1)
    done = train(problem, GaussNewton(), stopping, checkpoints=Checkpoints(tmp_path))
    result = train(problem, GaussNewton(), stopping, resume=Checkpoints(tmp_path).read(problem.theta))
    assert (result.iterations, result.reason) == (done.iterations, "tolerance")


class Adaptive(LeastSquares):
    """Residuals that stay large get heavier: weights that depend on all of the training so far."""

    def __init__(self, like):
        vars(self).update(vars(like))
        self.emphasis = torch.ones(self.size, dtype=torch.float64)

    def residual(self):
        r = super().residual()
        with torch.no_grad():
            self.emphasis.mul_(0.9).add_(0.1 * (r / r.norm()).abs() * self.size**0.5)
        return self.emphasis.sqrt() * r

    def state(self):
        return {"emphasis": self.emphasis}

    def restore(self, state):
        self.emphasis.copy_(state["emphasis"])


class Forgetful(Adaptive):
    """Keeps its weights, and does not take them back."""

    def restore(self, state):
        pass


@pytest.mark.parametrize(("kind", "same"), [(Adaptive, True), (Forgetful, False)])
def test_a_loss_that_adapts_is_resumed_with_its_state(tmp_path, kind, same):
    """Bit for bit; without the state it would be another training."""
    whole, stopping = kind(task()), Stopping(12)
    expected = train(whole, Adam(0.01), stopping)
    broken = kind(task())
    with pytest.raises(Interrupted):
        train(broken, Adam(0.01), stopping, None, Recorder(5), Checkpoints(tmp_path, interval=0))
    fresh = kind(task(seed=77))
    snapshot = Checkpoints(tmp_path).read(fresh.theta)
    assert snapshot.loss.keys() == {"emphasis"}
    result = train(fresh, Adam(0.01), stopping, resume=snapshot)
    assert torch.equal(fresh.theta, whole.theta) == same
    assert torch.equal(fresh.emphasis, whole.emphasis) == same
    assert np.array_equal(result.history.losses, expected.history.losses) == same


def test_not_finite_takes_back_the_state_of_the_loss():
    good, problem = Adaptive(task()), Adaptive(task())
    train(good, Adam(), Stopping(3))
    assert train(problem, Poisoned(), Stopping(20)).reason == "not finite"
    assert torch.equal(problem.theta, good.theta)
    assert torch.equal(problem.emphasis, good.emphasis)


def test_losses_have_no_state_by_default():
    problem = task()
    assert problem.state() == {}
    problem.restore({})
