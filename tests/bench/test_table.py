import csv
import io
import statistics
from dataclasses import replace

import pytest
import tiny
from rich.console import Console

from pcpinn.bench import BenchFolder
from pcpinn.bench.outputs import main_summaries, write_tables
from pcpinn.bench.results import Row
from pcpinn.bench.sweep_table import sweep_header, sweep_lines, sweeps
from pcpinn.bench.table import (
    exponent,
    gain,
    mean_of,
    short,
    summaries_as_csv,
    summaries_as_markdown,
    summarise,
    with_std,
)
from pcpinn.cli.bench_display import main_table, sweep_table


def row(problem="wave1d-c", method="pcpinn", seed=0, l2re=None, status="finished", changes="", preset="quick"):
    numbers = (
        {"l2re": l2re, "l1re": l2re, "mse": l2re, "total_s": 10.0 * (seed + 1), "kind": "trained network"}
        if status == "finished"
        else {}
    )
    return Row(f"{problem}{method}{preset}{changes}{seed}", problem, method, preset, changes, seed, status, **numbers)


def shown(table, width=100):
    out = io.StringIO()
    Console(file=out, width=width).print(table)
    return out.getvalue()


def test_mean_and_deviation_are_those_of_the_trials():
    values = [1e-3, 2e-3, 6e-3]
    found = mean_of([*values, None])
    assert found.mean == pytest.approx(statistics.fmean(values))
    assert found.std == pytest.approx((sum((v - 3e-3) ** 2 for v in values) / 3) ** 0.5)
    assert found.count == 3
    assert mean_of([2.0]).std is None
    assert mean_of([None]) is None


def test_the_papers_deviations_divide_by_n():
    """Its table of Adam betas has 9.43e-5 for three trials rounded to 1e-4: only division by n gives that."""
    assert mean_of([0.0640, 0.0640, 0.0642]).std == pytest.approx(9.43e-5, rel=1e-3)


def test_trials_are_grouped_and_the_best_comes_first():
    rows = [row(l2re=3e-4, seed=1), row(l2re=1e-4, seed=0), row(method="pinn", l2re=1e-1), row("poisson2d-c", l2re=1e-2),
            row(method="fem-fit", l2re=5e-5), row(method="fem-fit", seed=1, status="failed")]  # fmt: skip
    found = summarise(rows)
    assert [(s.problem, s.method) for s in found] == [
        ("wave1d-c", "fem-fit"), ("wave1d-c", "pcpinn"), ("wave1d-c", "pinn"), ("poisson2d-c", "pcpinn"),
    ]  # fmt: skip
    assert [r.seed for r in found[1].rows] == [0, 1]
    assert found[1].mean("l2re").mean == pytest.approx(2e-4)
    assert found[1].mean("total_s").mean == 15.0
    assert gain(found[1]) == pytest.approx(1.28e-2 / 2e-4)


def test_numbers_are_short():
    assert [short(v) for v in (1.234e-4, 0.0, None, 12.0)] == ["1.23e-4", "0", "-", "1.20e1"]
    assert exponent("1.0e+00") == "1.0e0"
    assert with_std(mean_of([1e-3, 3e-3])) == "2.00e-3 (1.0e-3)"
    assert with_std(mean_of([1e-3])) == "1.00e-3"


def test_markdown_stands_beside_the_paper():
    text = summaries_as_markdown(summarise([row(l2re=1e-4), row(status="failed", seed=1), row("mine|own", l2re=0.5)]))
    problem, ours, paper, other, own, mine = text.splitlines()[2:]
    assert problem.startswith("| **wave1d-c** |")
    assert [c.strip() for c in ours.split("|")[1:-1]] == [
        "pcpinn quick", "1 of 2", "1.00e-4", "1.00e-4", "1.00e-4", "10.0 s", "trained network", "128x",
    ]  # fmt: skip
    assert "1.28e-2 (1.2e-4) | 1.11e-2" in paper
    assert "9.79e-2 (7.7e-3) NTK" in other
    assert "mine\\|own" in own
    assert mine.endswith("| - |")


def test_kinds_of_trials_that_differ_are_all_named():
    (found,) = summarise(
        [row(l2re=1.0), replace(row(l2re=1.0, seed=1), kind="last layer only"), row(status="failed", seed=2)]
    )
    assert found.kind == "trained network / last layer only"
    (unknown,) = summarise([replace(row(l2re=1.0), kind="")])
    assert unknown.kind == "-"


