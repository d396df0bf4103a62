"""The whole command line, as a user types it."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import meshio
import numpy as np
import pytest
from typed import run

import pcpinn as pc
from pcpinn.cli import main

TINY = ["--set", "iterations=6", "--set", "width=8", "--set", "depth=1"]
KEYS = {"problem", "preset", "seed", "device", "dofs", "parameters", "iterations", "time", "preconditioner", "errors",
        "reference", "environment"}  # fmt: skip


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "wave"
    with pytest.raises(SystemExit):
        main(
            [
                "solve",
                "wave1d-c",
                "--preset",
                "quick",
                "--out",
                str(folder),
                *TINY,
                "--set",
                "cells=4",
                "--set",
                "steps=16",
            ]
        )
    return folder


def test_list_names_every_problem(capfd):
    code, out, _ = run(capfd, "list")
    assert code == 0
    for name in ("poisson1d", "poisson2d-c", "poisson2d-cg", "wave1d-c"):
        assert name in out


def test_show_tells_equation_presets_and_published_figures(capfd):
    code, out, _ = run(capfd, "show", "poisson2d-c")
    assert code == 0
    for text in ("-Laplace u = 0", "quick", "default", "paper", "3.98e-03", "1.23e-02 NTK"):
        assert text in out


def test_show_tells_a_preset_whole(capfd):
    """That of the paper with what is not as in the paper; others without."""
    code, out, _ = run(capfd, "show", "wave2d-cg", "--preset", "paper")
    assert code == 0
    for text in (
        "fields=1",
        "linearisation=none",
        "cold_iterations=500000",
        "drop_tolerance=0.0001",
        "not as in the paper",
    ):
        assert text in " ".join(out.split())
    assert "- c divides u_tt" in out
    _, out, _ = run(capfd, "show", "wave2d-cg", "--preset", "default")
    assert "fields=2" in out
    assert "not as in the paper" not in out
    code, _, err = run(capfd, "show", "wave2d-cg", "--preset", "none")
    assert (code, "there is no preset" in err) == (2, True)


def test_show_tells_what_another_method_makes_of_a_preset(capfd):
    """Presets of the method's own, which the problem does not have, too."""
    code, out, _ = run(capfd, "show", "gs", "--method", "lra", "--preset", "pinnacle")
    assert code == 0
    for text in ("method lra", "collocation=8192", "width=100", "every=1", "features=none"):
        assert text in " ".join(out.split())
    code, out, _ = run(capfd, "show", "heat-inv", "--method", "pinn", "--preset", "paper")
    assert (code, "not as in the paper" in out) == (0, False)
    code, _, err = run(capfd, "show", "gs", "--method", "none")
    assert (code, "none" in err) == (2, True)


def test_json_is_one_object_and_equals_the_record(capfd, tmp_path):
    code, out, err = run(
        capfd, "solve", "poisson1d", "--preset", "quick", "--seed", 3, "--out", tmp_path / "r", "--json", *TINY
    )
    assert code == 0
    result = json.loads(out)
    assert result == json.loads((tmp_path / "r" / "result.json").read_text())
    assert result.keys() >= KEYS
    assert (result["seed"], result["iterations"], result["device"]) == (3, 6, "cpu")
    assert {"setup_s", "train_s", "total_s"} <= result["time"].keys()
    assert {"name", "drop_tolerance", "fill_factor", "setup_s"} <= result["preconditioner"].keys()
    assert {"l2re", "l1re", "mse", "mae", "max", "field", "training", "discretisation"} <= result["errors"].keys()
    assert {"kind", "error"} <= result["reference"].keys()
    assert "error L2RE" in err


def test_solve_writes_a_picture_a_report_and_a_history(finished):
    assert (finished / "solution.png").read_bytes().startswith(b"\x89PNG")
    page = (finished / "report.html").read_text()
    assert "wave1d-c" in page
    assert "data:image/png;base64," in page
    assert "http:" not in page
    assert "https:" not in page
    rows = list(csv.DictReader((finished / "history.csv").read_text().splitlines()))
    assert [int(r["iteration"]) for r in rows] == [1, 2, 3, 4, 5, 6]
    assert float(rows[-1]["residual"]) == pytest.approx((2 * float(rows[-1]["loss"])) ** 0.5)


def test_plot_export_and_evaluate_a_run(capfd, finished, tmp_path):
    solution = pc.load(finished)
    assert run(capfd, "plot", finished, "--out", tmp_path / "u.pdf")[0] == 0
    assert (tmp_path / "u.pdf").read_bytes().startswith(b"%PDF")
    assert run(capfd, "export", finished, "--to", "vtu", "--out", tmp_path / "u.vtu")[0] == 0
    stored = meshio.read(tmp_path / "u.vtu")
    np.testing.assert_allclose(stored.point_data["u"], solution(stored.points[:, :2]), rtol=1e-12)
    assert run(capfd, "export", finished, "--to", "npz", "--out", tmp_path / "u.npz")[0] == 0
    arrays = np.load(tmp_path / "u.npz")
    np.testing.assert_allclose(arrays["u"], solution(arrays["nodes"]), rtol=1e-12)
    (tmp_path / "points.csv").write_text("x,t\n0.25,0.5\n0.75,0.125\n")
    code, out, _ = run(capfd, "evaluate", finished, "--points", tmp_path / "points.csv")
    assert code == 0
    table = np.loadtxt(out.splitlines(), delimiter=",", skiprows=1)
    assert out.splitlines()[0] == "x,t,u"
    np.testing.assert_allclose(table[:, 2], solution([[0.25, 0.5], [0.75, 0.125]]), rtol=1e-12)


