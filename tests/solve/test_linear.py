"""The whole solve: small problems to a small error, the record, and what a failure leaves behind."""

import dataclasses
import json

import numpy as np
import pytest
import torch
from cases import chosen
from small import line, plane, quick, two_fields, vector

from pcpinn import Dirichlet, Interval, Mesh, Neumann, Pin, Problem, Progress, Reference, load, solve
from pcpinn.checkpoint import Checkpoint
from pcpinn.errors import PcpinnError
from pcpinn.mesh.generate import generate_mesh
from pcpinn.solve import run as run_module
from pcpinn.train import GaussNewton

X1 = np.linspace(0, 1, 21)[:, None]
X2 = np.random.default_rng(0).uniform(size=(40, 2))
EXACT = {
    "line": Reference(X1, np.sin(np.pi * X1)),
    "plane": Reference(X2, (X2[:, 0] + X2[:, 1] ** 2)[:, None]),
}


NETWORK = {"width": 10, "depth": 1, "features": "none", "iterations": 60, "device": "cpu"}  # fewer weights than nodes


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("line", {"cells": (16,), "degree": 3}),
        ("line", {"cells": (16,), "preconditioner": "lu", "dense": "false"}),
        (
            "line",
            {
                "cells": (16,),
                "preconditioner": "jacobi",
                "optimiser": "gauss-newton",
                "matrix": "exact",
                "iterations": 90,
            },
        ),
        ("line", {"cells": (100,), "mesh": "fdm"}),
        ("plane", {"cells": (6, 6)}),
        ("plane", {"size": 0.2, "norm": "uniform", "sample": 100}),
        ("plane", {"cells": (14, 14), "mesh": "fdm", "dense": "false"}),
    ],
)
def test_small_problems_to_a_small_error(name, changes):
    """Trained to 1e-4 of the discrete solution, so that the error is that of the discretisation, or 1e-4."""
    problem = {"line": line, "plane": plane}[name]()
    solution = solve(problem, reference=EXACT[name], **{**NETWORK, **changes})
    errors = solution.errors
    assert errors["training"] < 1e-4
    assert errors["l2re"] < errors["discretisation"] + 2e-4
    assert errors["l2re"] == pytest.approx(solution.metrics(EXACT[name])["l2re"], rel=1e-9)
    assert errors["discretisation"] < 1e-4
    losses = solution.history.losses
    assert losses[-1] == solution.result["loss"] < 1e-6 * losses[0]


@pytest.mark.parametrize(("problem", "cells"), [(vector, (5, 5)), (two_fields, (12,))])
def test_several_unknown_functions(problem, cells):
    """Every component comes close to the discrete solution, and to its values on the boundary."""
    solution = solve(problem(), cells=cells, **NETWORK)
    assert solution.errors["training"] < 5e-3
    if problem is vector:
        edge = np.array([[0.0, 0.5], [1.0, 0.5], [0.5, 0.0]])
        np.testing.assert_allclose(solution(edge), np.column_stack([edge[:, 0], 1 - edge[:, 1]]), atol=0.02)
    else:
        np.testing.assert_allclose(solution([[0.0], [1.0]]), [[0.0, 1.0], [1.0, 1.0]], atol=0.01)


def test_adam_in_single_precision():
    solution = quick(optimiser="adam", precision="float32", iterations=200, learning_rate=0.01)
    losses = solution.history.losses
    assert solution.network.theta.dtype == torch.float32
    assert losses[-1] < 0.2 * losses[0]


def test_a_users_mesh():
    mesh = generate_mesh(Interval(0, 1), cells=8)
    problem = line()
    own = Problem(Mesh(mesh.nodes, mesh.cells, mesh.boundaries), problem.flux, problem.source, problem.boundary)
    a, b = quick(), solve(own, width=6, depth=1, feature_count=2, iterations=3, device="cpu", accuracy=None)
    np.testing.assert_allclose(a(X1), b(X1), rtol=1e-9, atol=1e-12)


def test_pins_and_seeds():
    problem = Problem(Interval(0, 1), lambda x, u: u.grad, lambda x, u: x[0] - 0.5, {"left": Neumann(0), "right": Neumann(0)},
                      pins=[Pin([0.0], 2.0)])  # fmt: skip
    solution = quick(problem, iterations=30)
    assert solution([[0.0]])[0] == pytest.approx(2.0, abs=1e-2)
    same, other = quick(seed=5), quick(seed=6)
    np.testing.assert_array_equal(same(X1), quick(seed=5)(X1))
    assert not np.allclose(same(X1), other(X1))


