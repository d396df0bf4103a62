from pathlib import Path

import pytest
from tiny import SETTINGS, plan, request

from pcpinn import Adam, PcpinnError
from pcpinn.bench import Request, make_plan, suite
from pcpinn.bench.ablations import ABLATIONS, ablation_figures
from pcpinn.bench.cell import task_of
from pcpinn.bench.plan import parse_sweep
from pcpinn.catalog import CATALOG
from pcpinn.catalog.prepared import write_prepared
from pcpinn.catalog.task import catalog_task


def test_suites_come_from_the_catalog():
    assert set(suite("all")) == set(CATALOG.names())
    assert "poisson1d" not in suite("paper")
    assert {"poisson2d-c", "wave1d-c"} <= set(suite("linear")) <= set(CATALOG.names())
    with pytest.raises(PcpinnError, match="linear"):
        suite("everything")


def test_strangers_are_the_files_of_a_checkout(tmp_path, monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[2])
    files = suite("strangers")
    assert len(files) >= 20
    assert list(files) == sorted(files)
    assert str(Path("tests") / "strangers" / "l_shape.py") in files
    assert not any(Path(f).name.startswith(("test_", "make_")) for f in files)
    monkeypatch.chdir(tmp_path)
    assert [Path(f).name for f in suite("strangers")] == [Path(f).name for f in files]
    assert all(Path(f).is_file() for f in suite("strangers"))


def test_strangers_of_the_current_folder_come_first(tmp_path, monkeypatch):
    folder = tmp_path / "tests" / "strangers"
    folder.mkdir(parents=True)
    for name in ("wall.py", "beam.py"):
        (folder / name).write_text(
            "import pcpinn as pc\n"
            "problem = pc.Problem(pc.Interval(0, 1), flux=lambda x, u: u.grad, boundary={'left': pc.Dirichlet(1.0)})\n"
        )
    (folder / "make_wall.py").write_text("raise SystemExit")
    monkeypatch.chdir(tmp_path)
    found = make_plan(Request(suite="strangers", trials=2))
    assert [(c.cell.problem, c.cell.seed) for c in found.cells] == [("beam", 0), ("beam", 1), ("wall", 0), ("wall", 1)]
    assert (found.kind, found.name) == ("suite", "strangers")
    assert {c.cell.preset for c in found.cells} == {"accuracy"}
    assert {c.cell.changes for c in found.cells} == {(("accuracy", "0.001"),)}


def test_strangers_that_are_not_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "pcpinn.bench.suites.__file__", str(tmp_path / "lib" / "site" / "pcpinn" / "bench" / "suites.py")
    )
    with pytest.raises(PcpinnError, match="strangers") as caught:
        suite("strangers")
    assert "checkout" in caught.value.remedy


def test_every_problem_of_the_paper_is_in_one_suite_of_its_kind():
    kinds = [*suite("linear"), *suite("nonlinear")]
    assert len(kinds) == len(set(kinds))
    assert set(suite("paper")) <= set(kinds)


def test_all_combinations_once():
    found = plan(
        methods=("pcpinn", "fem-fit"), presets=("quick", "default"), sweeps=("width=4,5", "degree=1,2"), trials=3
    )
    assert len({c.cell.key for c in found.cells}) == len(found.cells) == 2 * 2 * 4 * 3
    assert {c.cell.seed for c in found.cells} == {0, 1, 2}
    assert {c.variant for c in found.cells} == {f"degree={d};width={w}" for d in (1, 2) for w in (4, 5)}
    assert (found.kind, found.name) == ("sweep", "width degree")


def test_default_is_the_linear_suite():
    found = make_plan(Request())
    assert [c.cell.problem for c in found.cells] == list(suite("linear"))
    assert {(c.cell.method, c.cell.preset, c.cell.seed) for c in found.cells} == {("pcpinn", "default", 0)}


def test_a_pinn_gets_steps_of_its_own_unless_told():
    (cell,) = (c.cell for c in make_plan(Request(problems=("poisson1d",), methods=("pinn",))).cells)
    assert task_of(cell, reference=False).settings.optimiser == Adam(iterations=20_000)
    (cell,) = (c.cell for c in make_plan(request(methods=("pinn",), trials=1)).cells)
    assert dict(cell.changes)["iterations"] == "3"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("width=4,8", [{"width": "4"}, {"width": "8"}]),
        ("beta1:beta2=0.9:0.99,0.8:0.9", [{"beta1": "0.9", "beta2": "0.99"}, {"beta1": "0.8", "beta2": "0.9"}]),
        ("drop_tolerance=1e-2,none", [{"drop_tolerance": "1e-2"}, {"preconditioner": "none"}]),
    ],
)
def test_sweeps(text, expected):
    assert parse_sweep(text) == expected


