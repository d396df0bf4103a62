"""The driver of what is left of the paper: what counts as done, the order, prepared problems."""

import sys
from dataclasses import replace

import pytest

from pcpinn.bench import Request, Row, make_plan, read_rows
from pcpinn.bench.results import write_rows

SMALL = {
    "size": "0.3", "degree": "1", "width": "4", "depth": "1", "features": "none", "iterations": "3", "certify": "false",
}  # fmt: skip


@pytest.fixture
def driver(script):
    return script("paper_left")


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


def test_rows_that_come_back_go_into_the_tables_of_their_kind_once(driver, tmp_path, monkeypatch):
    tables = {name: tmp_path / f"docs/{name}.csv" for name in ("PINNS", "OURS", "ABLATIONS", "DEFAULTS")}
    for name, path in tables.items():
        monkeypatch.setattr(driver, name, path)
    rows = [finished(p) for p in driver.left(("tables", "paper", "baselines", "defaults"), [])]
    drawn, lost = rows[0], replace(rows[-1], status="failed")
    came = tmp_path / "kept"
    came.mkdir()
    write_rows(came / "results.csv", [*rows[:-1], lost])
    (came / "histories.csv").write_text(f"key,iteration,seconds,l2re\n{drawn.key},5,0.100,0.5\n")
    gained = driver.take(came, list(tables.values()))
    assert sum(map(len, gained.values())) == len(rows) - 1
    assert all(r.method in driver.OTHERS for r in read_rows(tables["PINNS"]))
    assert all(r.method == "pcpinn" and not r.changes for r in read_rows(tables["OURS"]))
    assert all(r.changes for r in read_rows(tables["ABLATIONS"]))
    assert {r.preset for r in read_rows(tables["DEFAULTS"])} == {"default"}
    assert (tmp_path / "docs" / "histories.csv").read_text() == (came / "histories.csv").read_text()
    assert not sum(map(len, driver.take(came, list(tables.values())).values()))


def test_how_many_ran_at_once_is_noted_by_day(driver, tmp_path):
    (row, *_) = [finished(p) for p in driver.left(("paper",), [])]
    (tmp_path / "b.csv").write_text("date,machine,at_once,what\n")
    driver.note_company([replace(row, date="2026-01-02", machine="a GPU")] * 2, 16, tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text().splitlines()[1:] == ["2026-01-02,a GPU,16,2 runs"]
