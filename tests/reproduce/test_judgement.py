"""Lines and verdicts of items on numbers that were made up for it."""

import pytest

from pcpinn.bench import make_plan
from pcpinn.bench.results import Row
from pcpinn.reproduce import ITEMS, Choice, Found, Runs, Sources, Studied
from pcpinn.reproduce.compare import BETTER, DIFFERS, MATCH, NOT_RUN, WORSE
from pcpinn.study import find_study


def with_rows(name, value, choice=None):
    """The comparison of an item with a row for each planned cell; `value(cell, variant)` gives its columns, None for no row."""
    item, choice = ITEMS.find(name), choice or Choice()
    parts, sources = item.parts(choice), Sources()
    for planned in (p for part in parts if isinstance(part, Runs) for p in make_plan(part.request).cells):
        cell, columns = planned.cell, value(planned.cell, planned.variant)
        if columns is not None:
            sources.rows[cell.key] = Row(
                cell.key, cell.problem, cell.method, cell.preset, cell.changed, cell.seed, "finished", **columns
            )
    return item.compare(Found(choice, parts, sources))


def with_studies(name, data, choice=None, more=()):
    """The comparison of an item with the data of each of its studies, and with others."""
    item, choice = ITEMS.find(name), choice or Choice()
    parts, sources = item.parts(choice), Sources(studies=dict(more))
    for part in (p for p in parts if isinstance(p, Studied)):
        sizes = find_study(part.study).sizes(part.full, dict(part.sizes))
        facts = {"study": part.study, "seed": part.seed, "problem": part.problem, "sizes": sizes, "full": True}
        sources.studies[part.key] = facts | data(part)
    return item.compare(Found(choice, parts, sources))


def test_times_are_shown_with_their_range():
    seconds = {"pcpinn": (10.0, 14.0, 12.0, 12.0, 12.0), "pinn": (5.0, 5.0, 5.0, 5.0, 5.0)}

    def value(cell, variant):
        return {"total_s": seconds[cell.method][cell.seed]} if cell.problem == "wave1d-c" else None

    wave, *others = with_rows("figure-3a", value).lines
    assert wave.cells[1:4] == ("12.0 s [10.0, 14.0]", "5.0 s [5.0, 5.0]", "2.40")
    assert wave.verdict == DIFFERS
    assert {l.verdict for l in others} == {NOT_RUN}
    seconds["pinn"] = (9.0,) * 5
    assert with_rows("figure-3a", value).lines[0].verdict == MATCH


def test_mean_absolute_errors_are_compared():
    def value(cell, variant):
        return {"mae": 8.4e-2, "mse": 1.0, "l1re": 1e-5, "l2re": 6.4e-2}

    found = with_rows("table-7", value)
    assert {l.cells[2]: l.verdict for l in found.lines} == {"MAE": MATCH, "MSE": WORSE, "L1RE": BETTER, "L2RE": MATCH}
    assert found.lines[0].cells[3] == "3"
    assert found.status == "differs (4 of 16 lines)"


def test_condition_numbers_are_held_to_a_quarter():
    def value(cell, variant):
        if cell.problem != "poisson2d-c":
            return None
        return {"l2re": 3e-3, "condition": 113.0 if variant == "preconditioner=none" else 9.0, "applied_error": 0.2}

    lines = {(l.cells[1], l.cells[2]): l for l in with_rows("table-3", value).lines if l.cells[0] == "poisson2d-c"}
    assert lines["preconditioner=none", "condition"].verdict == MATCH
    assert lines["drop_tolerance=0.01", "condition"].verdict == DIFFERS
    assert lines["drop_tolerance=0.001", "error of P^-1 b"].verdict == MATCH
    assert lines["preconditioner=none", "L2RE"].verdict == BETTER
    assert ("preconditioner=none", "error of P^-1 b") not in lines  # the paper has none


def test_five_trials_and_ten_are_the_first_ones():
    def value(cell, variant):
        return {"l2re": 3.98e-3 if cell.seed < 5 else 1.0} if cell.problem == "poisson2d-c" else None

    five, ten = (l for l in with_rows("table-4", value).lines if l.cells[0] == "poisson2d-c")
    assert (five.cells[4], five.verdict) == ("3.98e-3 (0.0e0)", MATCH)
    assert ten.verdict == WORSE
    assert five.cells[-1].endswith("NTK")


def test_other_methods_are_compared_with_their_own_figures():
    def value(cell, variant):
        errors = {"pcpinn": 4e-3, "pinn": 0.7, "ntk": 0.5}
        return {"l2re": errors[cell.method]} if cell.problem == "poisson2d-c" and cell.method in errors else None

    found = with_rows("table-2", value)
    lines = {l.cells[1]: l for l in found.lines if l.cells[0] == "poisson2d-c"}
    assert {m: l.verdict for m, l in lines.items()} == {"pcpinn": MATCH, "pinn": MATCH, "ntk": WORSE}
    assert (found.done, found.planned) == (15, 18 * 10 * 5)


def test_curves_of_other_methods_end_above_ours():
    def value(cell, variant):
        errors = {"pcpinn": 1e-2, "pinn": 0.5, "lra": 5e-3}
        return {"l2re": errors[cell.method]} if cell.method in errors else None

    lines = {l.cells[1]: l.verdict for l in with_rows("figure-1a", value).lines}
    assert (lines["pinn"], lines["lra"], lines["ntk"], lines["pcpinn"]) == (MATCH, DIFFERS, NOT_RUN, "")


