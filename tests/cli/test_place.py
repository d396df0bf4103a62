"""--on, status and cancel, as a user types them."""

import json
import subprocess
import sys
import time

import pytest
from test_bench import TINY
from typed import run

from pcpinn.cluster import Slurm


@pytest.mark.parametrize("words", [("--gpus", 1), ("--time", 5), ("--partition", "p"), ("--slurm", "account=a")])
def test_resources_are_for_clusters(capfd, tmp_path, words):
    code, _, err = run(capfd, "bench", *TINY, "--out", tmp_path / "b", *words)
    assert code == 2
    assert f"{words[0]} is for runs on a cluster" in err
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("command", [("bench", *TINY), ("study", "poisson1d"), ("reproduce", "table-3")])
def test_places(capfd, tmp_path, command):
    code, _, err = run(capfd, *command, "--out", tmp_path / "b", "--on", "moon")
    assert code == 2
    assert "there is no place 'moon'" in err


@pytest.mark.parametrize("command", [("bench", *TINY), ("study", "poisson1d"), ("reproduce", "table-3")])
def test_without_submitit(capfd, tmp_path, command, monkeypatch):
    monkeypatch.setitem(sys.modules, "submitit", None)
    code, _, err = run(capfd, *command, "--out", tmp_path / "b", "--on", "slurm")
    assert code == 2
    assert "pcpinn[cluster]" in err


def test_what_is_asked_for_arrives(capfd, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(Slurm, "check", lambda slurm: asked.append(slurm))
    monkeypatch.setattr("pcpinn.bench.runner.rows_from_slurm", lambda *a: (x for x in ()))
    more = ("--gpus", 1, "--time", 30, "--partition", "p", "--cpus", 2, "--jobs", 3, "--slurm", "mem=16G")
    with pytest.raises(KeyError):  # nobody works on it
        run(capfd, "bench", *TINY, "--out", tmp_path / "b", "--on", "slurm", *more)
    options = (("mem", "16G"),)
    assert asked == [Slurm(gpus=1, cpus=2, minutes=30, partition="p", at_once=3, options=options)]


def test_options_before_a_subcommand_are_not_ignored(capfd, tmp_path):
    code, _, err = run(capfd, "bench", "--trials", 5, "status", tmp_path)
    assert code == 2
    assert "bench status has no option --trials" in err


def test_status_and_cancel_of_nothing(capfd, tmp_path):
    for command in ("status", "cancel"):
        code, _, err = run(capfd, "bench", command, tmp_path)
        assert code == 2
        assert "holds no benchmark" in err


def test_status_and_cancel_of_a_local_benchmark(capfd, tmp_path):
    words = ["bench", *TINY, "--set", "iterations=10000000", "--trials", "2", "--out", str(tmp_path / "b")]
    words = ["-m", "pcpinn", *words, "--set", "optimiser=adam"]
    with subprocess.Popen([sys.executable, *words], stderr=subprocess.PIPE, text=True) as process:
        try:
            until = time.monotonic() + 60
            while not list(tmp_path.glob("b/runs/*/run.json")) and time.monotonic() < until:
                time.sleep(0.1)
            _, out, _ = run(capfd, "bench", "status", tmp_path / "b", "--json")
            found = json.loads(out)
            assert (found["running"], found["waiting"]) == (1, 1)
            code, out, _ = run(capfd, "bench", "cancel", tmp_path / "b")
            assert (code, out[:9]) == (0, "cancelled")
            assert process.wait(60) in (130, 143)
            assert "the same command goes on" in process.stderr.read()
        finally:
            process.kill()
    _, out, _ = run(capfd, "bench", "status", tmp_path / "b", "--json")
    assert {k: v for k, v in json.loads(out).items() if isinstance(v, int)} == {"stopped": 1, "waiting": 1}
    code, _, err = run(capfd, "bench", "cancel", tmp_path / "b")
    assert code == 2
    assert "nothing runs in" in err