def test_resume_after_a_kill_gives_the_same_answer(capfd, tmp_path):
    common = ["solve", "poisson1d", "--preset", "quick", "--set", "iterations=12", "--set", "checkpoint_every=0"]
    assert run(capfd, *common, "--out", tmp_path / "whole")[0] == 0
    child = (
        "import os, pcpinn.train.checkpoint as kept\n"
        "from pcpinn.cli import main\n"
        "write = kept.Checkpoints.write\n"
        "def die(self, snapshot):\n"
        "    write(self, snapshot)\n"
        "    if snapshot.iteration == 5: os.kill(os.getpid(), 9)\n"
        "kept.Checkpoints.write = die\n"
        f"main({[*common, '--out', str(tmp_path / 'killed')]!r})\n"
    )
    assert subprocess.run([sys.executable, "-c", child], capture_output=True).returncode == -9
    assert not (tmp_path / "killed" / "result.json").exists()
    assert run(capfd, "plot", tmp_path / "killed")[0] == 2
    assert run(capfd, "resume", tmp_path / "killed")[0] == 0
    one, two = (pc.load(tmp_path / name) for name in ("whole", "killed"))
    assert (one.network.theta == two.network.theta).all()
    assert (one.history.losses == two.history.losses).all()
    assert two.result["iterations"] == 12


def test_resume_can_go_beyond_the_old_end(capfd, tmp_path):
    common = ["solve", "poisson1d", "--preset", "quick", "--out"]
    run(capfd, *common, tmp_path / "long", "--set", "iterations=9")
    run(capfd, *common, tmp_path / "short", "--set", "iterations=4")
    assert run(capfd, "resume", tmp_path / "short", "--set", "iterations=9")[0] == 0
    assert (pc.load(tmp_path / "short").network.theta == pc.load(tmp_path / "long").network.theta).all()
    code, _, err = run(capfd, "resume", tmp_path / "short", "--set", "width=4")
    assert code == 2
    assert "width" in err


FILE = """
import torch, pcpinn as pc
domain = pc.Polygon([(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)], names=["bottom", "right", "step", "step", "top", "left"])
problem = pc.Problem(domain, flux=lambda x, u: (1 + x[0] ** 2) * u.grad, source=lambda x, u: -1.0,
                     boundary={"left": pc.Dirichlet(0.0), "bottom": pc.Dirichlet(0.0), "right": pc.Robin(2.0, 1.0),
                               "step": pc.Neumann(0.0), "top": pc.Neumann(0.0)})
settings = {"size": 0.4, "iterations": 8, "width": 8, "depth": 1}
"""


def test_a_file_of_ones_own_is_solved_and_resumed_only_with_the_file(capfd, tmp_path):
    file = tmp_path / "lshape.py"
    file.write_text(FILE)
    code, out, _ = run(capfd, "solve", file, "--preset", "default", "--out", tmp_path / "r", "--json")
    assert code == 0
    result = json.loads(out)
    assert result["problem"] == "lshape"
    assert result["verdict"]["asked"] is None
    assert result["reference"] is None
    assert result["errors"]["l2re"] is None
    assert result["errors"]["training"] > 0
    code, _, err = run(capfd, "resume", tmp_path / "r", "--set", "iterations=10")
    assert code == 2
    assert "--problem" in err
    assert run(capfd, "resume", tmp_path / "r", "--problem", file, "--set", "iterations=10")[0] == 0
    file.write_text(FILE + "\n# changed\n")
    code, _, err = run(capfd, "resume", tmp_path / "r", "--problem", file, "--set", "iterations=11")
    assert code == 2
    assert "not the file" in err


def test_runs_without_a_folder_do_not_collide(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert run(capfd, "solve", "poisson1d", "--preset", "quick", *TINY)[0] == 0
    assert sorted(p.name for p in Path("runs").iterdir()) == ["poisson1d-quick", "poisson1d-quick-2"]


def test_a_march_is_solved_continued_and_told(capfd, tmp_path):
    """Cut by a time limit, continued to the end; the table counts its windows."""
    small = ["--set", "cells=40", "--set", "steps=6", "--set", "width=80"]
    code, _, err = run(
        capfd, "solve", "burgers1d-c", "--preset", "quick", *small, "--set", "time_limit=0.1", "--out", tmp_path / "b"
    )
    assert code == 2
    assert "time limit" in err
    assert "pcpinn resume" in err
    code, out, _ = run(capfd, "resume", tmp_path / "b", "--set", "time_limit=100")
    assert code == 0
    assert "windows" in out
    result = json.loads((tmp_path / "b/result.json").read_text())
    assert result["march"]["windows"] == 6
    assert result["errors"]["l2re"] < 0.2
