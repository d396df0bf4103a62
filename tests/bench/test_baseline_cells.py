"""The driver of baselines: order, budget, what is kept for the next call, the table."""

from dataclasses import replace

import pytest

from pcpinn.bench import read_rows
from pcpinn.catalog.prepared import write_prepared
from pcpinn.catalog.task import catalog_task
from pcpinn.cli import main as pcpinn

TINY = [f"--set={k}={v}" for k, v in {"width": 5, "depth": 1, "collocation": 30, "boundary_points": 20}.items()]


@pytest.fixture
def driver(script):
    return script("baseline_cells")


@pytest.fixture
def prepared(tmp_path):
    task = catalog_task("wave1d-c", "pinnacle", {}, method="pinn")
    write_prepared(task, tmp_path / "prepared" / "wave1d-c.pcpinn")
    return tmp_path / "prepared"


def test_once_each_then_more_seeds_on_four_problems(driver):
    cells = driver.usual_cells(driver.OTHERS, driver.suite("paper"))
    assert len(cells) == 11 * 18 + 2 * 11 * 4
    assert len(set(cells)) == len(cells)
    assert all(c.seed == 0 for c in cells[: 11 * 18])
    assert {c.problem for c in cells[11 * 18 :]} == set(driver.MORE_SEEDS)
    assert (cells[0].method, driver.problem_cost(cells[0].problem)) == ("vpinn", 4.1)
    assert (cells[197].method, cells[197].problem) == ("gpinn", "ns2d-lt")


def test_goes_on_from_what_was_kept(driver, prepared, tmp_path, capsys):
    table = tmp_path / "table.csv"
    common = ["--prepared", str(prepared), "--device", "cpu", "--table", str(table), *TINY, "--set=iterations=20"]
    common += ["--methods", "pinn,lra", "--problems", "wave1d-c", "--seeds", "2"]
    cells = tmp_path / "cells"
    cells.write_text("pinn,wave1d-c,0\n\nlra,wave1d-c,0\n")
    first = ["--out", str(tmp_path / "a"), "--keep", str(tmp_path / "kept"), "--cells", str(cells)]
    assert driver.main([*common, *first]) == 0
    assert "ours / published" in capsys.readouterr().out
    assert [(r.method, r.iterations, r.seed) for r in read_rows(table)] == [("lra", 20, 0), ("pinn", 20, 0)]
    assert not (tmp_path / "kept" / "runs").exists()
    assert driver.main([*common, "--out", str(tmp_path / "kept")]) == 0
    assert "4 runs, 2 of them done" in capsys.readouterr().out
    assert len(read_rows(table)) == 4
    courses = (tmp_path / "kept" / "histories.csv").read_text().splitlines()
    assert len({line.split(",")[0] for line in courses}) == 5  # and the header
    changes = ["--set", "iterations=20", *(word for text in TINY for word in text.split("=", 1))]
    named = ["--problems", "wave1d-c", "--methods", "pinn,lra"]
    with pytest.raises(SystemExit) as end:
        pcpinn(["reproduce", "table-2", "--from", str(table), *named, *changes])
    assert end.value.code == 0
    printed = capsys.readouterr().out
    assert "wave1d-c" in printed
    assert "lra" in printed


def test_stops_in_time_and_keeps_what_is_unfinished(driver, prepared, tmp_path, capsys):
    arguments = ["--prepared", str(prepared), "--device", "cpu", "--keep", str(tmp_path / "kept"), *TINY]
    arguments += ["--methods", "pinn", "--problems", "wave1d-c", "--seeds", "1", "--set=checkpoint_every=0"]
    arguments += ["--set=iterations=100000"]
    assert driver.main([*arguments, "--out", str(tmp_path / "a"), "--budget", "3"]) == 1
    assert "0 of 1 finished, 0 failed, 1 left: out of time" in capsys.readouterr().out
    (run,) = (tmp_path / "kept" / "runs").iterdir()
    assert (run / "checkpoint.safetensors").exists()


def test_a_finished_row_is_not_replaced_by_a_failed_one(driver, tmp_path):
    plan = driver.plan_of([driver.Wanted("pinn", "wave1d-c")], "pinnacle", None, [])
    good = driver.Row(plan.cells[0].cell.key, "wave1d-c", "pinn", "pinnacle", "", 0, "finished", l2re=0.5)
    bad = replace(good, status="failed", l2re=None)
    driver.merge(tmp_path / "t.csv", [bad])
    assert not driver.merge(tmp_path / "t.csv", [])[0].finished
    driver.merge(tmp_path / "t.csv", [good])
    assert driver.merge(tmp_path / "t.csv", [bad])[0].l2re == 0.5


def test_strange_cells_are_refused(driver, tmp_path, capsys):
    (tmp_path / "cells").write_text("pinn,wave1d-c\n")
    assert driver.main(["--out", str(tmp_path / "a"), "--cells", str(tmp_path / "cells")]) == 2
    assert "line 1" in capsys.readouterr().err
