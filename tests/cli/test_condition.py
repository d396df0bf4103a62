"""`pcpinn condition` and `pcpinn doctor`, as a user types them."""

import json

import pytest
from typed import run

FILE = """
import pcpinn as pc
problem = pc.Problem(pc.Interval(0, 1, name="ends"), flux=lambda x, u: u.grad, source=lambda x, u: -1.0,
                     boundary={"ends": pc.Dirichlet(0.0)}, name="string")
settings = {"cells": 10}
"""


@pytest.mark.parametrize("method", ["fem", "fdm", "neural"])
def test_condition_as_json(capfd, method):
    code, out, err = run(
        capfd, "condition", "poisson1d", "--set", "P=2", "--set", "cells=60", "--method", method, "--json"
    )
    assert code == 0
    data = json.loads(out)
    assert data["inverse_norm"] == pytest.approx(1.0, rel=2e-3)
    assert data["condition"] == pytest.approx(4.0, rel=2e-3)
    assert data["ratio_f_u"] == pytest.approx(4.0, rel=2e-3)
    assert data["method"] == method
    assert data["dofs"] > 50
    assert data["parameters"] == {"P": 2.0}
    assert (data["preconditioned"] is None) == (method == "neural")
    assert "condition number of poisson1d" in err


def test_condition_table_fits_a_terminal(capfd, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "80")
    picture = tmp_path / "worst.png"
    code, out, _ = run(capfd, "condition", "wave1d-c", "--set", "cells=6", "--set", "steps=24", "--out", picture)
    assert code == 0
    for word in ("condition", "inverse_norm", "ratio_f_u", "method", "dofs", "preconditioned"):
        assert word in out
    assert max(map(len, out.replace(str(picture), "").splitlines())) <= 80
    assert picture.stat().st_size > 5000


def test_a_folder_for_the_picture_and_no_preconditioner(capfd, tmp_path):
    code, out, _ = run(capfd, "condition", "poisson1d", "--preconditioner", "no", "--out", tmp_path / "new")
    assert code == 0
    assert (tmp_path / "new" / "worst-direction.png").exists()
    assert "not asked for" in out


def test_of_a_file(capfd, tmp_path):
    path = tmp_path / "string.py"
    path.write_text(FILE)
    code, out, _ = run(capfd, "condition", path, "--preset", "default", "--json")
    assert code == 0
    assert json.loads(out)["dofs"] == 21
    code, out, _ = run(capfd, "doctor", path, "--json")
    assert code == 0
    assert json.loads(out)["problem"] == "string"


def test_large_problems_are_measured_at_reduced_size(capfd):
    code, out, _ = run(capfd, "condition", "poisson1d", "--set", "cells=60000", "--preconditioner", "no", "--json")
    assert code == 0
    data = json.loads(out)
    assert data["dofs"] <= 100_000
    assert "the settings themselves make 180001" in data["note"]
    assert data["inverse_norm"] == pytest.approx(4, rel=1e-4)


def test_doctor(capfd, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = run(capfd, "doctor", "poisson1d", "--preset", "quick")
    assert code == 0
    for word in (
        "condition",
        "growth",
        "preconditioner",
        "precision",
        "resolution",
        "cost",
        "-> pcpinn solve poisson1d",
    ):
        assert word in out
    code, out, err = run(capfd, "doctor", "poisson1d", "--set", "P=3", "--preset", "quick", "--json")
    data = json.loads(out)
    assert data["parameters"] == {"P": 3.0}
    assert data["condition"]["inverse_norm"] == pytest.approx(4 / 9, rel=1e-4)
    assert "what the doctor says" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("condition", "poison1d"), "poisson1d"),
        (("condition", "poisson1d", "--method", "dg"), "fem, fdm, neural"),
        (("condition", "poisson1d", "--preconditioner", "magic"), "magic"),
        (("condition", "poisson1d", "--set", "P=0"), "zero"),
        (("condition", "poisson1d", "--set", "Q=1"), "Q"),
        (("condition", "poisson1d", "--out", "worst.txt"), ".png"),
        (("condition", "poisson2d-c", "--method", "fdm"), "cells"),
        (("doctor", "missing.py"), "missing.py"),
        (("doctor", "poisson1d", "--preset", "huge"), "huge"),
    ],
)
def test_bad_input(capfd, arguments, message):
    code, out, err = run(capfd, *arguments)
    assert code == 2
    assert out == ""
    assert message in err
