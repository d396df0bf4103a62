"""The benchmark as a command, without DeepXDE."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from pcpinn.catalog.prepared import write_prepared
from pcpinn.catalog.task import catalog_task

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "error_against_time.py"


def run(tmp_path, *options):
    command = [sys.executable, str(SCRIPT), "--methods", "pcpinn-gn", "pcpinn-adam", "pinn", "--seconds", "0.4"]
    return subprocess.run([*command, "--out", str(tmp_path), *options], capture_output=True, text=True)


@pytest.mark.parametrize("prepared", [False, True])
def test_benchmark_writes_table_csv_and_picture(tmp_path, prepared):
    """From a name; from a prepared file, which is there for one preset alone."""
    labels = {"pcpinn, Gauss-Newton", "pcpinn, Adam", "PINN, Adam"}
    problem = "poisson1d"
    if prepared:
        problem = str(tmp_path / "p.pcpinn")
        write_prepared(catalog_task("poisson1d", "paper", {"cells": (20,), "width": 8, "depth": 2}), Path(problem))
        labels.remove("pcpinn, Gauss-Newton")
    result = run(tmp_path, "--problems", problem)
    assert result.returncode == 0, result.stderr
    assert all(f"| {label} " in result.stdout for label in labels)
    rows = list(csv.DictReader((tmp_path / "poisson1d.csv").read_text(encoding="utf-8").splitlines()))
    assert {r["method"] for r in rows} == labels
    assert all(float(r["l2re"]) > 0 and float(r["seconds"]) > 0 for r in rows)
    assert (tmp_path / "poisson1d.png").stat().st_size > 1000
    assert ("pcpinn prepare poisson1d --preset default" in result.stderr) == prepared


@pytest.mark.parametrize("problem", ["nonsense", "missing.pcpinn"])
def test_unknown_problems_are_refused(tmp_path, problem):
    result = run(tmp_path, "--problems", problem)
    assert result.returncode == 2
    assert problem in result.stderr
    assert "Traceback" not in result.stderr
