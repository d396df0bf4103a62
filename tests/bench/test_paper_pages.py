"""Parts of pages that follow from rows: what they say of rows that are made up, and that each row counts."""

from dataclasses import replace

import pytest

from pcpinn.bench import Row


@pytest.fixture
def pages(script):
    return script("paper_pages")


def row(method, error, problem="wave1d-c", preset="pinnacle", **facts):
    key = f"{problem}-{method}-{preset}-{facts.get('seed', 0)}"
    return replace(
        Row(key, problem, method, preset, "", 0, "finished", l2re=error, iterations=20_000, train_s=160.0, date="d"),
        **facts,
    )


def line(text, problem="wave1d-c"):
    (found,) = [n for n in text.splitlines() if n.startswith(f"| {problem} |")]
    return [cell.strip() for cell in found.strip("|").split("|")]


def test_ten_times_better_is_said_when_all_eleven_are_run_and_no_as_soon_as_one_is_near(pages):
    ours = row("pcpinn", 1e-3, preset="default")
    assert line(pages.default_table(pages.Rows((ours,))))[3:7] == ["-", "0 of 11", "-", "not run"]
    some = [row(m, 0.5) for m in pages.OTHERS[:10]]
    assert line(pages.default_table(pages.Rows((ours, *some))))[3:7] == [
        "5.00e-1 `pinn`",
        "10 of 11",
        "500",
        "yes so far",
    ]
    best = row(pages.OTHERS[10], 0.02)
    assert line(pages.default_table(pages.Rows((ours, *some, best))))[3:7] == [
        "2.00e-2 `fbpinn`",
        "11 of 11",
        "20",
        "yes",
    ]
    near = row("lra", 5e-3)
    assert line(pages.default_table(pages.Rows((ours, near))))[5:7] == ["5.0", "no"]


def test_seeds_are_averaged_and_an_error_without_a_row_is_marked(pages):
    ours = [row("pcpinn", e, preset="default", seed=s) for s, e in enumerate((1e-3, 3e-3))]
    assert line(pages.default_table(pages.Rows(tuple(ours))))[1] == "2.00e-3"
    kept = {"wave1d-c": (4e-3, "page"), "gs": (5e-4, "rows.csv")}
    text = pages.default_table(pages.Rows(tuple(ours), kept=kept))
    assert line(text)[1] == "2.00e-3"
    assert line(text, "gs")[1] == "5.00e-4 (m)"
    assert line(pages.default_table(pages.Rows((), kept=kept)))[1] == "4.00e-3 (p)"


def test_times_of_what_is_not_run_are_those_of_the_last_day_divided_by_the_company(pages):
    old, new = row("pinn", 0.5, train_s=900.0, date="c"), row("pinn", 0.5, "poisson2d-c", date="d")
    alone = row("pinn", 0.5, "ks", train_s=1.0, date="e")  # nobody knows what ran beside it
    rows = pages.Rows((old, new, alone), at_once={"c": 10, "d": 8})
    assert rows.seconds("poisson2d-cg", "pinn") == pytest.approx(20.0)
    assert rows.seconds("poisson2d-cg", "gpinn") == pytest.approx(80.0)  # four times as dear, and never run
    cells = line(pages.cell_table(rows), "poisson2d-cg")
    assert (cells[1], cells[7]) == ("(20 s)", "(80 s)")


def test_published_figures_are_beside_our_own(pages):
    found = row("pinn", 0.5), row("ntk", 1e-3), row("lra", 99.0), row("pinn", 1.0, "wave2d-ms")
    text = pages.cell_table(pages.Rows(found, at_once={"d": 1}))
    assert "2 of 4 are within a factor of 3 of the published figure; where the published data are right" in text
    assert ", 1 of 3. The others" in text
    far = {n.split("|")[1].strip(): [c.strip() for c in n.split("|")] for n in text.splitlines() if n.startswith("| `")}
    assert far["`ntk`"][2:6] == ["wave1d-c", "1.00e-3", "9.79e-2 (7.7e-3)", "better"]
    assert far["`lra`"][2:4] == ["wave1d-c", "9.90e1"]
    assert far["`lra`"][5] == "worse"
    assert "kernel" in far["`ntk`"][6]
    assert far["`lra`"][6] == "not explained (one seed)"


def test_published_trials_that_scatter_say_so(pages):
    """lra on poisson2d-c: 1.17e-1, with a deviation of 1.3e-1 over five trials."""
    text = pages.cell_table(
        pages.Rows((row("lra", 8e-3, "poisson2d-c"), row("lra", 0.5, "burgers1d-c")), at_once={"d": 1})
    )
    (scattered,) = [n for n in text.splitlines() if n.startswith("| `lra` | poisson2d-c")]
    assert scattered.endswith("| better | within two of its deviations |")
    (wrong,) = [n for n in text.splitlines() if n.startswith("| `lra` | burgers1d-c")]
    assert wrong.endswith("; the published data are not right |")


def test_runs_with_the_settings_of_the_paper_that_were_stopped_say_how_long_they_take(pages):
    text = pages.paper_table(pages.Rows((row("pcpinn", 1.3e-2, preset="paper"),), unfinished={"gs": 600.0}))
    assert line(text)[2:] == ["1.30e-2", "1", "0.98", "match"]
    assert line(text, "gs")[-1] == "not run to the end: 10 min"
    assert "1 of 18 are run; the others would take 10 min" in text
    begun = {"gs": {"intervals": "3", "of": "200", "l2re": "0.0123"}}
    text = pages.paper_table(pages.Rows((), unfinished={"gs": 600.0}, begun=begun))
    assert line(text, "gs")[-1] == "not run to the end: 10 min; after 3 of 200 intervals 1.23e-2"


def test_a_page_that_lacks_a_part_is_refused(pages):
    with pytest.raises(ValueError, match="are none instead of default"):
        pages.filled("| a | `table-2` | old |", pages.Rows(()), str.upper, ["default"])
    assert (
        pages.filled("| a | `table-2` | old | b |", pages.Rows(()), str.upper, []) == "| a | `table-2` | TABLE-2 | b |"
    )
