"""The driver of what is left of the paper: what counts as done, the order, prepared problems."""

import sys
from pathlib import Path

import pytest

from pcpinn.bench import Request, Row, make_plan, read_rows
from pcpinn.bench.results import write_rows

SMALL = {
    "size": "0.3", "degree": "1", "width": "4", "depth": "1", "features": "none", "iterations": "3", "certify": "false",
}  # fmt: skip


@pytest.fixture
def driver(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    import paper_left

    yield paper_left
    for name in ("paper_left", "baseline_cells"):
        sys.modules.pop(name)


def finished(planned, **facts):
    cell = planned.cell
    return Row(cell.key, cell.problem, cell.method, cell.preset, cell.changed, cell.seed, "finished", **facts)


def test_all_of_it_is_planned_once_and_what_is_known_is_left_out(driver, tmp_path):
    everything = driver.left(tuple(driver.GROUPS), [])
    assert len({p.cell.key for p in everything}) == len(everything)
    ours = [p.cell for p in everything if p.cell.method == "pcpinn" and not p.cell.changes]
    assert {c.problem for c in ours if c.seed == 0} == set(driver.suite("paper"))
    others = {(p.cell.method, p.cell.problem) for p in everything if p.cell.method != "pcpinn"}
    assert len(others) == 11 * 18
    assert everything[0].measure  # Table 3 comes first, with its condition numbers
    measured, bare = everything[0], next(p for p in everything if not p.measure)
    write_rows(tmp_path / "known.csv", [finished(measured), finished(bare)])
    left = driver.left(("tables",), [tmp_path / "known.csv"])
    assert measured in left  # its row lacks the condition number
    assert bare not in left
    write_rows(tmp_path / "known.csv", [finished(measured, condition=3.0)])
    assert measured not in driver.left(("tables",), [tmp_path / "known.csv"])


def test_tables_in_docs_are_known(driver):
    keys = {row.key for path in driver.KNOWN for row in read_rows(path) if row.finished}
    left = {p.cell.key for p in driver.left(("paper",), driver.KNOWN)}
    assert left
    assert keys
    assert not left & keys


def test_runs_from_prepared_problems_and_goes_on(driver, tmp_path, monkeypatch, capsys):
    request = Request(problems=("poisson2d-c",), presets=("quick",), trials=2, changes=tuple(SMALL.items()))
    cells = make_plan(request).cells
    monkeypatch.setattr(driver, "GROUPS", {"tables": lambda: iter(cells)})
    assert driver.main(["--groups", "tables", "--prepare", str(tmp_path / "packed")]) == 0
    for module in ("netgen", "netgen.occ", "netgen.meshing"):
        monkeypatch.setitem(sys.modules, module, None)
    words = ["--groups", "tables", "--prepared", str(tmp_path / "packed"), "--device", "cpu"]
    words += ["--out", str(tmp_path / "out"), "--table", str(tmp_path / "t.csv")]
    assert driver.main(words) == 0
    assert "all problems are prepared" in capsys.readouterr().out
    assert [r.finished for r in read_rows(tmp_path / "t.csv")] == [True, True]
    assert driver.main(words) == 0
    assert "2 runs, 2 of them done" in capsys.readouterr().out


def test_an_unknown_group_is_refused(driver, capsys):
    assert driver.main(["--groups", "tabels", "--list"]) == 2
    assert "tabels" in capsys.readouterr().err
