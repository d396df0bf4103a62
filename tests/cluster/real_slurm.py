"""Sweeps on a real Slurm (`make slurm-up`, `make test-slurm`): workers and controllers are killed, and nothing is lost.

Not collected by `make test`: these tests need a scheduler that answers, and root.
"""

import csv
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

import pcpinn
from pcpinn.bench import BenchFolder
from pcpinn.cli import main
from pcpinn.cluster import StateFolder, cancel

SOURCE = Path(pcpinn.__file__).parents[1]
TINY = {"cells": 6, "degree": 2, "width": 4, "depth": 1, "feature_count": 1, "certify": "false", "optimiser": "adam"}
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"}
PCPINN = (sys.executable, "-m", "pcpinn")
PATIENCE = 200.0  # seconds until a test gives up waiting
CELL = 3.0  # seconds of training of a run of the sweep: long enough to be killed in the middle
PACE = 2000  # iterations that are timed


def command(folder, *more, trials, iterations):
    settings = {**TINY, "iterations": iterations, "checkpoint_every": 0.3}
    words = ["bench", "--problems", "poisson1d", "--presets", "quick"]
    words += [w for k, v in settings.items() for w in ("--set", f"{k}={v}")]
    return [*words, "--trials", str(trials), "--device", "cpu", "--out", str(folder), *more]


class Controller:
    """A `pcpinn bench` at work; what it says goes into a file, so that it never waits for a reader."""

    all: ClassVar[list] = []

    def __init__(self, words, log):
        self.log = log
        self.all.append(self)
        with log.open("a") as file:
            self.process = subprocess.Popen(
                [*PCPINN, *words], env=ENVIRONMENT, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
            )

    def said(self):
        return self.log.read_text()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        return self.process.wait(PATIENCE), self.said()


def run(words):
    done = subprocess.run(
        words, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE
    )
    return done.returncode, done.stdout


@pytest.fixture
def typed(capfd):
    """A command line in this process, which spares the start of another: exit code and all output."""

    def type_in(*words):
        capfd.readouterr()
        try:
            main([str(w) for w in words])
            code = 0
        except SystemExit as end:
            code = end.code or 0
        out, error = capfd.readouterr()
        return code, " ".join((out + error).split())

    return type_in


def wait_for(what, found, controller=None):
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        value = found()
        if value:
            return value
        if controller is not None and controller.process.poll() is not None:
            pytest.fail(f"the controller ended before there was a {what}: {controller.said()}")
        time.sleep(0.2)
    pytest.fail(f"no {what} within {PATIENCE:.0f} s")


def signs(folder):
    """What workers say, by key; files are replaced while they are read."""
    found = {}
    for path in (folder / "cluster" / "signs").glob("*.json"):
        try:
            found[path.stem] = json.loads(path.read_text())
        except (OSError, ValueError):
            continue
    return found


def running(folder, known=()):
    """Workers in the middle of their training, but for those that are `known`."""
    return [
        (key, sign)
        for key, sign in signs(folder).items()
        if sign["state"] == "running" and sign.get("iteration", 0) > 0 and key not in known
    ]


def rows(folder):
    path = folder / "results.csv"
    return lines_of(path) if path.exists() else []


def lines_of(path):
    return list(csv.DictReader(path.read_text().splitlines()))


@pytest.fixture
def shared(tmp_path):
    """A folder; jobs that a failed test leaves in the queue are taken out of it."""
    yield tmp_path / "bench"
    for controller in Controller.all:
        controller.kill()
    Controller.all.clear()
    if (tmp_path / "bench" / "cluster" / "token").exists():
        cancel(StateFolder.of(tmp_path / "bench"))


@pytest.fixture(scope="module")
def iterations(tmp_path_factory):
    """As many as this machine does while a run of the sweep trains."""
    folder = tmp_path_factory.mktemp("pace") / "bench"
    code, output = run([*PCPINN, *command(folder, trials=1, iterations=PACE)])
    assert code == 0, output
    (row,) = BenchFolder(folder).rows().values()
    return int(CELL / row.train_s * PACE)


def comparable(row):
    """A row without times, memory and hosts."""
    return replace(
        row, setup_s=None, train_s=None, total_s=None, memory_gib=None, device_memory_gib=None, machine="", date=""
    )


def table_without_times(folder):
    lines = lines_of(folder / "table.csv")
    return [{k: v for k, v in line.items() if not k.startswith("total_s")} for line in lines]


