"""pcpinn solve with other methods; what is recorded; what is told on the way."""

import json
import re

import pytest
import torch
from typed import run

import pcpinn as pc
from pcpinn.catalog.task import find_task

SMALL = {"iterations": 5, "width": 5, "depth": 1, "cells": 6}
TINY = [part for key, value in SMALL.items() for part in ("--set", f"{key}={value}")]


@pytest.mark.parametrize(("method", "optimiser"), [("pinn", "adam"), ("fem-fit", "gauss-newton")])
def test_other_methods(capfd, tmp_path, method, optimiser):
    code, out, err = run(
        capfd, "solve", "poisson1d", "--preset", "quick", "--method", method, "--out", tmp_path / "r", "--json", *TINY
    )
    assert code == 0
    result = json.loads(out)
    assert (result["method"], result["optimiser"], result["preconditioner"]["name"]) == (method, optimiser, method)
    assert f"optimiser: {optimiser} (" in err
    assert "error L2RE" in err
    expected = find_task("poisson1d", "quick", SMALL, method).run()
    assert torch.equal(pc.load(tmp_path / "r").network.theta, expected.network.theta)


def test_hard_conditions_survive_the_disk(capfd, tmp_path):
    hard = ["--method", "pinn", "--set", "hard=true", *TINY]
    assert run(capfd, "solve", "poisson1d", "--preset", "quick", *hard, "--out", tmp_path / "r")[0] == 0
    (tmp_path / "points.csv").write_text("0.0\n6.283185307179586\n3.0\n")
    code, out, _ = run(capfd, "evaluate", tmp_path / "r", "--points", tmp_path / "points.csv")
    assert code == 0
    left, right, inside = (float(line.split(",")[-1]) for line in out.splitlines()[1:])
    assert max(abs(left), abs(right)) < 1e-12 < abs(inside)
    assert run(capfd, "resume", tmp_path / "r", "--set", "iterations=6")[0] == 0
    code, _, err = run(capfd, "solve", "poisson1d", "--method", "pinn", "--set", "hard=firm", "--out", tmp_path / "s")
    assert (code, (tmp_path / "s").exists()) == (2, False)
    assert "true or false" in err


@pytest.mark.parametrize("method", ["pinn", "fem-fit"])
def test_resume_keeps_the_method(capfd, tmp_path, method):
    common = ["solve", "poisson1d", "--preset", "quick", "--method", method, *TINY]
    assert run(capfd, *common, "--set", "iterations=3", "--out", tmp_path / "short")[0] == 0
    assert run(capfd, *common, "--out", tmp_path / "whole")[0] == 0
    code, out, _ = run(capfd, "resume", tmp_path / "short", "--set", "iterations=5", "--json")
    assert code == 0
    assert json.loads(out)["method"] == method
    assert torch.equal(pc.load(tmp_path / "short").network.theta, pc.load(tmp_path / "whole").network.theta)


def test_unknown_methods(capfd, tmp_path):
    code, out, err = run(capfd, "solve", "poisson1d", "--method", "deep-ritz", "--out", tmp_path / "r")
    assert (code, out) == (2, "")
    assert "no method 'deep-ritz'" in err
    assert all(name in err for name in ("pcpinn", "pinn", "fem-fit"))
    assert not (tmp_path / "r").exists()


def test_a_run_of_an_unknown_method_is_not_resumed(capfd, tmp_path):
    run(capfd, "solve", "poisson1d", "--preset", "quick", *TINY, "--out", tmp_path / "r")
    record = json.loads((tmp_path / "r" / "run.json").read_text())
    (tmp_path / "r" / "run.json").write_text(
        json.dumps({**record, "settings": {**record["settings"], "method": "magic"}})
    )
    code, _, err = run(capfd, "resume", tmp_path / "r", "--set", "iterations=9")
    assert code == 2
    assert "method=magic, which is not known here" in err


def test_gauss_newton_is_refused_for_a_pinn(capfd, tmp_path):
    code, _, err = run(
        capfd, "solve", "poisson1d", "--method", "pinn", "--set", "optimiser=gauss-newton", "--out", tmp_path / "r"
    )
    assert code == 2
    assert "use adam" in err
    assert not (tmp_path / "r").exists()


def test_memory_certificate_and_optimiser_are_recorded(capfd, tmp_path):
    code, out, _ = run(
        capfd, "solve", "poisson1d", "--preset", "quick", "--device", "cpu", *TINY, "--out", tmp_path / "r", "--json"
    )
    assert code == 0
    result = json.loads((tmp_path / "r" / "result.json").read_text())
    assert result == json.loads(out)
    assert result["memory"].keys() == {"host_gib", "device_gib"}
    assert 0.05 < result["memory"]["host_gib"] < 100
    assert result["memory"]["device_gib"] is None
    assert result["certificate"].keys() == {"estimate", "how", "unknowns", "unseen"}
    assert result["errors"]["estimate"] == result["certificate"]["estimate"]
    assert result["method"] == "pcpinn"
    assert "matrix gram" in result["optimiser_reason"]


