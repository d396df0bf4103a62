"""The benchmark of Adam's steps as a command, from a prepared file."""

import csv

import pytest

from pcpinn.catalog.prepared import write_prepared
from pcpinn.catalog.task import catalog_task


def test_all_ways_take_the_same_steps(script, tmp_path, capsys):
    changes = {"cells": (8,), "width": 8, "depth": 1}
    write_prepared(catalog_task("poisson1d", "paper", changes), tmp_path / "p.pcpinn")
    ways = ["--at-once", "0", "1", "3"]
    script("adam_steps").main(
        [str(tmp_path / "p.pcpinn"), "--device", "cpu", "--steps", "7", *ways, "--out", str(tmp_path / "results")]
    )
    rows = list(csv.DictReader((tmp_path / "results" / "adam-steps-cpu.csv").read_text().splitlines()))
    trained = [r for r in rows if not r["part"]]
    assert [(r["steps at once"], r["steps"]) for r in trained] == [("plain", "7"), ("1", "7"), ("3", "7")]
    losses = [float(r["loss"]) for r in trained]
    assert losses == pytest.approx([losses[0]] * 3, rel=1e-4)
    assert all(float(r["ms_per_step"]) > 0 for r in trained)
    assert {r["part"] for r in rows if r["part"]} >= {"P^-1 A u", "fused update"}
    assert "ms per step" in capsys.readouterr().out
