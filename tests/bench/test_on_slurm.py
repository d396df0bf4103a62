"""Benchmarks with jobs on a scheduler that is made up; the real one is in tests/cluster/real_slurm.py."""

import pytest
import tiny
from toy import QUICK, Scheduler, usual_signals  # noqa: F401

from pcpinn import PcpinnError
from pcpinn.bench import BenchFolder, execute
from pcpinn.bench.status import status_of
from pcpinn.cluster import StateFolder

pytestmark = pytest.mark.usefixtures("usual_signals")


def test_rows_are_those_of_a_local_run(tmp_path, monkeypatch):
    Scheduler(lambda key, attempt: "die" if "-s0-" in key and attempt == 1 else "run").installed(monkeypatch)
    there = tiny.run(tmp_path / "there", slurm=QUICK)
    here = tiny.run(tmp_path / "here")
    assert tiny.errors(there) == tiny.errors(here)
    assert list(BenchFolder(tmp_path / "there").rows()) == list(here)  # in the order of the plan
    assert {s.state: s.attempt for s in status_of(BenchFolder(tmp_path / "there")).runs} == {"finished": 1}


def test_a_failed_run_is_never_finished_and_retry_sends_it_again(tmp_path, monkeypatch):
    slurm = Scheduler().installed(monkeypatch)
    real, broken = execute._train, [True]

    def train(task, cell, folder, progress):
        if broken[0] and cell.seed == 1:
            raise PcpinnError("it broke")
        return real(task, cell, folder, progress)

    monkeypatch.setattr(execute, "_train", train)
    rows = tiny.run(tmp_path / "b", slurm=QUICK)
    assert [(r.status, r.reason) for r in rows.values()] == [("finished", ""), ("failed", "it broke")]
    assert status_of(BenchFolder(tmp_path / "b")).counts == {"finished": 1, "failed": 1}
    tiny.run(tmp_path / "b", slurm=QUICK)
    assert len(slurm.sent) == 2  # it waits for --retry
    broken[0] = False
    assert all(r.finished for r in tiny.run(tmp_path / "b", slurm=QUICK, retry=True).values())
    assert [attempt for _, attempt in slurm.sent] == [1, 1, 2]


def test_status_while_jobs_wait_run_and_have_ended(tmp_path, monkeypatch):
    bench = BenchFolder(tmp_path / "b")
    plan = tiny.plan(trials=4)
    first, second, third, fourth = (p.cell.key for p in plan.cells)
    bench.path.mkdir()
    bench.add(plan)
    assert status_of(bench).counts == {"waiting": 4}
    state = StateFolder.of(bench.path)
    state.make()
    slurm = Scheduler(lambda key, attempt: "wait").installed(monkeypatch)
    monkeypatch.setattr("pcpinn.cluster.queue_of.scheduler.queue", slurm.queue)
    name, _ = state.new_array([first, second, third])
    slurm.jobs[name, 0] = type("Worker", (), {"job": type("Job", (), {"key": first}), "attempt": 1})
    state.write_sign(first, {"attempt": 1, "state": "running", "stage": "training", "iteration": 7, "total": 9})
    state.write_outcome(second, 1, {"any": 1}, "")
    (bench.path / "runs" / third).mkdir(parents=True)
    (bench.path / "runs" / third / "run.json").write_text("{}")
    found = {s.cell.key: s for s in status_of(bench).runs}
    assert [found[k].state for k in (first, second, third, fourth)] == ["running", "ended", "stopped", "waiting"]
    assert (found[first].news, found[first].where) == ("training 7 of 9", "node1 job 7_0")
    slurm.fate = lambda key, attempt: "silent"
    assert "Slurm does not answer" in status_of(bench).notes[0]


def test_a_folder_with_jobs_in_the_queue_is_not_worked_on_here(tmp_path, monkeypatch):
    slurm = Scheduler(lambda key, attempt: "wait").installed(monkeypatch)
    state = StateFolder.of(tmp_path / "b")
    state.make()
    name, _ = state.new_array(["a"])
    slurm.jobs[name, 0] = type("Worker", (), {"job": type("Job", (), {"key": "a"}), "attempt": 1})
    (tmp_path / "b" / "bench.json").write_text('{"format": 1, "plans": []}')
    with pytest.raises(PcpinnError, match="are in Slurm's queue"):
        tiny.run(tmp_path / "b")
