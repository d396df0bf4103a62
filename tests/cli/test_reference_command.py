"""pcpinn reference, and solve --reference: as a user types them."""

import json

import numpy as np
import pytest
from exports import write_export
from typed import run

from pcpinn.catalog.makers import Level, Maker
from pcpinn.catalog.reference_file import read_reference, write_reference
from pcpinn.catalog.task import task_of_run

TINY = [
    "--set",
    "size=0.25",
    "--set",
    "curvature=1",
    "--set",
    "width=6",
    "--set",
    "depth=1",
    "--set",
    "certify=false",
]


@pytest.fixture
def toy(monkeypatch, tmp_path):
    """heat2d-vc made in no time: members 1 + 4^-k; its finest level is what is shipped."""
    maker = Maker(
        name="heat2d-vc",
        method="toy",
        levels=tuple(Level(f"member {k}", 1.0 + 100 * k) for k in range(4)),
        points=lambda: np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]),
        values=lambda k: np.full((2, 1), 1 + 0.25**k),
    )
    shipped = tmp_path / "shipped.npz"
    write_reference(shipped, *maker.make(3))
    monkeypatch.setattr("pcpinn.cli.reference.find_maker", lambda name: maker)
    monkeypatch.setattr("pcpinn.cli.reference.read_shipped", lambda name: read_reference(shipped))
    monkeypatch.chdir(tmp_path)
    return shipped


def test_make(toy, capfd, tmp_path):
    code, out, err = run(capfd, "reference", "make", "heat2d-vc")
    assert code == 0
    assert "heat2d-vc.npz" in out
    assert "about 10 min" in err
    assert "level 3, member 3" in err
    reference, made = read_reference(tmp_path / "heat2d-vc.npz")
    assert made["level"] == 3
    assert len(reference.points) == 2
    code, out, err = run(capfd, "reference", "make", "heat2d-vc", "--level", 1, "--out", "a.npz")
    assert code == 0
    assert "error 6.0e-01" in out
    assert "about 2 min" in err
    assert read_reference(tmp_path / "a.npz")[1]["level"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["heat2d-vc", "--level", "9"], "from 1 to 3"),
        (["heat2d-vc", "--level", "0"], "from 1 to 3"),
        (["heat2d-vc", "--out", "a.txt"], "a.npz"),
        (["heat2d-vc", "--out", "nowhere/a.npz"], "folder that exists"),
        (["heat2d-v"], "did you mean heat2d-vc"),
    ],
)
def test_refused(toy, capfd, arguments, message):
    code, _, err = run(capfd, "reference", "make", *arguments)
    assert code == 2
    assert message in err


def test_check_agrees(toy, capfd):
    code, out, _ = run(capfd, "reference", "check", "heat2d-vc")
    assert code == 0
    assert "they agree" in out
    assert "2.31e-01" in out  # |1.25 - 1.015625| / 1.015625


def test_check_disagrees(toy, capfd):
    reference, made = read_reference(toy)
    wrong = type(reference)(reference.points, reference.values * 3, kind="certified", error=1e-4)
    write_reference(toy, wrong, made)
    code, out, _ = run(capfd, "reference", "check", "heat2d-vc", "--level", 2)
    assert code == 1
    assert "DISAGREE" in out
    toy.write_bytes(b"")
    assert run(capfd, "reference", "check", "heat2d-vc")[0] == 2


@pytest.mark.parametrize("command", ["make", "check"])
def test_formulas_need_no_making(capfd, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    code, out, _ = run(capfd, "reference", command, "wave1d-c")
    assert code == 0
    assert "exact formula: u = sin(pi x)" in out
    code, out, _ = run(capfd, "reference", command, "poisson2d-c")
    assert code == 0
    assert "whenever it is needed" in out
    assert not list(tmp_path.iterdir())


def test_solve_beside_published_data_and_resume(capfd, tmp_path):
    x = np.linspace(-0.5, 0.5, 5)
    rows = [[a, b, 1.0] for a in x for b in x]
    write_export(tmp_path, "poisson2d-c", ["X", "Y", "u (1)"], rows)
    solve = ["solve", "poisson2d-c", "--preset", "quick", *TINY, "--reference", tmp_path, "--out", tmp_path / "run"]
    code, out, _ = run(capfd, *solve, "--set", "iterations=3", "--json")
    assert code == 0
    result = json.loads(out)
    assert result == json.loads((tmp_path / "run" / "result.json").read_text())
    published = result["published"]
    assert published.keys() >= {"l2re", "l1re", "mse", "max", "field", "file", "points"}
    assert published["points"] == 25
    assert published["file"] == str(tmp_path / "poisson1_cg_data.dat")
    assert published["l2re"] != result["errors"]["l2re"]
    assert result["reference"]["kind"] == "certified"
    assert "published data" in (tmp_path / "run" / "report.html").read_text()
    code, out, _ = run(capfd, "resume", tmp_path / "run", "--set", "iterations=5")
    assert code == 0
    assert "published data" in out
    again = json.loads((tmp_path / "run" / "result.json").read_text())
    assert again["iterations"] == 5
    assert again["published"]["l2re"] != published["l2re"]
    moved = tmp_path / "moved"
    moved.mkdir()
    (tmp_path / "poisson1_cg_data.dat").rename(moved / "poisson1_cg_data.dat")
    assert run(capfd, "resume", tmp_path / "run", "--set", "iterations=6")[0] == 2
    assert task_of_run(tmp_path / "run", published=moved).published is not None


@pytest.mark.parametrize(("name", "folder"), [("poisson2d-c", "."), ("poisson2d-c", "none"), ("wave1d-c", ".")])
def test_missing_published_data_are_noticed_before_training(capfd, tmp_path, name, folder):
    code, _, err = run(capfd, "solve", name, "--reference", tmp_path / folder, "--out", tmp_path / "run")
    assert code == 2
    assert "->" in err
    assert not (tmp_path / "run").exists()