@pytest.mark.parametrize("text", ["width", "=3", "width=", "width=4,,5", "beta1:beta2=0.9", "width=4:5"])
def test_malformed_sweeps(text):
    with pytest.raises(PcpinnError, match="sweep"):
        parse_sweep(text)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"problems": ("poisson",)}, "no problem"),
        ({"problems": ("none.py",)}, "no file"),
        ({"problems": ("none.pcpinn",)}, "does not exist"),
        ({"methods": ("magic",)}, "no method"),
        ({"presets": ("fast",)}, "no preset"),
        ({"trials": 0}, "trials"),
        ({"changes": {"widht": "3"}}, "widht"),
        ({"changes": {"seed": "3"}}, "seed"),
        ({"sweeps": ("width=four",)}, "four"),
        ({"ablation": "luck"}, "no ablation"),
        ({"ablation": "width", "suite": "paper"}, "exclude"),
    ],
)
def test_refused_before_anything_runs(change, word):
    with pytest.raises(PcpinnError, match=word):
        plan(**change)


@pytest.mark.parametrize("name", ABLATIONS)
def test_studies_run_the_papers_variants(name):
    """Every variant of the paper is planned with the text under which its number is kept, and the other way round."""
    ablation = ABLATIONS[name]
    found = make_plan(Request(problems=("poisson2d-c",), ablation=name))
    assert {c.cell.preset for c in found.cells} == {"paper"}
    assert len(found.cells) == len(ablation.variants) * ablation.trials
    theirs = {f.variant for f in ablation_figures() if f.ablation == name}
    ours = {f"{n} trials" for n in ablation.counts} or {c.variant for c in found.cells}
    assert ours == theirs
    for f in (f for f in ablation_figures() if f.ablation == name):
        assert ablation.problems is None or f.problem in ablation.problems
    for cell in {c.variant: c.cell for c in found.cells}.values():
        flat = task_of(cell, reference=False).settings.flat()
        flat |= {k: flat[f"network.{k}"] for k in ("width", "depth")}
        assert all(str(flat[k]) == v for k, v in ablation.base.items() if k in ("width", "depth", "optimiser"))


def test_some_of_the_papers_ablations():
    """As printed."""
    printed = {(f.ablation, f.problem, f.variant, f.metric): (f.mean, f.std) for f in ablation_figures()}
    assert printed["drop-tolerance", "poisson2d-ms", "drop_tolerance=0.001", "condition"] == (32.5, None)
    assert printed["drop-tolerance", "poisson3d-cg", "drop_tolerance=0.1", "applied_error"] == (0.873, None)
    assert printed["trials", "ks", "10 trials", "L2RE"] == (0.952, 0.00303)
    assert printed["adam-betas", "poisson2d-ms", "beta1=0.99;beta2=0.999", "L2RE"] == (0.0641, 9.43e-5)
    assert printed["width", "poisson2d-ms", "width=256", "MSE"] == printed["depth", "poisson2d-ms", "depth=5", "MSE"]


def test_a_prepared_problem_is_the_same_cell_as_the_problem_itself(tmp_path):
    path = tmp_path / "p.pcpinn"
    write_prepared(catalog_task("poisson1d", "quick", {"P": "2", "cells": "6", "width": "5"}), path)
    (prepared,) = make_plan(Request(problems=(str(path),), changes=(("iterations", "3"),))).cells
    changes = (("P", "2"), ("cells", "6"), ("width", "5"), ("iterations", "3"))
    (direct,) = make_plan(Request(problems=("poisson1d",), presets=("quick",), changes=changes)).cells
    assert prepared.cell.key == direct.cell.key
    a, b = task_of(prepared.cell, "cpu"), task_of(direct.cell, "cpu")
    assert (a.settings, a.record) == (b.settings, b.record)
    assert a.mesh is not None


def test_a_prepared_problem_keeps_mesh_and_preset(tmp_path):
    path = tmp_path / "p.pcpinn"
    write_prepared(catalog_task("poisson1d", "quick", {}), path)
    with pytest.raises(PcpinnError, match="cells"):
        make_plan(Request(problems=(str(path),), changes=(("cells", "7"),)))
    with pytest.raises(PcpinnError, match="preset"):
        make_plan(Request(problems=(str(path),), presets=("paper",)))


def test_the_command_asks_for_the_same():
    wanted = request(methods=("fem-fit",), seed=4, sweeps=("width=4,5",))
    words = wanted.command().split()
    assert words[:4] == ["pcpinn", "bench", "--problems", "poisson1d"]
    for pair in (["--methods", "fem-fit"], ["--seed", "4"], ["--sweep", "width=4,5"], ["--trials", "2"]):
        assert words[words.index(pair[0]) + 1] == pair[1]
    assert words.count("--set") == len(SETTINGS)
