"""Plug-ins: one file each, as docs/plugins.md prints it, registered and used without touching another file."""

import importlib
import json
import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import skfem
import torch
from modules import Siren as SirenModule
from typed import run

import pcpinn
from pcpinn import Dirichlet, Initial, Interval, PcpinnError, Problem, Rectangle, Reference, certify, infer, load, solve
from pcpinn.bench import make_plan, suite, suite_names
from pcpinn.bench.plan import Request
from pcpinn.catalog import CATALOG, INVERSE
from pcpinn.catalog.makers import MAKERS
from pcpinn.catalog.task import find_task, task_of_run
from pcpinn.catalog.user_file import import_file
from pcpinn.discretize.elements import ELEMENTS, LAGRANGE, ElementFamily
from pcpinn.discretize.finite_elements import FiniteElements
from pcpinn.discretize.system import linear_system
from pcpinn.mesh.generate import generate_mesh
from pcpinn.recipes import Registry, import_all
from pcpinn.solve.method import INVERSE_METHODS, METHODS, REGISTRIES
from pcpinn.study import STUDIES

PAGE = Path(__file__).parents[1] / "docs" / "plugins.md"
BLOCKS = {
    title.strip().split()[1]: code
    for title, code in re.findall(r"^## (An? [^\n]*)\n.*?```python\n(.*?)```", PAGE.read_text(), flags=re.S | re.M)
}
KINDS = {
    "preconditioner": (REGISTRIES["preconditioner"], "ssor"),
    "optimiser": (REGISTRIES["optimiser"], "sign-descent"),
    "network": (REGISTRIES["network"], "siren"),
    "element": (ELEMENTS, "chebyshev"),
    "method": (METHODS, "plain-residual"),
    "problem": (CATALOG, "ripple"),
    "study": (STUDIES, "polygons"),
}
ROOMS = {
    "preconditioner": "precondition",
    "optimiser": "train",
    "network": "network",
    "element": "discretize",
    "method": "baselines",
    "problem": "catalog",
    "study": "study",
}
X = np.linspace(0, 1, 41)[:, None]
SINE = Reference(X, np.sin(np.pi * X))
SMALL = {"cells": (8,), "degree": 3, "width": 8, "iterations": 20, "device": "cpu"}
PROBLEM = """
import torch
import pcpinn as pc

problem = pc.Problem(
    pc.Interval(0, 1),
    flux=lambda x, u: u.grad,
    source=lambda x, u: -torch.pi**2 * torch.sin(torch.pi * x[0]),
    boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)},
    name="line",
)
"""


@pytest.fixture(autouse=True)
def registries(monkeypatch):
    """What a test registers is gone after it."""
    for registry in (*REGISTRIES.values(), ELEMENTS, METHODS, INVERSE_METHODS, CATALOG, INVERSE, STUDIES, MAKERS):
        monkeypatch.setattr(registry, "_found", dict(registry._found))


@pytest.fixture
def plugged(tmp_path):
    """Imports the plug-ins of the page, each from a file of its own."""

    def add(*kinds):
        for kind in kinds:
            path = tmp_path / f"my_{kind}.py"
            path.write_text(BLOCKS[kind])
            import_file(path)

    return add


def line():
    return Problem(
        Interval(0, 1),
        flux=lambda x, u: u.grad,
        source=lambda x, u: -(torch.pi**2) * torch.sin(torch.pi * x[0]),
        boundary={"left": Dirichlet(0.0), "right": Dirichlet(0.0)},
        name="line",
    )


def test_the_page_has_one_of_each_kind():
    assert set(BLOCKS) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_importing_the_file_is_all(kind, plugged):
    registry, name = KINDS[kind]
    assert name not in registry
    plugged(kind)
    assert registry.find(name).name == name
    assert registry.names()[-1] == name