def test_settings_and_changes():
    base = {"cells": (8,), "width": 6, "depth": 1, "feature_count": 2, "iterations": 3, "device": "cpu"}
    a, b = solve(line(), base), quick()
    np.testing.assert_array_equal(a(X1), b(X1))
    assert solve(line(), base, iterations=2).result["iterations"] == 2
    assert a.settings == chosen(**base, accuracy=0.01).to_dict()


def test_the_record_is_complete_and_plain():
    solution = quick(reference=EXACT["line"], record={"preset": "tiny"})
    result = solution.result
    json.dumps(result, allow_nan=False)
    assert result["problem"] == "line"
    assert result["preset"] == "tiny"
    assert (result["dofs"], result["iterations"], result["stopped_by"]) == (17, 3, "iterations")
    assert result["parameters"] == solution.network.parameter_count
    assert result["discretisation"] == {"name": "fem", "degree": 2, "cells": 8}
    assert result["preconditioner"]["name"] == "ilu"
    assert result["reference"] == {"kind": "exact", "error": 0.0, "points": 21, "note": ""}
    assert list(result["errors"]["field"]) == ["u"]
    assert all(
        isinstance(result["errors"][k], float)
        for k in ("l2re", "l1re", "mse", "mae", "max", "training", "discretisation")
    )
    assert result["time"]["total_s"] >= result["time"]["train_s"] >= 0
    assert result["environment"]["torch"].startswith(torch.__version__.split("+")[0])


def test_without_a_reference_its_errors_are_unknown():
    errors = quick().errors
    assert errors["training"] > 0
    assert {errors[k] for k in ("l2re", "l1re", "mse", "mae", "max", "field", "discretisation")} == {None}


def test_a_reference_of_zero_is_recorded(tmp_path):
    """Relative errors of nothing do not exist; the others do."""
    solution = quick(reference=Reference(X1, np.zeros_like(X1)), out=tmp_path / "run")
    assert solution.errors["l2re"] is None
    assert solution.errors["max"] > 0
    assert load(tmp_path / "run").errors == solution.errors


def test_large_systems_are_solved_by_iteration(monkeypatch):
    direct = quick().errors["training"]
    monkeypatch.setattr(run_module, "_DIRECT_UNKNOWNS", {1: 10})
    monkeypatch.setattr("pcpinn.discretize.system.solve_sparse", None)
    assert quick().errors["training"] == pytest.approx(direct, rel=1e-4)
    monkeypatch.setattr(run_module, "solve_krylov", lambda *args, **more: None)  # an iteration that does not converge
    assert quick().errors["training"] is None


class Listener(Progress):
    def __init__(self):
        self.stages = []

    def stage(self, name, total=None):
        self.stages.append(name)


def test_progress_is_told():
    listener = Listener()
    quick(progress=listener)
    assert listener.stages == [
        "mesh",
        "assembly",
        "preconditioner",
        "training (gauss-newton)",
        "errors",
        "error estimate",
    ]


# Run folders


def test_out_writes_the_folder(tmp_path):
    solution = quick(out=tmp_path / "deep" / "run")
    names = {f.name for f in (tmp_path / "deep" / "run").iterdir()}
    assert names == {
        "run.json",
        "mesh.safetensors",
        "checkpoint.safetensors",
        "network.safetensors",
        "history.csv",
        "result.json",
    }
    assert json.loads((tmp_path / "deep" / "run" / "result.json").read_text()) == solution.result
    np.testing.assert_array_equal(load(tmp_path / "deep" / "run")(X1), solution(X1))


class Kill(Exception):
    pass


class Killer(Progress):
    def __init__(self, after):
        self.after = after

    def update(self, iteration, loss):
        if iteration > self.after:
            raise Kill


@pytest.mark.parametrize("after", [0, 4])
@pytest.mark.parametrize("changes", [{"optimiser": "adam", "precision": "float32"}, {"sample": 9}, {"matrix": "exact"}])
def test_resume_gives_what_an_unbroken_run_gives(tmp_path, changes, after):
    usual = {"cells": (8,), "width": 6, "depth": 1, "feature_count": 2, "iterations": 8, "checkpoint_every": 0}
    settings = {**usual, "device": "cpu", **changes}
    expected = solve(line(), settings)
    with pytest.raises(Kill):
        solve(line(), settings, out=tmp_path / "run", progress=Killer(after))
    with pytest.raises(PcpinnError, match="no finished run"):
        load(tmp_path / "run")
    resumed = solve(line(), settings, out=tmp_path / "run", resume=True)
    assert torch.equal(resumed.network.theta, expected.network.theta)
    np.testing.assert_array_equal(resumed.history.losses, expected.history.losses)
    np.testing.assert_array_equal(load(tmp_path / "run")(X1), expected(X1))


