"""plot --animate and export --to pvd, as a user types them."""

from xml.etree import ElementTree

import meshio
import numpy as np
import pytest
from PIL import Image
from typed import run

import pcpinn as pc

TINY = {"cells": (4,), "iterations": 2, "width": 6, "depth": 1, "certify": False, "device": "cpu"}


def solved(folder, domain, **settings):
    """The heat equation from zero, or at rest."""
    sides = {"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(1.0)}
    if domain.dimension == 1:
        problem = pc.Problem(domain, flux=lambda x, u: u.grad, boundary=sides)
    else:
        problem = pc.Problem(
            domain,
            density=lambda x, u: u.value,
            flux=lambda x, u: u.grad,
            boundary={**sides, "initial": pc.Initial(lambda x: x[0] ** 3)},
        )
    pc.solve(problem, **TINY, **settings, out=folder)
    return folder


@pytest.fixture(scope="module")
def heat(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "heat"
    return solved(folder, pc.Interval(0, 1).over(0, 1), time="slabs", scheme="radau", steps=8)


@pytest.fixture(scope="module")
def still(tmp_path_factory):
    return solved(tmp_path_factory.mktemp("runs") / "still", pc.Interval(0, 1))


def refused(capfd, *arguments):
    """Standard error of a call that must end with code 2."""
    code, out, err = run(capfd, *arguments)
    assert (code, out) == (2, "")
    assert "->" in err
    return err


def test_a_film_of_a_run(capfd, heat, tmp_path):
    code, out, _ = run(capfd, "plot", heat, "--animate", "--frames", 5, "--fps", 4, "--field", "u")
    assert (code, out.strip()) == (0, str(heat / "solution.gif"))
    with Image.open(heat / "solution.gif") as image:
        assert (image.n_frames, image.info["duration"]) == (5, 250)
    code, out, _ = run(capfd, "plot", heat, "--animate", "--format", "gif", "--frames", 2, "--out", tmp_path / "u.gif")
    assert (code, out.strip()) == (0, str(tmp_path / "u.gif"))
    assert (tmp_path / "u.gif").read_bytes().startswith(b"GIF89a")


def test_sixty_frames_by_default(capfd, heat, tmp_path):
    assert run(capfd, "plot", heat, "--animate", "--out", tmp_path / "u.gif")[0] == 0
    with Image.open(tmp_path / "u.gif") as image:
        assert image.n_frames == 60


def test_a_series_of_a_run(capfd, heat, tmp_path):
    code, out, _ = run(capfd, "export", heat, "--to", "pvd")
    assert (code, out.strip()) == (0, str(heat / "solution.pvd"))
    entries = ElementTree.parse(heat / "solution.pvd").findall(".//DataSet")
    assert len(entries) == 9
    solution = pc.load(heat)
    for entry in entries[::4]:
        stored = meshio.read(heat / entry.get("file"))
        x = np.column_stack([stored.points[:, 0], np.full(len(stored.points), float(entry.get("timestep")))])
        np.testing.assert_allclose(stored.point_data["u"], solution(x), rtol=1e-12)
    assert run(capfd, "export", heat, "--to", "pvd", "--frames", 3, "--out", tmp_path / "u.pvd")[0] == 0
    assert len(list((tmp_path / "u_vtu").iterdir())) == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["plot", "--animate", "--frames", 0], ["frames is 0", "whole number"]),
        (["plot", "--animate", "--frames", -3], ["frames is -3"]),
        (["plot", "--animate", "--fps", 0], ["fps is 0"]),
        (["plot", "--animate", "--field", "w"], ["no field 'w'", "choose one of u"]),
        (["plot", "--animate", "--format", "avi"], ["'avi'", "gif"]),
        (["plot", "--animate", "--format", "mp4", "--out", "u.gif"], ["contradict", ".mp4"]),
        (["plot", "--animate", "--out", "u.png"], ["u.png", ".gif"]),
        (["plot", "--out", "u.gif"], ["u.gif", "--animate"]),
        (["plot", "--frames", 5], ["--frames", "--animate"]),
        (["plot", "--format", "gif"], ["--format", "--animate"]),
        (["export", "--to", "pvd", "--frames", 0], ["frames is 0"]),
        (["export", "--to", "vtu", "--frames", 5], ["--frames 5", "--to pvd"]),
        (["export", "--to", "gif"], ["'gif'", "pvd"]),
    ],
)
def test_wrong_words(capfd, heat, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    before = sorted(p.name for p in heat.iterdir())
    err = refused(capfd, arguments[0], heat, *arguments[1:])
    for word in words:
        assert word in err
    assert not list(tmp_path.iterdir())
    assert sorted(p.name for p in heat.iterdir()) == before


def test_what_stands_still_cannot_be_filmed(capfd, still):
    before = sorted(p.name for p in still.iterdir())
    assert "does not depend on time" in refused(capfd, "plot", still, "--animate")
    assert "--to vtu" in refused(capfd, "export", still, "--to", "pvd")
    assert sorted(p.name for p in still.iterdir()) == before


def test_places_that_cannot_be_written(capfd, heat, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")
    assert "cannot write" in refused(capfd, "plot", heat, "--animate", "--out", tmp_path / "file" / "u.gif")
    assert "cannot write" in refused(capfd, "export", heat, "--to", "pvd", "--out", tmp_path / "file" / "u.pvd")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "needs ffmpeg" in refused(capfd, "plot", heat, "--animate", "--format", "mp4")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert not (heat / "solution.mp4").exists()


@pytest.mark.parametrize("command", [["plot", "--animate"], ["export", "--to", "pvd"]])
def test_folders_that_are_no_runs(capfd, tmp_path, command):
    name, *options = command
    assert "not a folder" in refused(capfd, name, tmp_path / "absent", *options)
    (tmp_path / "run.json").write_text("{ broken")
    assert "cannot be read" in refused(capfd, name, tmp_path, *options)
