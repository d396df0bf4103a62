"""The sweep on a real Slurm in .ci/run: said where it cannot be had, and a failure where it fails."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CI = Path(__file__).parents[2] / ".ci"
pytestmark = pytest.mark.skipif(sys.platform == "win32" or not CI.exists(), reason="a shell script of the repository")


def run_with(tmp_path, up, make, **limits):
    """With stand-ins for `slurm-up` and `make`, and no Slurm in reach."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(CI / "slurm-test", tmp_path / ".ci")
    for name, text in {".ci/slurm-up": up, "make": make, "sinfo": "exit 1"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\necho {name} $* >> {tmp_path}/calls\n{text}\n")
        (tmp_path / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "SLURM_UP_SECONDS": "1", **limits}
    done = subprocess.run([tmp_path / ".ci" / "slurm-test"], env=environment, capture_output=True, text=True)
    calls = tmp_path / "calls"
    return done.returncode, done.stdout, calls.read_text().split("\n") if calls.exists() else []


@pytest.mark.parametrize("up", ["exit 3", "exec sleep 30"], ids=["no root", "no package index"])
def test_what_cannot_be_had_is_said(tmp_path, up):
    code, said, calls = run_with(tmp_path, up, "exit 1")
    assert code == 0
    assert "NOT RUN: make test-slurm" in said
    assert not any(c.startswith("make") for c in calls)


@pytest.mark.parametrize("outcome", [0, 1])
def test_the_outcome_of_the_sweep_counts(tmp_path, outcome):
    code, said, calls = run_with(tmp_path, "exit 0", f"exit {outcome}")
    assert code == outcome
    assert "NOT RUN" not in said
    assert "make test-slurm SLURM_SECONDS=240" in calls
    assert ".ci/slurm-up down" in calls  # it was not there before


def test_without_time_it_is_not_begun(tmp_path):
    code, said, calls = run_with(tmp_path, "exit 0", "exit 1", SECONDS_LEFT="150")
    assert code == 0
    assert "NOT RUN: make test-slurm, since the other checks left 150 s" in said
    assert not calls


@pytest.mark.parametrize(("takes", "expected"), [(0, 1), (4, 0)])
def test_with_little_time_its_end_is_no_failure(tmp_path, takes, expected):
    """Two seconds are left for it: it fails by itself, or is ended by the time."""
    limits = {"SECONDS_LEFT": "32", "SLURM_LEAST_SECONDS": "1"}
    code, said, _ = run_with(tmp_path, "exit 0", f"sleep {takes}; exit 1", **limits)
    assert code == expected
    assert ("NOT RUN to its end" in said) is (expected == 0)


def test_with_all_of_its_time_its_end_is_a_failure(tmp_path):
    code, said, _ = run_with(tmp_path, "exit 0", "sleep 2; exit 1", SLURM_TEST_SECONDS="1")
    assert code == 1
    assert "NOT RUN" not in said
