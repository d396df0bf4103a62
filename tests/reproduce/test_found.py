import json
from dataclasses import replace

import pytest

from pcpinn import PcpinnError
from pcpinn.bench import make_plan
from pcpinn.bench.results import Row, write_rows
from pcpinn.reproduce import ITEMS, Choice, Found, Runs, Sources, Studied
from pcpinn.reproduce.course_figures import band

TABLE = ITEMS.find("table-2")
CHOICE = Choice(problems=("poisson2d-c",), methods=("pcpinn",))


def rows(count=3, **changes):
    """Of the table's first cell, finished."""
    (part,) = TABLE.parts(replace(CHOICE, seeds=count))
    assert isinstance(part, Runs)
    cells = [p.cell for p in make_plan(part.request).cells]
    return [Row(c.key, c.problem, c.method, c.preset, c.changed, c.seed, "finished", **{"l2re": 1e-3 * (c.seed + 1), **changes})
            for c in cells]  # fmt: skip


def found(places, choice=CHOICE):
    return Found(choice, TABLE.parts(choice), Sources.read(places))


def test_a_table_of_rows_or_a_folder_of_any_kind(tmp_path):
    write_rows(tmp_path / "rows.csv", rows())
    for folder in (tmp_path / "b", tmp_path / "r" / "bench"):
        folder.mkdir(parents=True)
        write_rows(folder / "results.csv", rows())
    for place in ("rows.csv", "b", "r"):
        (group,) = found([tmp_path / place]).groups()
        assert [r.seed for r in group.finished] == [0, 1, 2]


def test_all_seeds_count_unless_fewer_are_asked_for(tmp_path):
    write_rows(tmp_path / "rows.csv", rows(7))
    assert found([tmp_path / "rows.csv"]).done == 7
    limited = replace(CHOICE, seeds=2)
    assert found([tmp_path / "rows.csv"], limited).done == 2


def test_other_settings_are_other_cells(tmp_path):
    write_rows(tmp_path / "rows.csv", [replace(r, changes="iterations=5") for r in rows()])
    assert found([tmp_path / "rows.csv"]).done == 0


def test_a_finished_run_counts_before_a_failed_one(tmp_path):
    good = rows()
    write_rows(tmp_path / "bad.csv", [replace(r, status="failed", l2re=None) for r in good])
    write_rows(tmp_path / "good.csv", good)
    write_rows(tmp_path / "later.csv", rows(l2re=5.0))
    sources = Sources.read([tmp_path / n for n in ("bad.csv", "good.csv", "later.csv")])
    assert list(sources.rows.values()) == good


def test_courses_are_averaged_over_trials(tmp_path):
    """On the iterations that all trials have; from histories.csv or from the runs' records."""
    write_rows(tmp_path / "results.csv", rows(2))
    first, second = rows(2)
    (tmp_path / "histories.csv").write_text(
        f"key,iteration,seconds,l2re\n{first.key},0,0,1.0\n{first.key},10,1,0.5\n{first.key},20,2,0.1\n"
    )
    record = tmp_path / "runs" / second.key
    record.mkdir(parents=True)
    (record / "result.json").write_text(json.dumps({"error_history": [[0, 0.0, 3.0], [10, 1.0, None], [10, 1.0, 1.5]]}))
    there = found([tmp_path])
    at, mean, std = band(there, there.groups()[0])
    assert at.tolist() == [0, 10]
    assert mean.tolist() == [2.0, 1.0]
    assert std.tolist() == [1.0, 0.5]


def test_a_study_of_other_sizes_stands_in(tmp_path):
    """Where the asked one is not there: the same study, problem and seed; the paper's size before a small one."""
    part = Studied("inverse-comparison", "heat-inv", True)

    def write(name, **facts):
        (tmp_path / "studies" / name).mkdir(parents=True)
        data = {"study": "inverse-comparison", "seed": 0, "problem": "heat-inv", "full": False, "seconds": 1.0, **facts}
        (tmp_path / "studies" / name / "result.json").write_text(json.dumps(data))

    write("other", problem="poisson-inv", full=True)
    write("seed", seed=1, full=True)
    assert Found(CHOICE, [part], Sources.read([tmp_path])).studied(part) is None
    write("small", seconds=9.0)
    write("full", full=True)
    assert Found(CHOICE, [part], Sources.read([tmp_path])).studied(part)["full"]
    write(part.key, seconds=3.0)
    assert Found(CHOICE, [part], Sources.read([tmp_path])).studied(part)["seconds"] == 3.0


@pytest.mark.parametrize(
    "text", ["", "key,iteration\n", "key,iteration,seconds,l2re\na,1,2\n", "key,iteration,seconds,l2re\na,b,c,d\n"]
)
def test_damaged_histories_are_refused(tmp_path, text):
    (tmp_path / "histories.csv").write_text(text)
    with pytest.raises(PcpinnError, match="cannot be read"):
        Sources.read([tmp_path])


def test_what_is_not_there_is_refused(tmp_path):
    with pytest.raises(PcpinnError, match="not there"):
        Sources.read([tmp_path / "none"])
