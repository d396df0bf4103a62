import json

import pytest
import tiny

from pcpinn import PcpinnError
from pcpinn.bench.cell import Cell
from pcpinn.bench.results import COLUMNS, Row, failed, read_rows, row_of, rows_as_csv, write_rows

CELL = Cell("p", "pcpinn", "quick", (("width", "4"),), 7)
ROW = Row(CELL.key, "p", "pcpinn", "quick", "width=4", 7, "finished", l2re=0.1 + 0.2, iterations=3, reason="")


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    folder = tmp_path_factory.mktemp("one")
    (key,) = tiny.run(folder, tiny.plan(trials=1))
    return json.loads((folder / "runs" / key / "result.json").read_text())


def test_rows_round_trip(tmp_path):
    rows = [ROW, failed(Cell("q", "pinn", "paper", (), 0), 'a "quoted"\nreason, with\tblanks')]
    write_rows(tmp_path / "r.csv", rows)
    assert read_rows(tmp_path / "r.csv") == rows
    assert rows[1].reason == 'a "quoted" reason, with blanks'
    assert read_rows(tmp_path / "none.csv") == []


def test_rows_of_earlier_versions_are_read(tmp_path):
    """They lack columns that came later; what says which run it is must be there."""
    lines = [line.split(",") for line in rows_as_csv([ROW]).splitlines()]
    without = {k: [j for j, name in enumerate(lines[0]) if name != k] for k in ("mae", "kind", "seed")}
    for name, keep in without.items():
        (tmp_path / name).write_text("".join(",".join(line[j] for j in keep) + "\n" for line in lines))
    assert read_rows(tmp_path / "mae") == read_rows(tmp_path / "kind") == [ROW]
    with pytest.raises(PcpinnError, match="columns"):
        read_rows(tmp_path / "seed")


def test_a_row_holds_what_the_result_does(result):
    row = row_of(CELL, result, {"condition": 1.5, "applied_error": None, "note": ""})
    assert (row.key, row.changes, row.seed, row.status) == (CELL.key, "width=4", 7, "finished")
    assert (row.l2re, row.training) == (result["errors"]["l2re"], result["errors"]["training"])
    assert (row.iterations, row.dofs, row.parameters) == (3, result["dofs"], result["parameters"])
    assert (row.condition, row.applied_error, row.device) == (1.5, None, "cpu")
    assert (row.mae, row.kind) == (result["errors"]["mae"], "trained network")
    assert row.total_s == result["time"]["total_s"]


def test_a_diverged_run_has_failed(result):
    row = row_of(CELL, {**result, "stopped_by": "not finite"})
    assert not row.finished
    assert "NaN" in row.reason


@pytest.mark.parametrize(
    "change", [{"errors": {}}, {"time": None}, {"iterations": "many"}, {"device": 3}, {"memory": []}]
)
def test_a_strange_result_is_refused(result, change):
    with pytest.raises(PcpinnError, match="lacks"):
        row_of(CELL, {**result, **change})


def test_numbers_that_are_not_finite_count_as_absent(result):
    row = row_of(CELL, {**result, "errors": {**result["errors"], "l2re": float("nan")}})
    assert row.l2re is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace("l2re", "l3re", 1),
        lambda text: text[: text.index("\n") + 60],  # half a row
        lambda text: text.replace("0.30000000000000004", "much"),
        lambda text: text.replace(",7,finished", ",7,splendid"),
        lambda text: text.replace(",7,finished", ",seven,finished"),
        lambda text: text + text.splitlines()[1] + "\n",
        lambda text: text + '"' + "x" * 200_000 + '"\n',
        lambda text: text + "\0\n",
    ],
)
def test_damaged_files_are_refused(tmp_path, damage):
    path = tmp_path / "r.csv"
    path.write_text(damage(rows_as_csv([ROW])))
    with pytest.raises(PcpinnError, match=r"r\.csv") as caught:
        read_rows(path)
    assert "damaged" in caught.value.remedy


def test_bytes_that_are_no_text(tmp_path):
    (tmp_path / "r.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PcpinnError, match="cannot be read"):
        read_rows(tmp_path / "r.csv")


def test_columns_asked_for():
    asked = """key problem method preset changes seed status reason l2re l1re mse training discretisation estimate
    reference_error iterations dofs parameters setup_s train_s total_s device version date quality condition"""
    assert set(asked.split()) <= set(COLUMNS)