@pytest.mark.parametrize("kind", KINDS)
def test_another_package_names_it_as_an_entry_point(kind, monkeypatch, tmp_path):
    registry, name = KINDS[kind]
    (tmp_path / "plugin.py").write_text(BLOCKS[kind])
    asked = []

    def entry_points(group):
        asked.append(group)
        point = types.SimpleNamespace(value="plugin", load=lambda: import_file(tmp_path / "plugin.py"))
        return [point] if group == registry.group else []

    monkeypatch.setattr("pcpinn.recipes.entry_points", entry_points)
    monkeypatch.setattr(registry, "_loaded", False)
    assert registry.find(name).name == name
    assert name in registry.names()
    assert asked == [registry.group]


def test_an_entry_point_that_fails_is_named_every_time(monkeypatch):
    def broken():
        raise ImportError("no module named magic")

    point = types.SimpleNamespace(value="their_package.magic", load=broken)
    monkeypatch.setattr("pcpinn.recipes.entry_points", lambda group: [point])
    registry = Registry("thing", "things")
    for _ in range(2):
        with pytest.raises(PcpinnError, match=r"plug-in their_package\.magic cannot be loaded: ImportError") as refusal:
            registry.names()
        assert "uninstall" in refusal.value.remedy


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_file_inside_the_package(kind, monkeypatch, tmp_path):
    """A folder on the path of the package stands for its own; what its __init__ does is done again."""
    registry, name = KINDS[kind]
    package = importlib.import_module(f"pcpinn.{ROOMS[kind]}")
    (tmp_path / f"new_{kind}.py").write_text(BLOCKS[kind])
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    assert "import_all(__name__)" in Path(package.__file__).read_text()
    import_all(package.__name__)
    assert registry.find(name).name == name
    del sys.modules[f"{package.__name__}.new_{kind}"]


def test_a_preconditioner(plugged):
    plugged("preconditioner")
    choices = {**SMALL, "preconditioner": "ssor", "optimiser": "gauss-newton", "matrix": "exact", "iterations": 60}
    solution = solve(line(), **choices, relaxation=1.2)
    assert solution.result["preconditioner"]["name"] == "ssor"
    assert solution.errors["training"] < 1e-6
    assert solve(line(), preconditioner="ssor", **{**SMALL, "iterations": 2}).result["optimiser"] == "adam"
    with pytest.raises(PcpinnError, match="relaxation=-1 must be positive"):
        solve(line(), **choices, relaxation=-1)


def test_an_optimiser_resumes(plugged, tmp_path):
    plugged("optimiser")
    choices = {**SMALL, "optimiser": "sign-descent"}
    whole = solve(line(), **choices)
    assert whole.history.losses[-1] < 0.5 * whole.history.losses[0]
    solve(line(), out=tmp_path / "run", **{**choices, "iterations": 7})
    resumed = solve(line(), out=tmp_path / "run", resume=True, **choices)
    np.testing.assert_array_equal(resumed(X), whole(X))
    assert resumed.result["optimiser"] == "sign-descent"


def test_a_network_is_loaded_by_its_recipe(plugged, tmp_path):
    plugged("network")
    choices = {"cells": (8,), "degree": 3, "device": "cpu", "network": "siren", "iterations": 30}
    solution = solve(line(), reference=SINE, out=tmp_path / "run", **choices)
    assert solution.errors["l2re"] < 1e-3
    loaded = load(tmp_path / "run")
    np.testing.assert_array_equal(loaded(X), solution(X))
    assert certify(loaded, line()).estimate == certify(solution).estimate
    loaded.save(tmp_path / "copy")
    np.testing.assert_array_equal(load(tmp_path / "copy")(X), solution(X))
    REGISTRIES["network"].discard("siren")
    with pytest.raises(PcpinnError, match="made by network=siren, which is not known here") as refusal:
        load(tmp_path / "run")
    assert "import the file" in refusal.value.remedy


