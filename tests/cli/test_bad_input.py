"""Each bad input gets one clear message, exit code 2, and leaves no run folder."""

import pytest
import torch

from pcpinn.cli import main

GOOD = """
import torch, numpy as np, pcpinn as pc
square = pc.Rectangle((0, 0), (1, 1), name='edge')
zero = {'edge': pc.Dirichlet(0.0)}
"""


def refused(capfd, *arguments):
    """Standard error of a call that must end with code 2."""
    with pytest.raises(SystemExit) as stop:
        main([str(a) for a in arguments])
    out, err = capfd.readouterr()
    assert stop.value.code == 2
    assert out == ""
    assert "Traceback" not in err
    return err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["poisson2d"], ["no problem", "poisson2d-c"]),
        (["nonsense"], ["no problem", "pcpinn list"]),
        (["poisson1d", "--preset", "fast"], ["no preset", "quick"]),
        (["poisson1d", "--set", "widht=3"], ["no setting", "width"]),
        (["poisson1d", "--set", "width"], ["key=value"]),
        (["poisson1d", "--set", "width=three"], ["width='three'", "whole number"]),
        (["poisson1d", "--set", "P=long"], ["P='long'", "number"]),
        (["poisson1d", "--set", "optimiser=sgd"], ["sgd", "gauss-newton"]),
        (["poisson1d", "--device", "tpu"], ["tpu", "cuda"]),
        (["poisson1d", "--set", "iterations=0"], ["iterations=0", "positive"]),
        (["poisson2d-c", "--set", "degree=7"], ["degree 7"]),
        (["nowhere.py"], ["no file"]),
    ],
)
def test_wrong_words(capfd, tmp_path, arguments, words):
    err = refused(capfd, "solve", *arguments, "--out", tmp_path / "run")
    for word in words:
        assert word in err
    assert not (tmp_path / "run").exists()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_cuda_asked_for_and_absent(capfd, tmp_path):
    err = refused(capfd, "solve", "poisson1d", "--device", "cuda", "--out", tmp_path / "run")
    assert "CUDA" in err
    assert not (tmp_path / "run").exists()


FILES = {
    "does not import": ("import nothing_like_this\n", ["does not import", "nothing_like_this", "line 1"]),
    "syntax error": ("problem = (\n", ["does not import", "SyntaxError"]),
    "exits": ("raise SystemExit(0)\n", ["does not import"]),
    "no problem": ("x = 1\n", ["defines no problem", "problem(a=1.0)"]),
    "problem fails": ("def problem(a=1.0):\n    return a / 0\n", ["problem()", "ZeroDivisionError", "line 2"]),
    "parameter without a default": ("def problem(a):\n    return a\n", ["'a'", "no number as its default"]),
    "parameter that is a setting": ("def problem(width=3):\n    return width\n", ["'width'", "name of a setting"]),
    "settings not a dict": (
        GOOD + "problem = pc.Problem(square, flux=lambda x, u: u.grad, boundary=zero)\nsettings = 3\n",
        ["dict"],
    ),
    "flux of wrong shape": (
        GOOD + "problem = pc.Problem(square, flux=lambda x, u: torch.cat([u.grad, x]), boundary=zero)\n",
        ["flux", "(4,)", "(2,)"],
    ),
    "flux with numpy": (
        GOOD + "problem = pc.Problem(square, flux=lambda x, u: np.sin(u.grad), boundary=zero)\n",
        ["torch"],
    ),
    "flux not differentiable": (
        GOOD + "problem = pc.Problem(square, flux=lambda x, u: u.grad.detach(), boundary=zero)\n",
        ["not differentiable", "detach"],
    ),
    "flux returns nan": (
        GOOD + "problem = pc.Problem(square, flux=lambda x, u: u.grad * torch.log(x[0] - 2), boundary=zero)\n",
        ["not finite at x"],
    ),
    "flux branches": (
        GOOD + "problem = pc.Problem(square, flux=lambda x, u: u.grad if x[0] > 0.5 else 2 * u.grad, boundary=zero)\n",
        ["torch.where"],
    ),
    "degenerate at zero": (
        GOOD + "problem = pc.Problem(square, flux=lambda x, u: u.value * u.grad, boundary=zero)\n",
        ["singular", "start="],
    ),
    "unknown boundary": (
        GOOD + "problem = pc.Problem(square, flux=lambda x, u: u.grad, boundary={'rim': pc.Dirichlet(0.0)})\n",
        ["'rim'", "edge"],
    ),
    "not a condition": (
        GOOD + "problem = pc.Problem(square, flux=lambda x, u: u.grad, boundary={'edge': 0.0})\n",
        ["Dirichlet"],
    ),
    "pure neumann": (
        GOOD + "problem = pc.Problem(square, flux=lambda x, u: u.grad, boundary={'edge': pc.Neumann(0.0)})\n",
        ["singular", "Pin"],
    ),
    "nan on the boundary": (
        GOOD
        + "problem = pc.Problem(square, flux=lambda x, u: u.grad, boundary={'edge': pc.Dirichlet(float('nan'))})\n",
        ["not finite at x"],
    ),
    "empty domain": (
        GOOD + "problem = pc.Problem(square - pc.Disk((0.5, 0.5), 3.0), flux=lambda x, u: u.grad, boundary=zero)\n",
        ["empty", "nothing"],
    ),
    "disconnected domain": (
        GOOD + "two = square + pc.Rectangle((3, 0), (4, 1), name='edge')\n"
        "problem = pc.Problem(two, flux=lambda x, u: u.grad, boundary=zero)\n",
        ["2"],
    ),
    "unreadable mesh": (
        GOOD + "problem = pc.Problem(pc.read_mesh(__file__), flux=lambda x, u: u.grad, boundary=zero)\n",
        ["mesh"],
    ),
}


