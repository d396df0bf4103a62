"""pcpinn prepare, and pcpinn solve with the file, here and where there is no mesher or no matplotlib."""

import json
import os
import subprocess
import sys

import pytest
import torch
from typed import run

import pcpinn as pc
from pcpinn.cli import main

TINY = ["--set", "iterations=4", "--set", "width=5", "--set", "depth=1"]
COARSE = ["--set", "size=0.25", "--set", "curvature=1"]
FILE = """
import pcpinn as pc
problem = pc.Problem(pc.Interval(0, 1), flux=lambda x, u: u.grad, source=lambda x, u: -1.0,
                     boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)})
settings = {"cells": 4, "width": 5, "depth": 1, "iterations": 3}
"""


def elsewhere(blocked, folder, *arguments):
    """The same on a machine that lacks packages: they cannot be found by any import."""
    child = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.split('.')[0] in {tuple(blocked)!r}:\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "from pcpinn.cli import main\n"
        f"main({[str(a) for a in arguments]!r})\n"
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, "-c", child], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )


def weights(folder):
    return pc.load(folder).network.theta


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A problem that needs the mesher, packed; and solved directly."""
    folder = tmp_path_factory.mktemp("prepared")
    for command in (
        ["prepare", "--out", folder / "c.pcpinn"],
        ["solve", "--device", "cpu", "--out", folder / "direct"],
    ):
        name, *options = command
        with pytest.raises(SystemExit) as stop:
            main([name, "poisson2d-c", "--preset", "quick", *map(str, options), *TINY, *COARSE])
        assert not stop.value.code
    return folder


def test_prepare_prints_the_file_and_nothing_else(capfd, tmp_path):
    code, out, _ = run(capfd, "prepare", "poisson1d", "--preset", "quick", "--out", tmp_path / "new" / "p.pcpinn")
    assert (code, out) == (0, f"{tmp_path}/new/p.pcpinn\n")


def test_solving_the_file_gives_the_same_weights(capfd, prepared, tmp_path):
    code, out, _ = run(
        capfd, "solve", prepared / "c.pcpinn", "--device", "cpu", "--out", tmp_path / "r", "--json"
    )  # fmt: skip
    assert code == 0
    result, direct = json.loads(out), json.loads((prepared / "direct" / "result.json").read_text())
    assert torch.equal(weights(tmp_path / "r"), weights(prepared / "direct"))
    for key in ("problem", "preset", "source", "errors", "certificate", "reference", "dofs"):
        assert result[key] == direct[key]
    assert (tmp_path / "r" / "solution.png").exists()


def test_seed_and_training_may_change(capfd, prepared, tmp_path):
    code, out, _ = run(
        capfd, "solve", prepared / "c.pcpinn", "--out", tmp_path / "r", "--seed", 5, "--set", "iterations=2", "--json"
    )
    assert code == 0
    assert (json.loads(out)["seed"], json.loads(out)["iterations"]) == (5, 2)
    assert not torch.equal(weights(tmp_path / "r"), weights(prepared / "direct"))


def test_works_without_mesher_and_matplotlib(prepared, tmp_path):
    """A compute node: the run is written, a warning tells that there is no picture."""
    done = elsewhere(
        ("netgen", "pyngcore", "matplotlib"), tmp_path, "solve", prepared / "c.pcpinn", "--device", "cpu", "--out", "r"
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "warning: no picture: pictures need matplotlib" in done.stderr
    assert not (tmp_path / "r" / "solution.png").exists()
    assert "picture" not in done.stdout
    assert "<img" not in (tmp_path / "r" / "report.html").read_text()
    assert torch.equal(weights(tmp_path / "r"), weights(prepared / "direct"))


@pytest.fixture
def no_mesher(monkeypatch):
    for module in ("netgen", "netgen.occ", "netgen.meshing"):
        monkeypatch.setitem(sys.modules, module, None)


@pytest.mark.usefixtures("no_mesher")
def test_without_the_mesher_a_shape_is_refused_and_nothing_left_behind(capfd, tmp_path):
    code, out, err = run(capfd, "solve", "poisson2d-c", "--preset", "quick", "--out", tmp_path / "r")
    assert (code, out) == (2, "")
    assert "needs netgen" in err
    assert not any(tmp_path.iterdir())


def test_the_papers_straight_cells_need_no_mesher_either(capfd, tmp_path, request):
    """Their certificate would take a curved mesh; without a mesher it takes the straight one."""
    arguments = ["poisson2d-c", "--preset", "paper", "--out", tmp_path / "c.pcpinn", *TINY, *COARSE]
    assert run(capfd, "prepare", *arguments)[0] == 0
    request.getfixturevalue("no_mesher")
    code, out, _ = run(capfd, "solve", tmp_path / "c.pcpinn", "--device", "cpu", "--out", tmp_path / "r", "--json")
    assert code == 0
    assert json.loads(out)["errors"]["estimate"] > 0


def test_a_file_of_ones_own_must_be_named_and_unchanged(capfd, tmp_path):
    mine, packed = tmp_path / "mine.py", tmp_path / "m.pcpinn"
    mine.write_text(FILE)
    assert run(capfd, "prepare", mine, "--out", packed)[0] == 0
    code, _, err = run(capfd, "solve", packed, "--out", tmp_path / "r")
    assert code == 2
    assert "--problem mine.py" in err
    assert run(capfd, "solve", packed, "--problem", mine, "--device", "cpu", "--out", tmp_path / "r")[0] == 0
    direct = ("--preset", "default", "--device", "cpu", "--out", tmp_path / "direct")
    assert run(capfd, "solve", mine, *direct)[0] == 0
    assert torch.equal(weights(tmp_path / "r"), weights(tmp_path / "direct"))
    mine.write_text(FILE + "# changed\n")
    code, _, err = run(capfd, "solve", packed, "--problem", mine, "--out", tmp_path / "r2")
    assert code == 2
    assert "not the file" in err
    assert not (tmp_path / "r2").exists()


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"", "cannot be read"),
        (b"import os\n", "cannot be read"),
        (b"\x08\0\0\0\0\0\0\0{}      ", "not written by pcpinn"),
        (None, "does not exist"),
    ],
)
def test_damaged_files(capfd, tmp_path, data, word):
    if data is not None:
        (tmp_path / "x.pcpinn").write_bytes(data)
    code, out, err = run(capfd, "solve", tmp_path / "x.pcpinn", "--out", tmp_path / "r")
    assert (code, out) == (2, "")
    assert word in " ".join(err.split())
    assert not (tmp_path / "r").exists()


def test_a_cut_file(capfd, prepared, tmp_path):
    data = (prepared / "c.pcpinn").read_bytes()
    (tmp_path / "x.pcpinn").write_bytes(data[: len(data) // 2])
    code, _, err = run(capfd, "solve", tmp_path / "x.pcpinn", "--out", tmp_path / "r")
    assert code == 2
    assert "cannot be read" in err


def test_the_weights_of_a_run_are_no_prepared_problem(capfd, prepared, tmp_path):
    (tmp_path / "x.pcpinn").write_bytes((prepared / "direct" / "network.safetensors").read_bytes())
    code, _, err = run(capfd, "solve", tmp_path / "x.pcpinn", "--out", tmp_path / "r")
    assert code == 2
    assert "not a prepared problem" in err
    assert "pcpinn prepare" in err


@pytest.mark.parametrize("name", ["p.safetensors", "p", "p.pcpinn.zip"])
def test_wrong_endings(capfd, tmp_path, name):
    code, _, err = run(capfd, "prepare", "poisson1d", "--out", tmp_path / name)
    assert code == 2
    assert "does not end in .pcpinn" in " ".join(err.split())
    assert not any(tmp_path.iterdir())
