"""A file that defines a family, from the command line."""

import json

import pytest
from typed import run

FILE = """
import torch
import pcpinn as pc

def make(a, k):
    return pc.Problem(
        pc.Interval(0, 1),
        flux=lambda x, u: torch.exp(a * x[0]) * u.grad,
        source=lambda x, u: k * u.value - 1.0,
        boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)},
        name="line",
    )

family = pc.Family(make, a=pc.Range(-1, 1), k=pc.Range(0.1, 10, log=True))
settings = {"cells": (6,), "degree": 3, "width": 8, "depth": 2, "samples": 16, "validation": 8, "device": "cpu"}
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "line.py"
    path.write_text(FILE)
    return path


def test_solve_evaluate_export_resume(capfd, file, tmp_path):
    folder, points = tmp_path / "run", tmp_path / "points.csv"
    code, out, _ = run(capfd, "solve", file, "--accuracy", "0.1", "--out", folder, "--json")
    result = json.loads(out)
    assert code == 0
    assert result["verdict"]["reached"]
    assert result["family"]["names"] == ["a", "k"]
    points.write_text("0.5\n")
    values = []
    for at in ((), ("--at", "k=1"), ("--at", "k=5", "--at", "a=0.5")):
        code, out, _ = run(capfd, "evaluate", folder, "--points", points, *at)
        assert code == 0
        values.append(float(out.splitlines()[-1].split(",")[1]))
    assert values[0] == pytest.approx(values[1])  # the middle of a logarithmic range
    assert values[2] < 0.9 * values[0]
    assert run(capfd, "export", folder, "--to", "npz", "--at", "k=2")[0] == 0
    assert run(capfd, "plot", folder, "--at", "k=2")[0] == 0
    code, out, _ = run(capfd, "resume", folder, "--problem", file, "--set", "iterations=12", "--json")
    assert json.loads(out)["iterations"] >= 10


def test_prepared_from_a_file(capfd, file, tmp_path):
    """Mesh and settings from one file, equations from the other; the answer is that of the file alone."""
    packed, tiny = tmp_path / "line.pcpinn", ("--set", "iterations=3")
    assert run(capfd, "prepare", file, "--preset", "default", "--out", packed, *tiny)[0] == 0
    code, out, _ = run(capfd, "solve", packed, "--problem", file, "--out", tmp_path / "there", "--json")
    assert code == 0
    code, direct, _ = run(capfd, "solve", file, "--preset", "default", *tiny, "--out", tmp_path / "here", "--json")
    assert json.loads(out)["family"]["fresh_errors"] == json.loads(direct)["family"]["fresh_errors"]
    code, _, err = run(capfd, "solve", packed, "--problem", file, "--set", "cells=9", "--out", tmp_path / "other")
    assert code == 2
    assert "cells cannot change" in err


def test_not_reached_is_exit_code_3(capfd, file, tmp_path):
    code, out, _ = run(capfd, "solve", file, "--accuracy", "1e-6", "--set", "iterations=2", "--out", tmp_path / "run")
    assert code == 3
    assert "NOT REACHED" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--at", "q=1"), "there is no parameter 'q'"),
        (("--at", "k=50"), "outside of"),
        (("--at", "k=1,2"), "has 2 numbers"),
        (("--at", "k=one"), "is not a number"),
        (("--at", "k"), "key=value"),
    ],
)
def test_bad_parameters(capfd, file, tmp_path, arguments, words):
    folder, points = tmp_path / "run", tmp_path / "points.csv"
    run(capfd, "solve", file, "--preset", "quick", "--set", "iterations=1", "--out", folder)
    points.write_text("0.5\n")
    code, _, err = run(capfd, "evaluate", folder, "--points", points, *arguments)
    assert code == 2
    assert words in " ".join(err.split())


def test_files_of_another_kind(capfd, file, tmp_path):
    code, _, err = run(capfd, "doctor", file)
    assert code == 2
    assert "family of problems" in err
    wrong = tmp_path / "wrong.py"
    wrong.write_text("family = 3")
    code, _, err = run(capfd, "solve", wrong)
    assert code == 2
    assert "pcpinn.Family" in err