def test_time_spent_before_an_interruption_counts(tmp_path, monkeypatch):
    """In all of the run, and in all of its training."""
    write = Checkpoint.write
    monkeypatch.setattr(
        Checkpoint, "write", lambda self, t, f: write(self, t, {**f, "seconds": 100.0, "elapsed": 111.0})
    )
    quick(out=tmp_path / "run")
    times = quick(out=tmp_path / "run", resume=True).result["time"]
    assert times["train_s"] >= 100
    assert times["total_s"] > 111
    assert times["total_s"] >= times["train_s"]


def bad(**changes):
    return dataclasses.replace(line(), **changes)


@pytest.mark.parametrize(
    ("problem", "changes", "message"),
    [
        (line(), {"degree": 9}, "degree 9"),
        (line(), {"activation": "relu"}, "activation='relu'"),
        (line(), {"cells": (2, 2)}, "2 numbers for 1 dimensions"),
        (line(), {"dense": "maybe"}, "dense='maybe'"),
        (line(), {"colour": "red"}, "no setting 'colour'"),
        (line(), {"device": "cuda"}, "device=cuda"),
        (bad(flux=lambda x, u: u.value * u.grad), {}, "degenerate at u = 0"),
        (bad(flux=lambda x, u: u.grad.detach()), {}, "not differentiable"),
        (bad(flux=lambda x, u: u.value), {}, None),
        (bad(boundary={"left": Neumann(0), "right": Neumann(0)}), {}, "singular"),
        (bad(boundary={"left": Dirichlet(0.0), "rihgt": Neumann(0)}), {}, "'rihgt'"),
        (bad(boundary={"left": Dirichlet(0.0), "right": Dirichlet(float("nan"))}), {}, "not finite"),
    ],
)
def test_a_failing_solve_leaves_no_folder(tmp_path, monkeypatch, problem, changes, message):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(PcpinnError, match=message):
        quick(problem, out=tmp_path / "run", **changes)
    assert list(tmp_path.iterdir()) == []


def test_a_task_that_the_optimiser_refuses_leaves_no_folder(tmp_path, monkeypatch):
    def refuse(*args):
        raise PcpinnError("too many weights")

    monkeypatch.setattr(GaussNewton, "start", refuse)
    with pytest.raises(PcpinnError, match="too many weights"):
        quick(out=tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_resume_without_a_run(tmp_path):
    with pytest.raises(PcpinnError, match="does not exist"):
        quick(out=tmp_path / "run", resume=True)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_folder_is_refused_and_left_alone(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "precious").write_text("data")
    with pytest.raises(PcpinnError, match="exists already"):
        quick(out=tmp_path / "run")
    assert [f.name for f in tmp_path.iterdir()] == ["run"]
    assert (tmp_path / "run" / "precious").read_text() == "data"


def test_an_existing_folder_is_refused_before_any_work(tmp_path, monkeypatch):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "precious").write_text("data")
    listener = Listener()
    with pytest.raises(PcpinnError, match="exists already"):
        quick(out=tmp_path / "run", progress=listener)
    assert listener.stages == []


@pytest.mark.parametrize(
    "arguments",
    [
        {"points": X2, "values": X2[:, :1]},
        {"points": X1, "values": X1, "components": (1,)},
        {"points": X1[:5], "values": X1[:1]},
        {"points": X1, "values": np.full_like(X1, np.nan)},
    ],
    ids=["points of two coordinates", "no such component", "other count", "nan"],
)
def test_references_that_do_not_fit_are_refused(arguments):
    with pytest.raises(PcpinnError):
        quick(reference=Reference(**arguments))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"problem": None}, "problem=None is of type NoneType"),
        ({"problem": "rod.py"}, "pcpinn solve NAME"),
        ({"problem": Interval(0, 1)}, "of type Interval"),
        ({"on": 3}, "give a mesh"),
        ({"reference": 3}, "give a pcpinn.Reference"),
        ({"progress": 3}, "give a pcpinn.Progress"),
        ({"start": 3}, "a function of points"),
        ({"out": 3}, "the name of a folder"),
        ({"callbacks": 3}, "callbacks are functions"),
    ],
)
def test_arguments_of_another_kind_are_refused(given, words):
    with pytest.raises(PcpinnError, match=words) as caught:
        solve(**{"problem": line(), **given})
    assert caught.value.remedy
