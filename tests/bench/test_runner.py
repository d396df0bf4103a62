import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest
import tiny

from pcpinn import PcpinnError
from pcpinn.bench import BenchFolder, Request, execute, make_plan, runner, workers
from pcpinn.bench.watch import Watch
from pcpinn.catalog import CATALOG


class Recorder(Watch):
    def __init__(self):
        self.total = self.done = None
        self.cells, self.rows, self.notes = [], [], []

    def begin(self, total, done):
        self.total, self.done = total, done

    def started(self, cell):
        self.cells.append(cell)
        return super().started(cell)

    def ended(self, cell, row):
        self.rows.append(row)

    def note(self, text):
        self.notes.append(text)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A benchmark that ran without incident, and its rows."""
    folder = tmp_path_factory.mktemp("finished") / "new" / "bench"
    return folder, tiny.run(folder)


def test_rows_and_folders(finished):
    folder, rows = finished
    assert [r.seed for r in rows.values()] == [0, 1]
    assert all(r.finished and 0 < r.l2re < 1 for r in rows.values())
    assert BenchFolder(folder).rows() == rows
    assert {p.name for p in (folder / "runs").iterdir()} == set(rows)
    assert [p.command for p in BenchFolder(folder).plans()] == [tiny.plan().command]


def test_what_is_finished_is_never_run_again(finished, monkeypatch):
    folder, rows = finished
    monkeypatch.setattr(runner, "run_cell", lambda *a: pytest.fail("ran again"))
    watch = Recorder()
    assert tiny.run(folder, watch=watch) == rows
    assert (watch.total, watch.done) == (2, 2)
    assert runner.run_plan(BenchFolder(folder), None) == rows  # without a plan: all that was asked for


def test_another_plan_adds_to_the_folder(tmp_path):
    first = tiny.run(tmp_path / "b", tiny.plan(trials=1))
    watch = Recorder()
    second = tiny.run(tmp_path / "b", tiny.plan(trials=2, methods=("pcpinn", "fem-fit")), watch=watch)
    assert (watch.total, watch.done) == (4, 1)
    assert len(BenchFolder(tmp_path / "b").rows()) == 4
    assert first.items() <= second.items()
    assert len(BenchFolder(tmp_path / "b").plans()) == 2


def test_a_lost_table_is_made_again_from_the_runs(tmp_path, monkeypatch):
    rows = tiny.run(tmp_path / "b")
    (tmp_path / "b" / "results.csv").unlink()
    monkeypatch.setattr(execute, "_train", lambda *a: pytest.fail("trained again"))
    assert tiny.run(tmp_path / "b") == rows


def test_a_failure_is_recorded_does_not_stop_the_rest_and_waits_for_retry(tmp_path, monkeypatch):
    real, broken = execute._train, [True]

    def train(task, cell, folder, progress):
        if cell.method == "fem-fit" and broken[0]:
            raise RuntimeError("no <luck>")
        real(task, cell, folder, progress)

    monkeypatch.setattr(execute, "_train", train)
    wanted = tiny.plan(methods=("fem-fit", "pcpinn"))
    rows = tiny.run(tmp_path / "b", wanted)
    assert [r.status for r in rows.values()] == ["failed"] * 2 + ["finished"] * 2
    bad = next(iter(rows.values()))
    assert bad.reason == "RuntimeError: no <luck>"
    assert "Traceback" in (tmp_path / "b" / "errors" / f"{bad.key}.txt").read_text()
    watch = Recorder()
    broken[0] = False
    assert tiny.run(tmp_path / "b", wanted, watch=watch) == rows
    assert watch.cells == []
    again = tiny.run(tmp_path / "b", wanted, watch=watch, retry=True)
    assert [r.status for r in again.values()] == ["finished"] * 4
    assert [c.method for c in watch.cells] == ["fem-fit"] * 2


def test_a_refused_setting_is_a_reason(tmp_path):
    rows = tiny.run(tmp_path / "b", tiny.plan(trials=1, changes={"degree": "4", "mesh": "fem", "cells": "3x3"}))
    (row,) = rows.values()
    assert row.status == "failed"
    assert row.reason
    assert not list((tmp_path / "b").glob("errors/*"))


def test_an_interrupted_run_goes_on_and_a_damaged_one_begins_anew(finished, tmp_path):
    _, whole = finished
    tiny.run(tmp_path / "b")
    first, second = (tmp_path / "b" / "runs" / key for key in whole)
    for folder in (first, second):
        (folder / "result.json").unlink()
    (second / "checkpoint.safetensors").write_bytes(b"rubbish")
    (tmp_path / "b" / "results.csv").unlink()
    assert tiny.errors(tiny.run(tmp_path / "b")) == tiny.errors(whole)


def test_a_half_run_of_other_settings_is_not_resumed(tmp_path):
    rows = tiny.run(tmp_path / "b", tiny.plan(trials=1))
    (key,) = rows
    record = json.loads((tmp_path / "b" / "runs" / key / "run.json").read_text())
    record["settings"]["optimiser"]["iterations"] = 1
    (tmp_path / "b" / "runs" / key / "run.json").write_text(json.dumps(record))
    (tmp_path / "b" / "runs" / key / "result.json").unlink()
    (tmp_path / "b" / "results.csv").unlink()
    assert tiny.errors(tiny.run(tmp_path / "b", tiny.plan(trials=1))) == tiny.errors(rows)


def test_a_diverged_run_is_run_again_on_retry(tmp_path):
    (key,) = tiny.run(tmp_path / "b", tiny.plan(trials=1))
    path = tmp_path / "b" / "runs" / key / "result.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "stopped_by": "not finite"}))
    (tmp_path / "b" / "results.csv").unlink()
    assert not tiny.run(tmp_path / "b", tiny.plan(trials=1))[key].finished
    assert tiny.run(tmp_path / "b", tiny.plan(trials=1), retry=True)[key].finished


def test_runs_of_a_preset_that_has_changed_are_told_and_run_again_on_retry(tmp_path, request):
    wanted = tiny.plan(trials=1)
    (before,) = tiny.run(tmp_path / "b", wanted).values()
    entry = execute.find_entry("poisson1d")
    other = replace(entry, presets={**entry.presets, "quick": {**entry.presets["quick"], "activation": "sin"}})
    request.addfinalizer(lambda: CATALOG.register(entry))
    CATALOG.register(other)
    watch = Recorder()
    assert list(tiny.run(tmp_path / "b", wanted, watch=watch).values()) == [before]
    assert "1 runs were made with settings" in watch.notes[0]
    (after,) = tiny.run(tmp_path / "b", wanted, retry=True).values()
    assert after.l2re != before.l2re


def test_kill_in_the_middle_then_resume_gives_the_same_table(tmp_path):
    changes = {"iterations": "8", "checkpoint_every": "0"}
    wanted = tiny.plan(changes=changes)
    child = (
        "import os, torch, pcpinn.train.checkpoint as kept, tiny\n"
        "torch.set_num_threads(1)\n"
        "write, count = kept.Checkpoints.write, [0]\n"
        "def die(self, snapshot):\n"
        "    write(self, snapshot)\n"
        "    count[0] += 1\n"
        "    if count[0] == 12: os.kill(os.getpid(), 9)\n"  # in the second run, at its third iteration
        "kept.Checkpoints.write = die\n"
        f"tiny.run({str(tmp_path / 'killed')!r}, tiny.plan(changes={changes!r}))\n"
    )
    path = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    done = subprocess.run([sys.executable, "-c", child], env={**os.environ, "PYTHONPATH": path}, capture_output=True)
    assert done.returncode == -9, done.stderr
    assert len(BenchFolder(tmp_path / "killed").rows()) == 1
    watch = Recorder()
    resumed = tiny.run(tmp_path / "killed", wanted, watch=watch)
    assert (watch.total, watch.done) == (2, 1)
    assert tiny.errors(resumed) == tiny.errors(tiny.run(tmp_path / "whole", wanted))


def test_jobs_run_in_processes_of_their_own_and_agree(finished, tmp_path, monkeypatch):
    _, rows = finished
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    watch = Recorder()
    apart = tiny.run(tmp_path / "b", jobs=2, watch=watch)
    assert tiny.errors(apart) == tiny.errors(rows)
    assert {r.machine.partition(", ")[2] for r in apart.values()} == {"1 threads"}
    assert len(watch.cells) == len(watch.rows) == 2


def test_a_worker_that_dies_is_a_failure(tmp_path, monkeypatch):
    monkeypatch.setattr(workers.sys, "executable", "/bin/false")
    rows = tiny.run(tmp_path / "b", jobs=2)
    assert [r.status for r in rows.values()] == ["failed"] * 2
    assert all("ended with code 1" in r.reason for r in rows.values())
    assert workers._cause(-9, "") == "its process was killed by SIGKILL (out of memory?)"


def test_only_one_bench_at_a_time(tmp_path):
    bench = BenchFolder(tmp_path / "b")
    with bench.locked(), pytest.raises(PcpinnError, match="another bench"):
        tiny.run(tmp_path / "b")
    tiny.run(tmp_path / "b", tiny.plan(trials=1))


def test_a_folder_with_other_things_is_refused(tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(PcpinnError, match="something other"):
        tiny.run(tmp_path)
    assert not (tmp_path / "bench.json").exists()


def test_a_bench_killed_while_it_wrote_its_first_plan_is_begun_again(tmp_path):
    bench = BenchFolder(tmp_path / "b")
    bench.path.mkdir()
    for name in (".lock", ".bench.json.ab_cd012"):
        (bench.path / name).write_text("half")
    with bench.locked():
        bench.add(tiny.plan())
    assert {p.name for p in bench.path.iterdir()} == {".lock", "bench.json"}


def test_python_files_named_by_a_folder_are_not_run(tmp_path):
    mine = tmp_path / "mine.py"
    mine.write_text(
        "import pcpinn as pc\n"
        "problem = pc.Problem(pc.Interval(0, 1), flux=lambda x, u: u.grad, source=lambda x, u: -1.0,\n"
        "                     boundary={'left': pc.Dirichlet(0.0), 'right': pc.Dirichlet(0.0)})\n"
    )
    changes = tuple(tiny.SETTINGS.items())
    wanted = make_plan(Request(problems=(str(mine),), changes=changes))
    bench = BenchFolder(tmp_path / "b")
    with bench.locked():
        bench.add(wanted)
    mine.write_text("raise SystemExit('executed')\n")
    watch = Recorder()
    assert runner.run_plan(bench, None, watch=watch) == {}
    assert "--problems" in watch.notes[0]
    (row,) = runner.run_plan(bench, wanted, device="cpu").values()  # asked for by the user, but it has changed
    assert not row.finished


def test_a_sweep_of_drop_tolerances_measures_the_preconditioner(tmp_path):
    wanted = tiny.plan(trials=1, changes={"cells": "20", "degree": "3"}, sweeps=("drop_tolerance=0.1,1e-8,none",))
    rows = list(tiny.run(tmp_path / "b", wanted).values())
    loose, tight, none = rows
    assert tight.condition == pytest.approx(1, abs=1e-6)
    assert tight.applied_error < 1e-9 < loose.applied_error < none.applied_error
    assert none.condition > loose.condition > tight.condition


def test_measuring_later_does_not_train_again(tmp_path, monkeypatch):
    plain = tiny.plan(trials=1, changes={"drop_tolerance": "0.5"})
    (before,) = tiny.run(tmp_path / "b", plain).values()
    monkeypatch.setattr(execute, "_train", lambda *a: pytest.fail("trained again"))
    (after,) = tiny.run(tmp_path / "b", tiny.plan(trials=1, sweeps=("drop_tolerance=0.5",))).values()
    assert before.condition is None
    assert after.condition >= 1 - 1e-9
    assert after.l2re == before.l2re


@pytest.mark.parametrize(
    "damage",
    [
        lambda d: "{",
        lambda d: "[]",
        lambda d: json.dumps({**d, "format": 99}),
        lambda d: json.dumps({**d, "plans": 3}),
        lambda d: json.dumps({**d, "plans": [{"kind": "suite"}]}),
        lambda d: json.dumps({**d, "plans": [{**d["plans"][0], "command": 5}]}),
        lambda d: json.dumps(d).replace("-s0-", "-s9-"),
        lambda d: json.dumps({**d, "plans": [{**d["plans"][0], "cells": {"../../up": c} }
                                             for c in d["plans"][0]["cells"].values()]}),
    ],
)  # fmt: skip
def test_damaged_plans_are_refused(finished, tmp_path, damage):
    folder, _ = finished
    (tmp_path / "bench.json").write_text(damage(json.loads((folder / "bench.json").read_text())))
    with pytest.raises(PcpinnError, match=r"bench\.json"):
        BenchFolder(tmp_path).plans()
    with pytest.raises(PcpinnError, match=r"bench\.json"):
        tiny.run(tmp_path)


def test_a_worker_ends_when_its_bench_is_gone(tmp_path):
    """So that it does not go on writing where the next bench will."""
    (planned,) = tiny.plan(trials=1, changes={"iterations": "1000000", "patience": "0"}).cells
    order = {"folder": str(tmp_path), "cell": planned.to_dict(), "device": "cpu"}
    path = os.pathsep.join(sys.path)
    process = subprocess.Popen(
        [sys.executable, "-m", "pcpinn.bench.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    process.stdin.write(json.dumps(order) + "\n")
    process.stdin.flush()
    assert "stage" in json.loads(process.stdout.readline())
    process.stdin.close()
    assert process.wait(20) == 1
    process.stdout.close()