@pytest.mark.parametrize("dimension", [1, 2])
@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_an_element_finds_the_same_functions(plugged, dimension, degree):
    """Other nodes of the same polynomials: the discrete solutions are one function."""
    plugged("element")
    shape = Interval(0, 1) if dimension == 1 else Rectangle((0, 0), (1, 1))
    problem = Problem(
        shape,
        flux=lambda x, u: (1 + x[0]) * u.grad,
        source=lambda x, u: u.value - torch.exp(x.sum()),
        boundary={name: Dirichlet(lambda x: x[0]) for name in shape.boundary_names},
    )
    mesh = generate_mesh(shape, cells=(3,) * dimension)
    usual, moved = (FiniteElements(problem, mesh, degree, 12, element=e) for e in ("lagrange", "chebyshev"))
    assert degree < 3 or not np.allclose(usual.unknown_nodes, moved.unknown_nodes)
    at = np.random.default_rng(0).random((20, dimension))
    u, v = (form.interpolate(linear_system(form).solution, at) for form in (usual, moved))
    np.testing.assert_allclose(v, u, rtol=1e-9)


def test_an_element_in_whole_runs(plugged, tmp_path):
    """Solved, certified by one degree more or by smaller cells, loaded; in slabs and in a march."""
    plugged("element")
    for degree in (3, 4):
        choices = {**SMALL, "degree": degree, "depth": 1, "feature_count": 2}
        usual = solve(line(), reference=SINE, **choices)
        solution = solve(line(), reference=SINE, out=tmp_path / f"run{degree}", **choices, element="chebyshev")
        assert solution.errors["discretisation"] == pytest.approx(usual.errors["discretisation"], rel=1e-3)
        assert solution.errors["l2re"] < 1e-3
        assert 0.3 < solution.errors["estimate"] / solution.errors["l2re"] < 3
        assert certify(load(tmp_path / f"run{degree}"), line()).estimate == certify(solution).estimate
    heat = Problem(
        Interval(0, 1).over(0, 0.1),
        density=lambda x, u: u.value,
        flux=lambda x, u: u.grad,
        boundary={
            "left": Dirichlet(0.0),
            "right": Dirichlet(0.0),
            "initial": Initial(lambda x: torch.sin(torch.pi * x[0])),
        },
    )
    end = np.hstack([X, np.full_like(X, 0.1)])
    exact = Reference(end, np.exp(-(np.pi**2) * 0.1) * np.sin(np.pi * X))
    for time in ("slabs", "march"):
        choices = {"cells": (10,), "degree": 3, "steps": 4, "width": 40, "depth": 1, "feature_count": 2, "time": time}
        usual, moved = (
            solve(heat, reference=exact, element=e, **choices, device="cpu").errors for e in ("lagrange", "chebyshev")
        )
        assert moved["l2re"] < 1e-3
        # The same functions, but for initial values taken at other nodes.
        assert moved["discretisation"] == pytest.approx(usual["discretisation"], rel=0.2)


def test_an_element_in_an_inverse_problem(plugged, tmp_path):
    """-k u'' = 1, u = x (1 - x) / (2 k): k = 2 from values of u; nodes of the posterior are those of the element."""
    plugged("element")

    def bar(k):
        ends = {"left": Dirichlet(0.0), "right": Dirichlet(0.0)}
        return Problem(Interval(0, 1), flux=lambda x, u: k * u.grad, source=lambda x, u: -1.0, boundary=ends)

    x = np.linspace(0.05, 0.95, 30)[:, None]
    data = pcpinn.Observations(x, x[:, 0] * (1 - x[:, 0]) / 4, 0.003)
    choices = {**SMALL, "cells": (4,), "depth": 1, "feature_count": 2, "iterations": 8, "element": "chebyshev"}
    solution = infer(bar, data, {"k": pcpinn.Parameter(1.0, low=0.1)}, out=tmp_path / "run", **choices)
    assert abs(solution.parameters["k"] - 2.0) < 0.02
    np.testing.assert_allclose(load(tmp_path / "run").std("u", x), solution.std("u", x), rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "highest", "degree", "message"),
    [
        (lambda d, k: skfem.ElementLineHermite(), {1: 3}, 3, "are not values at nodes"),
        (lambda d, k: skfem.ElementLinePp(k), {1: 4}, 3, "are not values at nodes"),
        (lambda d, k: skfem.ElementTriP2(), {1: 2}, 2, "are not values at nodes"),
        (LAGRANGE.make, {2: 4}, 2, "there are no mine elements of degree 2 in 1 dimensions"),
        (LAGRANGE.make, {1: 2}, 3, "there are no mine elements of degree 3 in 1 dimensions"),
    ],
)
def test_elements_that_cannot_be_used(make, highest, degree, message, tmp_path):
    ELEMENTS.register(ElementFamily("mine", make, highest))
    with pytest.raises(PcpinnError, match=message) as refusal:
        solve(line(), out=tmp_path / "run", **{**SMALL, "element": "mine", "degree": degree})
    assert refusal.value.remedy
    assert not (tmp_path / "run").exists()


