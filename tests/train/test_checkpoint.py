"""Checkpoints: exact round trips, a full disk, and files that are not ours."""

import errno
import os

import numpy as np
import pytest
import torch
from cases import task

from pcpinn.checkpoint import Checkpoint
from pcpinn.clock import Clock
from pcpinn.errors import PcpinnError
from pcpinn.train import Adam, Checkpoints, GaussNewton, History, Snapshot

THETA = torch.linspace(0, 1, 6, dtype=torch.float64)


def snapshot(iteration=3, theta=THETA, state=None):
    history = History([(1, 0.1, 0.5), (2, 0.25, 1 / 3), (3, 0.5, 1e-17)])
    return Snapshot(iteration, 1.25, theta, state or {"mean": theta / 3}, history)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("optimiser", [Adam(), GaussNewton(sample=5)], ids=lambda o: o.name)
def test_round_trip_is_exact(optimiser, dtype, tmp_path):
    problem = task(dtype=dtype)
    state = optimiser.start(problem, 5)
    for _ in range(2):
        optimiser.step(problem, state)
    Checkpoints(tmp_path).write(Snapshot(2, 0.1 + 0.2, problem.theta, state, History([(1, 0.1, 2.0), (2, 0.2, 1 / 3)])))
    back = Checkpoints(tmp_path).read(problem.theta)
    assert (back.iteration, back.seconds) == (2, 0.1 + 0.2)
    assert torch.equal(back.theta, problem.theta)
    assert back.theta.dtype == dtype
    assert back.history.rows == [(1, 0.1, 2.0), (2, 0.2, 1 / 3)]
    assert back.state.keys() == state.keys()
    for key, value in state.items():
        assert torch.equal(back.state[key].reshape(value.shape), value)
        assert back.state[key].dtype == value.dtype


def test_an_empty_history(tmp_path):
    Checkpoints(tmp_path).write(Snapshot(0, 0.0, THETA, {"mean": THETA}, History()))
    assert Checkpoints(tmp_path).read(THETA).history.rows == []


def test_due_by_the_clock(tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr("pcpinn.checkpoint.time.monotonic", lambda: now[0])
    checkpoints = Checkpoints(tmp_path, interval=10)
    assert not checkpoints.due()
    now[0] = 110.0
    assert checkpoints.due()
    checkpoints.write(snapshot())
    assert not checkpoints.due()
    assert Checkpoints(tmp_path, interval=0).due()


@pytest.mark.parametrize("failing", ["os.replace", "os.fsync"])
def test_a_full_disk_leaves_the_previous_checkpoint(tmp_path, monkeypatch, failing):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.write(snapshot(3))

    def full(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(failing, full)
        with pytest.raises(PcpinnError, match="No space left"):
            checkpoints.write(snapshot(4, THETA + 1))
    assert [f.name for f in tmp_path.iterdir()] == ["checkpoint.safetensors"]
    back = checkpoints.read(THETA)
    assert back.iteration == 3
    assert torch.equal(back.theta, THETA)


def good_arrays():
    return {"theta": THETA.numpy(), "history": np.zeros((1, 3)), "state.mean": np.zeros(6)}, {
        "iteration": 1,
        "seconds": 0.5,
        "elapsed": 0.75,
        "around": {},
    }


def write_broken(folder, **changes):
    """The good arrays with some replaced, None to leave them out; facts likewise."""
    arrays, facts = good_arrays()
    facts = {**facts, **changes.pop("facts", {})}
    arrays = {k: v for k, v in {**arrays, **changes}.items() if v is not None}
    file = Checkpoint(folder / "checkpoint.safetensors", "training")
    file.write(arrays, {k: v for k, v in facts.items() if v is not None})


@pytest.mark.parametrize(
    "changes",
    [
        {"theta": None},
        {"theta": np.zeros(7)},
        {"theta": np.zeros((6, 1))},
        {"history": None},
        pytest.param({"history": np.zeros(3)}),
        pytest.param({"history": np.zeros((2, 2))}),
        pytest.param({"facts": {"iteration": None}}),
        pytest.param({"facts": {"seconds": "soon"}}),
        pytest.param({"facts": {"elapsed": None}}),
        pytest.param({"facts": {"around": [1]}}),
    ],
)
def test_files_of_other_runs_are_refused(tmp_path, changes):
    write_broken(tmp_path, **changes)
    with pytest.raises(PcpinnError):
        Checkpoints(tmp_path).read(THETA)


def test_the_unbroken_file_is_read(tmp_path):
    write_broken(tmp_path)
    back = Checkpoints(tmp_path).read(THETA)
    assert (back.iteration, back.seconds, back.elapsed) == (1, 0.5, 0.75)


def test_the_clock_of_the_run_is_kept(tmp_path):
    """Seconds of the run and those of its training are told apart."""
    Checkpoints(tmp_path, clock=Clock(100.0)).write(snapshot())
    back = Checkpoints(tmp_path).read(THETA)
    assert back.seconds == 1.25
    assert 100.0 <= back.elapsed < 110.0


def test_a_missing_or_truncated_file(tmp_path):
    with pytest.raises(PcpinnError, match="does not exist"):
        Checkpoints(tmp_path).read(THETA)
    checkpoints = Checkpoints(tmp_path)
    checkpoints.write(snapshot())
    path = tmp_path / "checkpoint.safetensors"
    data = path.read_bytes()
    for size in (0, 4, 40, len(data) - 1):
        path.write_bytes(data[:size])
        with pytest.raises(PcpinnError, match="cannot be read"):
            checkpoints.read(THETA)


def test_what_surrounds_a_training_is_kept(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.context = {"at": torch.arange(4.0)}
    checkpoints.facts = {"steps": [{"damping": 0.5}]}
    theta = torch.zeros(3)
    checkpoints.write(Snapshot(2, 1.0, theta, {}, History()))
    again = checkpoints.read(theta)
    assert torch.equal(again.context["at"], torch.arange(4.0))
    assert again.facts == {"steps": [{"damping": 0.5}]}
    checkpoints.context, checkpoints.facts = {}, {}
    checkpoints.write(Snapshot(2, 1.0, theta, {}, History()))
    assert checkpoints.read(theta).facts == {}