def test_csv_has_every_number_unrounded():
    (line,) = csv.DictReader(io.StringIO(summaries_as_csv(summarise([row(l2re=1 / 3), row(l2re=2 / 3, seed=1)]))))
    assert float(line["l2re_mean"]) == 0.5
    assert float(line["l2re_std"]) == pytest.approx(1 / 6)
    assert (float(line["paper_l2re_mean"]), line["best_other_l2re_method"]) == (1.28e-2, "NTK")


@pytest.mark.parametrize("width", [80, 120])
def test_the_terminal_table_fits(width):
    rows = [row(p, m, s, 1.2345e-4 * (s + 1), changes="iterations=20000;optimiser=adam") for p in ("poisson2d-cg", "heat2d-lt")
            for m in ("pcpinn", "fem-fit") for s in (0, 1)]  # fmt: skip
    text = shown(main_table(summarise(rows), width), width)
    assert max(map(len, text.splitlines())) <= width
    assert ("MSE" in text) == (width == 120)
    for word in ("fem-fit quick", "optimiser=adam", "1.85e-4 (6.2e-5)", "5.07e-3 (1.9e-3)", "27x", "15.0 s", "…"):
        assert (word in text) == (word != "…")


@pytest.fixture(scope="module")
def ablation(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ablation") / "b"
    changes = {"cells": "12", "degree": "1"}
    tiny.run(folder, tiny.plan(changes=changes, trials=1))
    tiny.run(folder, tiny.plan(changes=changes, trials=None, ablation="drop-tolerance"))
    tiny.run(
        folder, tiny.plan(changes={**changes, "optimiser": "adam"}, sweeps=("beta1:beta2=0.9:0.9,0.8:0.9",), trials=1)
    )
    return BenchFolder(folder)


def test_sweeps_have_a_line_per_variant_in_order(ablation):
    drop, betas = sweeps(ablation.plans(), ablation.rows())
    assert (drop.axis, [p.label for p in drop.points]) == ("drop_tolerance", ["0.0001", "0.001", "0.01", "0.1", "none"])
    assert (betas.axis, [p.label for p in betas.points]) == ("beta1, beta2", ["0.9, 0.9", "0.8, 0.9"])
    assert sweep_header(drop)[:6] == ["drop_tolerance", "trials", "L2RE", "paper L2RE", "condition", "(paper)"]
    assert all(len(line) == len(sweep_header(drop)) for line in sweep_lines(drop))
    assert float(sweep_lines(drop)[0][4]) == pytest.approx(1, abs=0.01)
    assert max(map(len, shown(sweep_table(drop)).splitlines())) <= 100


def test_studies_stand_beside_the_paper(ablation):
    """As if the tiny problem were one of the paper's."""
    plan = ablation.plans()[1]
    from dataclasses import replace

    cells = tuple(replace(c, cell=replace(c.cell, problem="poisson2d-c")) for c in plan.cells)
    rows = {new.cell.key: ablation.rows()[old.cell.key] for new, old in zip(cells, plan.cells, strict=True)}
    (sweep,) = sweeps([replace(plan, cells=cells)], rows)
    line = sweep_lines(sweep)[2]
    assert [line[3], line[5], line[7]] == ["4.07e-3", "15.2", "5.51e-1"]


def test_swept_runs_stay_out_of_the_main_table(ablation):
    (summary,) = main_summaries(ablation.plans(), ablation.rows())
    assert summary.changes == tiny.plan(changes={"cells": "12", "degree": "1"}).cells[0].cell.changed


def test_tables_on_disk(ablation):
    write_tables(ablation)
    text = (ablation.path / "table.md").read_text()
    assert text.count("pcpinn bench --problems poisson1d") == 2
    assert "pcpinn bench --ablation drop-tolerance" in text
    assert "## drop tolerance of the incomplete factorisation: poisson1d, pcpinn quick" in text
    assert len(list(csv.DictReader(io.StringIO((ablation.path / "table.csv").read_text())))) == 8


def test_five_and_ten_trials(tmp_path):
    tiny.run(tmp_path / "b", tiny.plan(ablation="trials", trials=10, changes={"iterations": "1"}))
    bench = BenchFolder(tmp_path / "b")
    (sweep,) = sweeps(bench.plans(), bench.rows())
    rows = sorted(bench.rows().values(), key=lambda r: r.seed)
    assert [p.label for p in sweep.points] == ["5 trials", "10 trials"]
    for point, n in zip(sweep.points, (5, 10), strict=True):
        assert point.mean("l2re").mean == pytest.approx(statistics.fmean(r.l2re for r in rows[:n]))
