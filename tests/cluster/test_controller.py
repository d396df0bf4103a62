import json
import time
from dataclasses import replace
from itertools import count

import pytest
from toy import QUICK, Recorder, Scheduler, Toy, state_in, usual_signals  # noqa: F401

from pcpinn import PcpinnError
from pcpinn.cluster import Cancelled, StateFolder, cancel, carry_out, controller, require_quiet
from pcpinn.cluster.worker import Worker

pytestmark = pytest.mark.usefixtures("usual_signals")
JOBS = [Toy("a"), Toy("b"), Toy("c")]


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    monkeypatch.setattr(controller, "_POLL", 0.005)


def outcomes(folder, jobs=JOBS, slurm=QUICK, listener=None, **more):
    return {o.key: o for o in carry_out(StateFolder.of(folder), jobs, slurm, listener or Recorder(), **more)}


def test_each_job_is_sent_once_and_ends_once(tmp_path, monkeypatch):
    slurm = Scheduler().installed(monkeypatch)
    found = list(carry_out(StateFolder.of(tmp_path), JOBS, QUICK, Recorder()))
    assert sorted(o.key for o in found) == ["a", "b", "c"]
    assert all(o.data == {"of": o.key} and not o.failed for o in found)
    assert slurm.sent == [("a", 1), ("b", 1), ("c", 1)]
    assert not (tmp_path / "cluster" / "controller.json").exists()


def test_a_lost_worker_is_replaced_and_the_rest_left_alone(tmp_path, monkeypatch):
    slurm = Scheduler(lambda key, attempt: "die" if (key, attempt) == ("b", 1) else "run").installed(monkeypatch)
    listener = Recorder()
    found = outcomes(tmp_path, listener=listener)
    assert {k: o.data for k, o in found.items()} == {k: {"of": k} for k in "abc"}
    assert slurm.sent == [("a", 1), ("b", 1), ("c", 1), ("b", 2)]
    assert any("b: its worker on" in note and "sent again" in note for note in listener.notes)


def test_a_worker_that_is_always_lost_is_a_failure(tmp_path, monkeypatch):
    slurm = Scheduler(lambda key, attempt: "die" if key == "b" else "run").installed(monkeypatch)
    slurm.ends = {"JobState": "OUT_OF_MEMORY", "NodeList": "node9"}
    found = outcomes(tmp_path)
    assert found["b"].data is None
    assert "was lost" in found["b"].failed or "ran out of memory" in found["b"].failed
    assert [attempt for key, attempt in slurm.sent if key == "b"] == [1, 2, 3, 4]


def test_a_worker_that_was_stopped_after_a_checkpoint_is_not_lost(tmp_path, monkeypatch):
    """Preempted five times, it is sent five times more: each time it got on."""
    state = state_in(tmp_path)

    def fate(key, attempt):
        if attempt <= 5:
            state.write_sign(key, {"attempt": attempt, "state": "stopped", "host": "node1"})
        return "die" if attempt <= 5 else "run"

    slurm, listener = Scheduler(fate).installed(monkeypatch), Recorder()
    assert outcomes(tmp_path, [Toy("a")], listener=listener)["a"].data == {"of": "a"}
    assert [attempt for _, attempt in slurm.sent] == [1, 2, 3, 4, 5, 6]
    assert listener.notes[0] == "a: it was stopped on node1 after a checkpoint; sent again"


def test_what_a_job_raises_is_its_failure_and_not_a_loss(tmp_path, monkeypatch):
    slurm = Scheduler().installed(monkeypatch)
    found = outcomes(tmp_path, [Toy("bad")])
    assert found["bad"].failed == "ValueError: no good"
    assert slurm.sent == [("bad", 1)]


def test_nothing_is_lost_while_slurm_is_silent(tmp_path, monkeypatch):
    asked = count()  # however long each takes: three times of three jobs, then sixteen times in vain

    def fate(key, attempt):
        k = next(asked)
        return "silent" if 9 <= k < 25 else "wait" if k < 40 else "run"

    slurm = Scheduler(fate).installed(monkeypatch)
    listener = Recorder()
    assert len(outcomes(tmp_path, listener=listener)) == 3
    assert len(slurm.sent) == 3
    assert listener.notes[-2:] == ["Slurm does not answer (connection refused): waiting for it", "Slurm answers again"]


def test_a_second_controller_takes_over_what_is_in_the_queue(tmp_path, monkeypatch):
    slurm = Scheduler(lambda key, attempt: "run" if key == "a" else "wait").installed(monkeypatch)
    first = carry_out(StateFolder.of(tmp_path), JOBS, QUICK, Recorder())
    assert next(first).key == "a"
    first.close()  # before anybody noted that a has ended
    slurm.fate = lambda key, attempt: "run"
    assert sorted(outcomes(tmp_path)) == ["a", "b", "c"]
    assert slurm.sent == [("a", 1), ("b", 1), ("c", 1)]


def test_two_controllers(tmp_path, monkeypatch):
    Scheduler(lambda key, attempt: "run" if key == "a" else "wait").installed(monkeypatch)
    first = carry_out(StateFolder.of(tmp_path), JOBS, QUICK, Recorder())
    next(first)
    with pytest.raises(PcpinnError, match="another controller is at work"):
        outcomes(tmp_path)
    first.close()


