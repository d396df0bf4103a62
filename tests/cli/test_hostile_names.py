"""Names that problem files choose never lead out of runs/, however odd or long they are."""

import pytest
from typed import run

from pcpinn.cli.options import run_name

FILE = """
import pcpinn as pc
problem = pc.Problem(
    pc.Interval(0, 1), flux=lambda x, u: u.grad, source=lambda x, u: -1.0, name={name!r},
    boundary={{"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)}},
)
settings = {{"cells": (4,), "width": 4, "depth": 1, "iterations": 2}}
"""


@pytest.mark.parametrize("name", ["../../evil", "/tmp/evil", "x" * 5000, "a/b", "..", "", "a\nb", "[red]x"])
def test_a_run_stays_in_its_place(tmp_path, monkeypatch, capfd, name):
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    (inside / "own.py").write_text(FILE.format(name=name))
    code, _, error = run(capfd, "solve", "own.py", "--preset", "default")
    assert (code, error.count("error:")) == (0, 0)
    assert {p.name for p in inside.iterdir()} <= {"own.py", "runs", "__pycache__"}
    assert len(list((inside / "runs").iterdir())) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_folders_that_the_system_cannot_take_are_refused(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(FILE.format(name="own"))
    code, _, error = run(capfd, "solve", "own.py", "--preset", "default", "--out", "x" * 5000)
    assert code == 2
    assert "choose another with --out" in error


def test_usual_names_stay_as_they_are():
    assert run_name("heat2d-vc", "quick") == "heat2d-vc-quick"
    assert run_name("my_problem.2+1") == "my_problem.2+1"
