"""Families in a benchmark: planned with all their methods, measured against truth that is made once, in a table of their own."""

import pytest
from families import line, line_family

from pcpinn import PcpinnError
from pcpinn.bench import BenchFolder, Request, make_plan, run_plan
from pcpinn.bench.outputs import write_tables
from pcpinn.catalog import FAMILIES, FamilyEntry
from pcpinn.catalog.family_task import family_task
from pcpinn.catalog.prepared import write_prepared
from pcpinn.files import read_json, write_json
from pcpinn.solve.method import FAMILY_METHODS

MESH = {"cells": (4,), "degree": 2, "width": 6, "depth": 1, "samples": 8, "validation": 8, "iterations": 5}


@pytest.fixture
def entry():
    made = FamilyEntry(
        name="line", title="", equation="", domain="", conditions="", family=line_family(),
        fine={"cells": (8,), "degree": 3}, queries={"quick": 4}, presets={"quick": MESH, "default": MESH}, suites=("families",),
    )  # fmt: skip
    FAMILIES.register(made)
    yield made
    FAMILIES.discard("line")


def test_all_methods_are_planned_by_default(entry):
    plan = make_plan(Request(problems=("line",), presets=("quick",)))
    assert {p.cell.method for p in plan.cells} == set(FAMILY_METHODS.names())
    named = make_plan(Request(problems=("line",), presets=("quick",), methods=("pcpinn", "pod")))
    assert [p.cell.method for p in named.cells] == ["family", "pod"]
    assert named.cells[1].cell.command() == "pcpinn solve line --preset quick --method pod --seed 0"
    with pytest.raises(PcpinnError, match="fem-fit"):
        make_plan(Request(problems=("line",), presets=("quick",), methods=("fem-fit",)))


def test_methods_for_steady_families_are_left_out_of_others():
    plan = make_plan(Request(problems=("burgers1d-c-viscosity",), presets=("quick",)))
    assert {p.cell.method for p in plan.cells} == {"family", "regression"}


def test_a_prepared_family_is_the_same_row(entry, tmp_path):
    """Mesh and mesh of truth come from the file; key, settings and errors are those of the family by name."""
    path = tmp_path / "line.pcpinn"
    write_prepared(family_task("line", "quick", {"iterations": "3"}), path)
    one, two = (
        make_plan(Request(problems=(problem,), presets=("quick",), methods=("family",), changes=(("iterations", "3"),)))
        for problem in ("line", str(path))
    )
    assert [p.cell.key for p in one.cells] == [p.cell.key for p in two.cells]
    (here,) = run_plan(BenchFolder(tmp_path / "one"), one, device="cpu").values()
    (there,) = run_plan(BenchFolder(tmp_path / "two"), two, device="cpu").values()
    assert here.finished
    assert (here.l2re, here.worst, here.reference_error) == (there.l2re, there.worst, there.reference_error)
    all_of_it = make_plan(Request(problems=(str(path),), presets=("quick",)))
    assert {p.cell.method for p in all_of_it.cells} == set(FAMILY_METHODS.names())


def test_measured_and_in_a_table(entry, tmp_path):
    bench = BenchFolder(tmp_path / "bench")
    plan = make_plan(Request(problems=("line",), presets=("quick",), methods=("family", "nearest")))
    rows = list(run_plan(bench, plan, device="cpu").values())
    assert all(r.finished for r in rows)
    for row in rows:
        assert 0 < row.l2re <= row.p95 <= row.worst
        assert row.query_ms > 0
        assert 0 <= row.within_two <= 1
        assert row.ratio_low <= row.ratio_median <= row.ratio_high
        assert 0 < row.reference_error < 1e-2
    (truth,) = (bench.path / "references").iterdir()
    made = truth.stat().st_mtime_ns
    assert list(run_plan(bench, plan, device="cpu").values()) == rows
    assert truth.stat().st_mtime_ns == made
    assert list(bench.rows().values()) == rows
    write_tables(bench)
    table = (bench.path / "table.md").read_text()
    assert "| **line** |" in table
    assert "| nearest quick |" in table
    assert "paper / ours" not in table  # that is of single problems


def test_a_run_that_was_not_compared_is_no_row(entry, tmp_path):
    """Killed between the answer and its comparison with truth: it is done again."""
    bench = BenchFolder(tmp_path / "bench")
    plan = make_plan(Request(problems=("line",), presets=("quick",), methods=("nearest",)))
    (row,) = run_plan(bench, plan, device="cpu").values()
    path = bench.run_folder(plan.cells[0].cell) / "result.json"
    write_json(path, {k: v for k, v in read_json(path).items() if k != "unseen"})
    bench.results_file.unlink()
    (again,) = run_plan(bench, plan, device="cpu").values()
    assert (again.l2re, again.worst) == pytest.approx((row.l2re, row.worst))


def test_an_answer_that_was_not_compared_is_not_made_again(entry, tmp_path, monkeypatch):
    bench = BenchFolder(tmp_path / "bench")
    plan = make_plan(Request(problems=("line",), presets=("quick",), methods=("family",)))
    (row,) = run_plan(bench, plan, device="cpu").values()
    path = bench.run_folder(plan.cells[0].cell) / "result.json"
    write_json(path, {k: v for k, v in read_json(path).items() if k != "unseen"})
    bench.results_file.unlink()
    monkeypatch.setattr("pcpinn.family.run.FamilyRun.carry_out", None)
    (again,) = run_plan(bench, plan, device="cpu").values()
    assert again.finished
    assert (again.l2re, again.worst) == pytest.approx((row.l2re, row.worst))
    assert again.ratio_median == pytest.approx(row.ratio_median)
    assert again.train_s == row.train_s


def test_the_family_is_the_one_of_the_tests(entry):
    assert entry.family.base.name == line(*entry.family.middle).name
