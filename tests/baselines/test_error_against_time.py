"""The benchmark as a command, without DeepXDE."""

import csv
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "error_against_time.py"


def test_benchmark_writes_table_csv_and_picture(tmp_path):
    command = [sys.executable, str(SCRIPT), "--problems", "poisson1d", "--methods", "pcpinn-gn", "pcpinn-adam", "pinn"]
    run = subprocess.run([*command, "--seconds", "0.4", "--out", str(tmp_path)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    for label in ("pcpinn, Gauss-Newton", "pcpinn, Adam", "PINN, Adam"):
        assert f"| {label} " in run.stdout
    rows = list(csv.DictReader((tmp_path / "poisson1d.csv").read_text(encoding="utf-8").splitlines()))
    assert {r["method"] for r in rows} == {"pcpinn, Gauss-Newton", "pcpinn, Adam", "PINN, Adam"}
    assert all(float(r["l2re"]) > 0 and float(r["seconds"]) > 0 for r in rows)
    assert (tmp_path / "poisson1d.png").stat().st_size > 1000