def test_a_sweep_with_everything_killed_equals_a_local_one(shared, tmp_path, iterations):
    words = command(shared, "--on", "slurm", "--time", "5", trials=12, iterations=iterations)
    controller = Controller(words, log := tmp_path / "log")
    # a worker dies in the middle of its training
    victim, sign = wait_for("worker", lambda: running(shared), controller)[0]
    os.kill(sign["pid"], signal.SIGKILL)
    # then the controller does
    wait_for("row", lambda: rows(shared), controller)
    controller.kill()
    controller = Controller(words, log)
    wait_for("second controller", lambda: "are finished already" in controller.said(), controller)
    # the time of another worker is up: it writes a checkpoint and goes back into the queue
    late, sign = wait_for("second worker", lambda: running(shared, [victim]), controller)[0]
    os.kill(sign["pid"], signal.SIGUSR2)  # as Slurm does
    wait_for("requeue", lambda: requeued(sign["job"]), controller)
    # Slurm itself is away for a while; ended in good order, or it forgets jobs and drains the node
    daemon = int(slurm_setting("SlurmctldPidFile", Path).read_text())
    os.kill(daemon, signal.SIGTERM)
    wait_for("silence", lambda: not Path(f"/proc/{daemon}").exists())
    wait_for("word about it", lambda: "Slurm does not answer" in controller.said(), controller)
    subprocess.run(["slurmctld"], check=True)
    wait_for("scheduler", lambda: subprocess.run(["sinfo", "-h"], capture_output=True).returncode == 0)
    subprocess.run(["scontrol", "update", f"JobId={sign['job']}", "StartTime=now"])  # unless it has begun
    code, output = controller.end()
    assert code == 0, output

    there = BenchFolder(shared).rows()
    assert len(rows(shared)) == len(there) == 12
    assert all(row.finished for row in there.values())
    attempt = {p.name: int(p.read_text()) for p in (shared / "cluster" / "attempts").iterdir() if p.suffix != ".lock"}
    assert attempt[victim] == 2
    assert attempt[late] == 1  # requeued, and not sent again
    assert not list((shared / "cluster" / "outcomes").iterdir())

    code, output = run([*PCPINN, *command(tmp_path / "here", trials=12, iterations=iterations)])
    assert code == 0, output
    here = BenchFolder(tmp_path / "here").rows()
    assert list(there) == list(here)
    for key, row in here.items():
        assert comparable(there[key]) == comparable(row)
        assert there[key].machine == row.machine  # as many threads
    assert table_without_times(shared) == table_without_times(tmp_path / "here")


def requeued(job):
    found = subprocess.run(["scontrol", "show", "job", "-o", job], capture_output=True, text=True).stdout
    return "Restarts=1" in found and "JobState=PENDING" in found


def slurm_setting(name, kind=str):
    text = subprocess.run(["scontrol", "show", "config"], capture_output=True, text=True, check=True).stdout
    return next(kind(line.split("=", 1)[1].strip()) for line in text.splitlines() if line.split("=")[0].strip() == name)


def test_two_controllers_status_and_cancel(shared, tmp_path, typed):
    words = command(shared, "--on", "slurm", trials=3, iterations=2_000_000)
    controller = Controller(words, tmp_path / "log")
    wait_for("worker", lambda: running(shared), controller)
    code, output = typed(*words)
    assert code == 2, output
    assert "another benchmark is running" in output
    code, output = typed(*command(shared, trials=3, iterations=2_000_000))  # nor a local one beside it
    assert code == 2, output
    code, output = typed("bench", "status", str(shared), "--json")
    found = json.loads(output)
    assert code == 0
    assert found["running"] >= 1
    assert found["running"] + found.get("queued", 0) == 3
    assert any(run["news"].startswith("training") for run in found["runs"])
    code, output = typed("bench", "cancel", str(shared))
    assert (code, output[:16]) == (0, "3 jobs cancelled"), output
    code, output = controller.end()
    assert code == 130, output
    assert "cancelled" in output
    look = lambda: json.loads(typed("bench", "status", str(shared), "--json")[1])  # noqa: E731
    wait_for("end of the jobs", lambda: "running" not in look())  # Slurm takes a moment
    found = look()
    assert "finished" not in found
    assert "failed" not in found


def test_a_partition_that_does_not_exist(shared, typed):
    code, output = typed(*command(shared, "--on", "slurm", "--partition", "nowhere", trials=1, iterations=3))
    assert code == 2, output
    assert "there is no partition 'nowhere'" in output
    assert not shared.exists()


def test_resources_that_no_node_has(shared, typed):
    code, output = typed(*command(shared, "--on", "slurm", "--gpus", "64", trials=1, iterations=3))
    assert code == 2, output
    assert "Slurm refuses the jobs" in output
    assert not rows(shared)


def test_a_worker_with_other_code(shared, tmp_path, typed):
    other = tmp_path / "other"
    shutil.copytree(SOURCE / "pcpinn", other / "pcpinn", ignore=shutil.ignore_patterns("__pycache__"))
    with (other / "pcpinn" / "errors.py").open("a") as file:
        file.write("# another version\n")
    export = f"export=ALL,PYTHONPATH={other}"
    code, output = typed(*command(shared, "--on", "slurm", "--slurm", export, trials=2, iterations=3))
    assert code == 2, output
    assert "refuses: it has pcpinn" in output
    assert not rows(shared)  # neither finished nor failed


def test_a_folder_that_nodes_do_not_see(tmp_path):
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    inner = shlex.join([*PCPINN, *command(hidden / "bench", "--on", "slurm", trials=1, iterations=3)])
    code, output = run(["unshare", "-m", "sh", "-c", f"mount -t tmpfs none {hidden} && {inner}"])
    assert code == 2, output
    assert "without a sign in" in output
    assert "file system that all nodes share" in output