def test_an_unknown_element():
    with pytest.raises(PcpinnError, match="there is no element 'lagrang'") as refusal:
        solve(line(), **SMALL, element="lagrang")
    assert "lagrange" in refusal.value.remedy


def test_a_method(plugged, tmp_path, capfd):
    plugged("method")
    options = [word for key in ("cells=8", "degree=2", "width=6", "iterations=5") for word in ("--set", key)]
    folder = tmp_path / "run"
    code, out, _ = run(
        capfd,
        "solve",
        "poisson1d",
        "--method",
        "plain-residual",
        *options,
        "--out",
        folder,
        "--device",
        "cpu",
        "--json",
    )
    assert (code, json.loads(out)["method"]) == (0, "plain-residual")
    code, _, err = run(capfd, "solve", "poisson1d", "--method", "plain-residual", "--set", "preconditioner=ilu")
    assert code == 2
    assert "plain-residual does not read preconditioner" in err
    plan = make_plan(Request(problems=("poisson1d",), methods=("plain-residual",), presets=("quick",)))
    assert [c.cell.method for c in plan.cells] == ["plain-residual"]
    METHODS.discard("plain-residual")
    code, _, err = run(capfd, "resume", folder)
    assert code == 2
    assert "made with method=plain-residual, which is not known here" in " ".join(err.split())


def test_a_problem_of_the_catalog(plugged, tmp_path, capfd):
    plugged("problem")
    assert "ripple" in run(capfd, "list")[1]
    assert "sin(k pi x)" in run(capfd, "show", "ripple")[1]
    words = ["ripple", "--preset", "quick", "--set", "k=2", "--device", "cpu", "--out", tmp_path / "run", "--json"]
    code, out, _ = run(capfd, "solve", *words)
    assert code == 0
    assert json.loads(out)["errors"]["l2re"] < 1e-2
    assert json.loads(out)["problem_parameters"] == {"k": 2.0}
    assert "ripples" in suite_names()
    assert suite("ripples") == ("ripple",)
    assert suite("all")[-1] == "ripple"
    assert "ripple" not in suite("paper")


def test_a_study(tmp_path, capfd):
    file = tmp_path / "polygons.py"
    file.write_text(BLOCKS["study"])
    code, out, _ = run(capfd, "study", file, "--set", "corners=3,6", "--out", tmp_path / "out", "--json")
    assert code == 0
    assert len(json.loads(out)["rows"]) == 2
    assert {p.name for p in (tmp_path / "out").iterdir()} >= {"figure.png", "study.md"}
    (tmp_path / "none.py").write_text("")
    code, _, err = run(capfd, "study", tmp_path / "none.py")
    assert code == 2
    assert "registers none" in err


