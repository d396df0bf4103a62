"""plot --animate and export --to pvd, as a user types them."""

from xml.etree import ElementTree

import meshio
import numpy as np
import pytest
from PIL import Image
from typed import run

import pcpinn as pc
from pcpinn.cli import main

TINY = ["--preset", "quick", "--set", "iterations=2", "--set", "width=6", "--set", "depth=1", "--set", "certify=false"]


def solved(folder, name, *options):
    with pytest.raises(SystemExit) as stop:
        main(["solve", name, "--out", str(folder), *TINY, *options])
    assert not stop.value.code
    return folder


@pytest.fixture(scope="module")
def wave(tmp_path_factory):
    return solved(tmp_path_factory.mktemp("runs") / "wave", "wave1d-c", "--set", "cells=4", "--set", "time_cells=16")


@pytest.fixture(scope="module")
def still(tmp_path_factory):
    return solved(tmp_path_factory.mktemp("runs") / "still", "poisson1d", "--set", "cells=5")


def refused(capfd, *arguments):
    """Standard error of a call that must end with code 2."""
    code, out, err = run(capfd, *arguments)
    assert (code, out) == (2, "")
    assert "->" in err
    return err


def test_a_film_of_a_run(capfd, wave, tmp_path):
    code, out, _ = run(capfd, "plot", wave, "--animate", "--frames", 5, "--fps", 4, "--field", "u")
    assert (code, out.strip()) == (0, str(wave / "solution.gif"))
    with Image.open(wave / "solution.gif") as image:
        assert (image.n_frames, image.info["duration"]) == (5, 250)
    code, out, _ = run(capfd, "plot", wave, "--animate", "--format", "gif", "--frames", 2, "--out", tmp_path / "u.gif")
    assert (code, out.strip()) == (0, str(tmp_path / "u.gif"))
    assert (tmp_path / "u.gif").read_bytes().startswith(b"GIF89a")


def test_sixty_frames_by_default(capfd, wave, tmp_path):
    assert run(capfd, "plot", wave, "--animate", "--out", tmp_path / "u.gif")[0] == 0
    with Image.open(tmp_path / "u.gif") as image:
        assert image.n_frames == 60


def test_a_series_of_a_run(capfd, wave, tmp_path):
    code, out, _ = run(capfd, "export", wave, "--to", "pvd")
    assert (code, out.strip()) == (0, str(wave / "solution.pvd"))
    entries = ElementTree.parse(wave / "solution.pvd").findall(".//DataSet")
    assert len(entries) == 17
    solution = pc.load(wave)
    for entry in entries[::8]:
        stored = meshio.read(wave / entry.get("file"))
        x = np.column_stack([stored.points[:, 0], np.full(len(stored.points), float(entry.get("timestep")))])
        np.testing.assert_allclose(stored.point_data["u"], solution(x), rtol=1e-12)
    assert run(capfd, "export", wave, "--to", "pvd", "--frames", 3, "--out", tmp_path / "u.pvd")[0] == 0
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
def test_wrong_words(capfd, wave, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    before = sorted(p.name for p in wave.iterdir())
    err = refused(capfd, arguments[0], wave, *arguments[1:])
    for word in words:
        assert word in err
    assert not list(tmp_path.iterdir())
    assert sorted(p.name for p in wave.iterdir()) == before


def test_what_stands_still_cannot_be_filmed(capfd, still):
    before = sorted(p.name for p in still.iterdir())
    assert "does not depend on time" in refused(capfd, "plot", still, "--animate")
    assert "--to vtu" in refused(capfd, "export", still, "--to", "pvd")
    assert sorted(p.name for p in still.iterdir()) == before


def test_places_that_cannot_be_written(capfd, wave, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")
    assert "cannot write" in refused(capfd, "plot", wave, "--animate", "--out", tmp_path / "file" / "u.gif")
    assert "cannot write" in refused(capfd, "export", wave, "--to", "pvd", "--out", tmp_path / "file" / "u.pvd")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "needs ffmpeg" in refused(capfd, "plot", wave, "--animate", "--format", "mp4")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert not (wave / "solution.mp4").exists()


@pytest.mark.parametrize("command", [["plot", "--animate"], ["export", "--to", "pvd"]])
def test_folders_that_are_no_runs(capfd, tmp_path, command):
    name, *options = command
    assert "not a folder" in refused(capfd, name, tmp_path / "absent", *options)
    (tmp_path / "run.json").write_text("{ broken")
    assert "cannot be read" in refused(capfd, name, tmp_path, *options)
