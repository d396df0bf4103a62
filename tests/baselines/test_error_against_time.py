"""The benchmark as a command, without DeepXDE."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from pcpinn.catalog.prepared import write_prepared
from pcpinn.catalog.task import catalog_task

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "error_against_time.py"


@pytest.fixture
def main(monkeypatch):
    monkeypatch.syspath_prepend(SCRIPT.parent)
    import error_against_time

    yield error_against_time.main
    for name in ("error_against_time", "recorder", "common"):
        sys.modules.pop(name)


def check(folder, labels):
    rows = list(csv.DictReader((folder / "poisson1d.csv").read_text(encoding="utf-8").splitlines()))
    assert {r["method"] for r in rows} == labels
    assert all(float(r["l2re"]) > 0 and float(r["seconds"]) > 0 for r in rows)
    assert (folder / "poisson1d.png").stat().st_size > 1000


def test_benchmark_writes_table_csv_and_picture(tmp_path):
    command = [
        sys.executable,
        str(SCRIPT),
        "--problems",
        "poisson1d",
        "--methods",
        "direct",
        "pcpinn-gn",
        "pcpinn-adam",
        "pinn",
    ]
    run = subprocess.run(
        [*command, "--seconds", "0.4", "--cpu-time", "--out", str(tmp_path)], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    labels = {"finite elements, direct", "pcpinn, Gauss-Newton", "pcpinn, Adam", "PINN, Adam"}
    assert all(f"| {label} " in run.stdout for label in labels)
    check(tmp_path, labels)


def test_prepared_files_serve_the_methods_of_their_preset(main, tmp_path, capsys):
    path = tmp_path / "p.pcpinn"
    write_prepared(catalog_task("poisson1d", "paper", {"cells": (20,), "width": 8, "depth": 2}), path)
    methods = ["--methods", "pcpinn-gn", "pcpinn-adam", "pinn-hard", "--seconds", "0.2", "--device", "cpu"]
    main(["--problems", str(path), *methods, "--out", str(tmp_path)])
    check(tmp_path, {"pcpinn, Adam", "PINN, Adam, no features, hard"})
    assert "pcpinn prepare poisson1d --preset default" in capsys.readouterr().err


@pytest.mark.parametrize("problem", ["nonsense", "missing.pcpinn"])
def test_unknown_problems_are_refused(main, problem, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--problems", problem])
    assert stopped.value.code == 2
    assert problem in capsys.readouterr().err