def test_scaling_has_mean_and_deviation():
    def data(part):
        rows = [
            {"unknowns": n, "relative_pcpinn": 1.0 + part.seed, "relative_ilu": 4.0, "relative_pcg": 3.0}
            for n in (10, 20)
        ]
        return {"rows": rows, "summary": {"exponents": {"pcpinn_s": 1.1, "ilu_s": 1.8, "pcg_s": 1.7}}}

    found = with_studies("figure-3b", data, Choice(seeds=2))
    assert found.lines[0].cells == ("10", "1.5 ± 0.5", "4.0 ± 0", "3.0 ± 0", "2")
    assert found.verdict == MATCH


def test_inverse_methods_over_seeds():
    def data(part):
        errors = {"infer": 1.8e-2 + 1e-3 * part.seed, "pinn": 0.5, "adjoint": 1.0, "adjoint-tikhonov": 0.02}
        runs = [{"problem": part.problem, "method": m, "l2re": e, "seconds": 2.0} for m, e in errors.items()]
        return {"runs": runs}  # of the preset paper

    found = with_studies("table-11", data)
    lines = {(l.cells[0], l.cells[1]): l for l in found.lines}
    ours = lines["poisson-inv", "preconditioned networks"]
    assert (ours.cells[2], ours.verdict) == ("5", MATCH)
    assert ours.cells[3].startswith("2.00e-2 (1.4e-3)")
    assert "paper's size" not in found.status
    assert lines["poisson-inv", "adjoint"].verdict == BETTER
    assert lines["heat-inv", "ordinary PINN"].verdict == WORSE
    assert lines["heat-inv", "adjoint, Tikhonov"].verdict == ""


def test_a_method_of_which_there_are_small_runs_only_is_named_so():
    def data(part):
        return {"runs": [{"problem": part.problem, "method": "infer", "l2re": 1.8e-2, "seconds": 2.0}]}

    assert "paper's size" not in with_studies("table-11", data, Choice(seeds=1)).status
    small = {
        "study": "inverse-comparison",
        "seed": 0,
        "problem": "heat-inv",
        "full": False,
        "sizes": {"preset": "quick"},
    }
    small["runs"] = [{"problem": "heat-inv", "method": m, "l2re": 0.5, "seconds": 2.0} for m in ("infer", "pinn")]
    found = with_studies("table-11", data, Choice(seeds=1), {"small": small})
    lines = {(l.cells[0], l.cells[1]): l.cells[3] for l in found.lines}
    assert lines["heat-inv", "preconditioned networks"] == "1.80e-2"
    assert lines["heat-inv", "ordinary PINN"] == "5.00e-1"
    assert "not at the paper's size" in found.status


@pytest.mark.parametrize(("r", "verdict"), [(0.9, MATCH), (-0.6, DIFFERS), (None, DIFFERS)])
def test_correlations(r, verdict):
    def data(part):
        rows = [{"C": 1.0, "condition": 1.0, "l2re": 0.1}, {"C": 2.0, "condition": 2.0, "l2re": 0.2}]
        s = {"r": r, "rank": 0.9, "r_late": r, "failed": 0, "networks": 2, "training_s": 1.0, "normalisation": "log"}
        return {"rows": rows, "summary": s, "along": [{"iteration": 0, "r": 0.1}], "parameter": "C"}

    (line,) = with_studies("figure-2b", data, Choice(problems=("wave",))).lines
    assert line.verdict == verdict
    assert bool(line.why) == (verdict == DIFFERS)


def test_sizes_that_are_not_the_papers_are_named():
    def data(part):
        deviations = {"FDM 10": 0.001}
        return {
            "rows": [],
            "summary": {"deviations": deviations},
            "sizes": {"P": [1.0], "meshes": [10], "elements": 100},
        }

    found = with_studies("figure-2a", data)
    assert (found.verdict, found.status) == (MATCH, "match, not at the paper's size")
    assert any("meshes=10 (10,25,50,100,1000)" in note for note in found.notes)
    assert not any("elements" in note for note in found.notes)


def test_steady_flows_are_not_over_time():
    """The paper marks all of Navier-Stokes as time-dependent; everything else that can be told agrees."""
    found = ITEMS.find("table-1").compare(Found(Choice(), (), Sources()))
    assert [l.cells[0] for l in found.lines if l.verdict == DIFFERS] == ["ns2d-c", "ns2d-cg"]
    assert len(found.lines) == 18


def test_settings_that_are_not_as_stated_are_named(monkeypatch):
    from pcpinn.reproduce import algorithms

    item = ITEMS.find("algorithm-4")
    monkeypatch.setattr(algorithms, "actual", lambda p: {**algorithms.stated()[p], "newton_steps": 3.0})
    lines = item.compare(Found(Choice(), (), Sources())).lines
    assert {l.verdict for l in lines} == {DIFFERS}
    assert lines[0].cells[-1] == "3 (10)"
    assert "newton_steps" in lines[0].why


def test_a_row_that_does_not_say_its_kind_has_that_of_its_preset():
    """Early rows do not; so a method whose error is not the published one says why."""

    def value(cell, variant):
        return (
            {"l2re": 1.0, "kind": ""}
            if (cell.problem, cell.method) in (("ks", "pcpinn"), ("poisson2d-cg", "ntk"))
            else None
        )

    lines = {l.cells[:2]: l for l in with_rows("table-2", value).lines}
    assert lines["ks", "pcpinn"].cells[2] == "trained network"
    assert lines["poisson2d-cg", "ntk"].cells[2] == "trained network"
    assert lines["poisson2d-cg", "ntk"].verdict == WORSE
    assert "kernel" in lines["poisson2d-cg", "ntk"].why