def test_a_worker_with_other_code_stops_all_and_nothing_failed(tmp_path, monkeypatch):
    slurm = Scheduler().installed(monkeypatch)
    monkeypatch.setattr(controller, "code_of_this_process", lambda: "9.9 (other)")
    with pytest.raises(PcpinnError, match=r"refuses: it has pcpinn .*, the controller 9\.9"):
        outcomes(tmp_path)
    assert len(slurm.sent) == 3


def test_jobs_that_never_show_up_in_the_folder(tmp_path, monkeypatch):
    slurm = Scheduler(lambda key, attempt: "die").installed(monkeypatch)
    with pytest.raises(PcpinnError, match="without a sign") as error:
        outcomes(tmp_path)
    assert "file system that all nodes share" in error.value.remedy
    assert max(attempt for _, attempt in slurm.sent) == 2


def test_a_job_that_was_cancelled_by_hand_is_not_sent_again(tmp_path, monkeypatch):
    seen = []

    def fate(key, attempt):
        seen.append(key)
        return "wait" if len(seen) < 20 else "die"

    slurm = Scheduler(fate).installed(monkeypatch)
    slurm.ends = {"JobState": "CANCELLED"}
    assert outcomes(tmp_path, [Toy("a")])["a"].failed == "its job was cancelled in Slurm"
    assert slurm.sent == [("a", 1)]


def test_cancel(tmp_path, monkeypatch):
    slurm = Scheduler(lambda key, attempt: "run" if key == "a" else "wait").installed(monkeypatch)
    state = StateFolder.of(tmp_path)
    first = carry_out(state, JOBS, QUICK, Recorder())
    next(first)
    with pytest.raises(PcpinnError, match=r"2 jobs of .* are in Slurm's queue"):
        require_quiet(state)
    assert cancel(state) == 2
    with pytest.raises(Cancelled):
        next(first)
    assert slurm.cancelled == ["7_1", "7_2"]
    require_quiet(state)
    slurm.fate = lambda key, attempt: "run"
    assert sorted(outcomes(tmp_path, JOBS[1:])) == ["b", "c"]  # a cancelled one goes on when it is asked for


def test_outcomes_are_kept_on_demand_but_failures_are_not(tmp_path, monkeypatch):
    slurm = Scheduler().installed(monkeypatch)
    outcomes(tmp_path, [Toy("a"), Toy("bad")], keep=True)
    outcomes(tmp_path, [Toy("a"), Toy("bad")], keep=True)
    assert slurm.sent == [("a", 1), ("bad", 1), ("bad", 2)]


def test_clocks_that_differ_are_named_and_change_nothing(tmp_path, monkeypatch):
    turns, state = iter(range(1000)), state_in(tmp_path)

    def fate(key, attempt):
        turn = next(turns)
        beat = {"attempt": 1, "state": "running", "pid": 5, "beat": turn, "stage": "training"}
        state.write_sign("a", {**beat, "host": "node1", "clock": time.time() - 900})
        state.write_sign("b", {**beat, "host": "node2", "clock": time.time()})
        old = {"beat": 3, "clock": time.time() - 900} if turn < 20 else {}  # of an earlier stay, as it were
        state.write_sign("c", {**beat, "host": "node3", "clock": time.time(), **old})
        return "wait" if turn < 40 else "run"

    slurm, listener = Scheduler(fate).installed(monkeypatch), Recorder()
    assert len(outcomes(tmp_path, listener=listener)) == 3
    assert listener.notes == ["the clock of node1 is 900 s behind ours: dates in rows are its own"]
    assert len(slurm.sent) == 3


def test_large_sweeps_are_several_arrays(tmp_path, monkeypatch):
    Scheduler().installed(monkeypatch)
    monkeypatch.setattr(controller, "_LARGEST", 2)
    assert len(outcomes(tmp_path)) == 3
    assert [len(array) for array in StateFolder.of(tmp_path).arrays().values()] == [2, 1]


def test_a_worker_that_is_superseded_does_nothing(tmp_path):
    state = state_in(tmp_path)
    _, (attempt,) = state.new_array(["a"])
    state.new_array(["a"])
    Worker(str(state.path), Toy("a"), attempt, "any", 0.02)()
    assert not state.ended()


def test_an_outcome_of_an_older_attempt_does_not_count(tmp_path):
    state = state_in(tmp_path)
    state.new_array(["a"])
    _, (second,) = state.new_array(["a"])
    state.write_outcome("a", second - 1, {"of": "old"}, "")
    assert state.outcome("a") is None
    state.write_outcome("a", second, {"of": "new"}, "")
    assert state.outcome("a")["data"] == {"of": "new"}


def test_a_controller_elsewhere_is_told_by_its_beats_and_not_by_clocks(tmp_path, monkeypatch):
    Scheduler().installed(monkeypatch)
    state = state_in(tmp_path)
    path = state.path / "controller.json"
    path.write_text(json.dumps({"id": "x", "host": "elsewhere", "pid": 1, "beat": 4}))
    assert len(outcomes(tmp_path)) == 3  # it did not move: dead
    beats = iter(range(10_000))

    def alive(*_):
        path.write_text(json.dumps({"id": "x", "host": "elsewhere", "pid": 1, "beat": next(beats)}))

    alive()
    monkeypatch.setattr("pcpinn.cluster.presence.time.sleep", alive)
    with pytest.raises(PcpinnError, match="process 1 on elsewhere"):
        outcomes(tmp_path, slurm=replace(QUICK, beat=1.0))