def test_the_estimate_is_shown_beside_the_error(capfd, tmp_path):
    _, out, _ = run(capfd, "solve", "poisson1d", "--preset", "quick", *TINY, "--out", tmp_path / "r")
    assert re.search(r"error estimate +\d\.\d\de-\d\d", out)
    _, out, _ = run(
        capfd, "solve", "poisson1d", "--preset", "quick", *TINY, "--set", "certify=false", "--out", tmp_path / "s"
    )
    assert "error estimate" not in out


SQUARE = """
import torch, pcpinn as pc
problem = pc.Problem(pc.Disk((0, 0), 1.0, name="rim"), flux=lambda x, u: u.grad,
                     source=lambda x, u: -10 * torch.exp(2 * x[0]), boundary={"rim": pc.Dirichlet(0.0)})
settings = {"size": 0.6, "iterations": 40, "device": "cpu"}
"""


def test_too_many_weights_for_the_mesh_are_noted(capfd, tmp_path):
    (tmp_path / "mine.py").write_text(SQUARE)
    default = ("--preset", "default", "--json")
    code, out, err = run(capfd, "solve", tmp_path / "mine.py", "--out", tmp_path / "r", *default)
    assert code == 0
    result = json.loads(out)
    assert result["parameters"] > 5 * result["dofs"]
    assert result["errors"]["estimate"] > 5 * result["errors"]["training"]
    note = f"{result['parameters']} weights on {result['dofs']} degrees of freedom"
    assert note in " ".join(err.split())
    code, out, err = run(
        capfd, "solve", tmp_path / "mine.py", "--out", tmp_path / "s", *default, "--set", "width=3", "--set", "depth=1"
    )
    assert code == 0
    assert json.loads(out)["parameters"] < json.loads(out)["dofs"]
    assert "weights on" not in err


def test_brackets_in_names_are_no_markup(capfd, tmp_path):
    """Rich would take them for colours, or fail on [/...]."""
    (tmp_path / "mine.py").write_text(
        "import pcpinn as pc\n"
        "problem = pc.Problem(pc.Interval(0, 1), flux=lambda x, u: u.grad, source=lambda x, u: -1.0, name='u[/bold]',\n"
        "                     boundary={'left': pc.Dirichlet(0.0), 'right': pc.Dirichlet(0.0)})\n"
    )
    folder = tmp_path / "run[/red][1]"
    code, out, _ = run(capfd, "solve", tmp_path / "mine.py", "--preset", "default", *TINY, "--out", folder)
    assert code == 0
    assert "u[/bold]" in out
    assert str(folder) in out


def test_parameters_that_make_no_problem(capfd, tmp_path):
    code, _, err = run(capfd, "solve", "poisson1d", "--set", "P=0", "--out", tmp_path / "r")
    assert code == 2
    assert "P=0" in err


def test_a_preset_of_the_methods_own(capfd, tmp_path):
    """Of no problem, but for every problem: solved, resumed, drawn beside the reference; other methods do not have it."""
    small = ["--set", "width=4", "--set", "collocation=20", "--set", "every=2", "--set", "iterations=3"]
    common = ["solve", "burgers1d", "--preset", "pinnacle-quick", *small]
    code, out, _ = run(capfd, *common, "--method", "rar", "--out", tmp_path / "r", "--json")
    assert code == 0
    result = json.loads(out)
    assert (result["method"], result["preset"], result["dofs"]) == ("rar", "pinnacle-quick", 0)
    assert result["error_history"][-1][2] == result["errors"]["l2re"]
    code, out, _ = run(capfd, "resume", tmp_path / "r", "--set", "iterations=5", "--json")
    assert code == 0
    assert json.loads(out)["preconditioner"]["collocation"] == 20 + 2 * 100
    assert run(capfd, "plot", tmp_path / "r", "--out", tmp_path / "u.png")[0] == 0
    code, _, err = run(capfd, "solve", "burgers1d", "--preset", "pinnacle-quick", "--out", tmp_path / "s")
    assert (code, (tmp_path / "s").exists()) == (2, False)
    assert "no preset 'pinnacle-quick'" in err


def test_memory_is_obeyed_or_refused(capfd, tmp_path):
    def solve(*words):
        options = ("--preset", "quick", "--out", tmp_path / "r", *TINY)
        code, _, err = run(capfd, "solve", "poisson1d", *words, *options)
        return code, " ".join(err.split())

    code, err = solve("--memory", "0.1")
    assert code == 2
    assert re.search(r"needs about [\d.]+ GiB, and memory=0.1 are allowed.*allow memory=1, ", err)
    code, err = solve("--memory", "1", "--set", "memory=2")
    assert (code, "contradict each other" in err) == (2, True)
    assert not (tmp_path / "r").exists()
    assert solve("--memory", "2")[0] == 0
    assert pc.load(tmp_path / "r").settings["run"]["memory"] == 2.0