def test_a_problem_file_brings_its_own(tmp_path, capfd):
    """The file is imported before the keys are looked at: by solve, resume, prepare and bench."""
    file, folder = tmp_path / "line.py", tmp_path / "run"
    names = ("preconditioner", "optimiser", "network", "element", "method")
    file.write_text("\n".join(BLOCKS[kind] for kind in names) + PROBLEM)
    keys = ["preconditioner=ssor", "relaxation=1.1", "optimiser=sign-descent", "network=siren", "width=8"]
    keys += ["element=chebyshev", "degree=3", "cells=8", "iterations=5"]
    options = [word for key in keys for word in ("--set", key)]

    def forget():
        for kind in names:
            registry, name = KINDS[kind]
            registry.discard(name)

    code, out, err = run(
        capfd, "solve", file, "--preset", "default", *options, "--out", folder, "--device", "cpu", "--json"
    )
    assert code == 0, err
    assert json.loads(out)["optimiser"] == "sign-descent"
    forget()
    code, out, err = run(capfd, "resume", folder, "--problem", file, "--set", "iterations=8", "--json")
    assert code == 0, err
    assert json.loads(out)["iterations"] == 8
    assert load(folder).settings["mesh"]["element"] == "chebyshev"
    forget()
    with pytest.raises(PcpinnError, match="is a run of the file"):
        task_of_run(folder)
    packed = tmp_path / "line.pcpinn"
    assert run(capfd, "prepare", file, *options, "--out", packed)[0] == 0
    forget()
    words = ["--problem", file, "--set", "iterations=2", "--device", "cpu", "--out", tmp_path / "packed", "--json"]
    code, out, err = run(capfd, "solve", packed, *words)
    assert code == 0, err
    forget()
    assert find_task(str(file), "default", {"preconditioner": "ssor"}, "pcpinn").settings.preconditioner.name == "ssor"
    forget()
    plan = make_plan(Request(problems=(str(file),), methods=("plain-residual",), changes=(("network", "siren"),)))
    assert plan.cells[0].cell.changes == (("network", "siren"),)


def test_a_run_whose_plug_in_is_not_here(plugged, tmp_path):
    plugged("preconditioner")
    solution = solve(line(), preconditioner="ssor", out=tmp_path / "run", **SMALL)
    REGISTRIES["preconditioner"].discard("ssor")
    loaded = load(tmp_path / "run")  # what was found needs no preconditioner
    np.testing.assert_array_equal(loaded(X), solution(X))
    with pytest.raises(PcpinnError, match="made with preconditioner=ssor, which is not known here") as refusal:
        certify(loaded, line())
    assert "install the package, that registers it" in refusal.value.remedy


def test_a_module_is_given_as_it_is(capfd):
    solution = solve(line(), network=SirenModule(), cells=(8,), degree=2, iterations=3, device="cpu")
    assert solution.settings["network"] == {"name": "module", "class_name": "modules.Siren"}
    code, _, err = run(capfd, "solve", "poisson1d", "--set", "network=module")
    assert code == 2
    assert "network=module cannot be chosen by its name" in err


def test_where_a_module_does_not_fit():
    heat = Problem(
        Interval(0, 1).over(0, 1),
        density=lambda x, u: u.value,
        flux=lambda x, u: u.grad,
        boundary={"left": Dirichlet(0.0), "right": Dirichlet(0.0), "initial": Initial(1.0)},
    )
    with pytest.raises(PcpinnError, match="network=module cannot be used here: a march"):
        solve(heat, time="march", network=SirenModule())
    with pytest.raises(PcpinnError, match="network=module cannot be used here"):
        infer(lambda a: line(), [], {"a": pcpinn.Parameter(1.0)}, network=SirenModule())
    with pytest.raises(PcpinnError, match="found with an mlp"):
        pcpinn.condition_number(line(), method="neural", network=SirenModule(), cells=(8,))


def test_a_torch_optimiser_by_its_class(tmp_path, capfd):
    choices = {key: SMALL[key] for key in ("cells", "degree", "width", "device")}
    by_class = solve(line(), optimiser=torch.optim.NAdam, iterations=4, **choices)
    by_name = solve(line(), optimiser="torch", algorithm="nadam", iterations=4, **choices)
    np.testing.assert_array_equal(by_class(X), by_name(X))
    assert by_class.result["optimiser"] == "torch nadam"
    keys = ["optimiser=torch", "algorithm=sgd", "options=lr=1e-3,momentum=0.9", "cells=8", "iterations=3"]
    words = [word for key in keys for word in ("--set", key)]
    code, _, err = run(capfd, "solve", "poisson1d", *words, "--out", tmp_path / "run", "--device", "cpu")
    assert code == 0, err
    code, out, _ = run(capfd, "resume", tmp_path / "run", "--set", "iterations=5", "--json")
    assert (code, json.loads(out)["iterations"]) == (0, 5)