@pytest.mark.parametrize("case", FILES)
def test_bad_problem_files(capfd, tmp_path, case):
    text, words = FILES[case]
    file = tmp_path / "mine.py"
    file.write_text(text)
    err = refused(capfd, "solve", file, "--set", "size=0.3", "--out", tmp_path / "run")
    assert any(word in err for word in words) if case == "empty domain" else all(word in err for word in words), err
    assert [p.name for p in tmp_path.iterdir() if p.name != "__pycache__"] == ["mine.py"]


def test_a_boundary_without_condition_is_announced(capfd, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "import pcpinn as pc\n"
        "problem = pc.Problem(pc.Interval(0, 1), flux=lambda x, u: u.grad, source=lambda x, u: -1.0,\n"
        "                     boundary={'left': pc.Dirichlet(0.0)})\n"
    )
    import warnings

    small = ["--preset", "default", "--set", "iterations=2", "--set", "width=4"]
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        with pytest.raises(SystemExit) as stop:
            main(["solve", str(file), "--out", str(tmp_path / "run"), *small])
    err = capfd.readouterr().err
    assert not stop.value.code
    assert "warning" in err
    assert "'right'" in err
    assert "Neumann(0)" in err


def test_an_existing_folder_is_left_alone(capfd, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "precious.txt").write_text("keep me")
    err = refused(capfd, "solve", "poisson1d", "--out", tmp_path / "run")
    assert "exists already" in err
    assert [p.name for p in (tmp_path / "run").iterdir()] == ["precious.txt"]


@pytest.mark.parametrize(
    "command", [["plot"], ["resume"], ["export", "--to", "vtu"], ["evaluate", "--points", "p.csv"]]
)
def test_folders_that_are_no_runs(capfd, tmp_path, command):
    name, *options = command
    assert "not a folder" in refused(capfd, name, tmp_path / "absent", *options)
    assert "run.json" in refused(capfd, name, tmp_path, *options)
    (tmp_path / "run.json").write_text("{ broken")
    assert "cannot be read" in refused(capfd, name, tmp_path, *options)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "no points"),
        ("x\n1,2,3\n", "3 values"),
        ("1,a\n", "no points"),
        ("1,2\nx,y\n", "line 2"),
        ("nan,1\n", "finite"),
    ],
)
def test_bad_points(capfd, tmp_path, text, word):
    tiny = ["--set", "iterations=1", "--set", "width=4", "--set", "cells=3", "--set", "steps=12"]
    with pytest.raises(SystemExit):
        main(["solve", "wave1d-c", "--preset", "quick", "--out", str(tmp_path / "run"), *tiny])
    capfd.readouterr()
    (tmp_path / "p.csv").write_text(text)
    assert word in refused(capfd, "evaluate", tmp_path / "run", "--points", tmp_path / "p.csv")
    assert "vtk" in refused(capfd, "export", tmp_path / "run", "--to", "vtk")
