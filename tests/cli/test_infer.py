"""pcpinn infer as a user types it."""

import json

import numpy as np
import pytest
from typed import run

FILE = """
import pcpinn as pc

def problem(k):
    return pc.Problem(pc.Interval(0, 1), flux=lambda x, u: k * u.grad, source=lambda x, u: -1.0,
                      boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)})

unknowns = {"k": pc.Parameter(1.5, low=0.1)}
settings = {"cells": (4,), "degree": 3, "width": 6, "depth": 1, "iterations": 15, "warmup": 3}
"""


@pytest.fixture
def folder(tmp_path):
    """A problem and its data: k = 2."""
    (tmp_path / "bar.py").write_text(FILE)
    x = np.linspace(0.1, 0.9, 20)
    u = x * (1 - x) / 4 + 1e-3 * np.random.default_rng(0).normal(size=20)
    rows = "\n".join(f"{a},{b},0.001" for a, b in zip(x, u, strict=True))
    (tmp_path / "bar.csv").write_text(f"x,u,noise\n{rows}\n")
    return tmp_path


def test_a_file_and_a_table_give_a_parameter_and_a_run_folder(folder, capfd):
    code, out, err = run(
        capfd,
        "infer",
        folder / "bar.py",
        "--data",
        folder / "bar.csv",
        "--out",
        folder / "run",
        "--json",
        "--set",
        "device=cpu",
    )
    assert code == 0
    result = json.loads(out)
    k, std = result["inverse"]["values"]["k"], result["inverse"]["std"]["k"]
    assert abs(k - 2) < 4 * std
    assert result["method"] == "infer"
    assert "determined by the data" in err
    for name in ("run.json", "result.json", "history.csv", "solution.png", "report.html", "coefficients.safetensors"):
        assert (folder / "run" / name).exists()
    code, out, _ = run(capfd, "resume", folder / "run", "--problem", folder / "bar.py", "--json")
    assert code == 0
    assert json.loads(out)["inverse"]["values"]["k"] == pytest.approx(k)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("x,u\n0.5,1\n0.7,nan\n", "row 3"),
        ("x,u\n0.5,1\n70,1\n", "row 3"),
        ("x,x,u\n0.5,0.5,1\n", "appears 2 times"),
        ("x,v\n0.5,1\n", "'v' is not known"),
    ],
)
def test_bad_data_end_with_code_2_and_no_folder(folder, capfd, table, words):
    (folder / "bad.csv").write_text(table)
    code, _, err = run(capfd, "infer", folder / "bar.py", "--data", folder / "bad.csv", "--out", folder / "run")
    assert code == 2
    assert words in err.replace("\n", " ")
    assert not (folder / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("poisson2d-c",), "no inverse problem"),
        (("poisson-inv", "--preset", "fast"), "no preset"),
        (("poisson-inv", "--set", "warm=3"), "warmup"),
    ],
)
def test_unknown_names_are_refused(capfd, arguments, words):
    code, _, err = run(capfd, "infer", *arguments)
    assert code == 2
    assert words in err


def test_a_file_without_data_or_problem_is_refused(folder, capfd):
    code, _, err = run(capfd, "infer", folder / "bar.py")
    assert code == 2
    assert "has no data" in err
    (folder / "empty.py").write_text("problem = 1\n")
    code, _, err = run(capfd, "infer", folder / "empty.py")
    assert code == 2
    assert "defines no inverse problem" in err


def test_inverse_problems_are_shown_and_not_solved(capfd):
    code, out, _ = run(capfd, "show", "poisson-inv")
    assert code == 0
    assert "pcpinn infer poisson-inv" in out
    code, _, err = run(capfd, "solve", "heat-inv")
    assert code == 2
    assert "pcpinn infer heat-inv" in err
