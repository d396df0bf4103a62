"""pcpinn study, as a user types it."""

import json

import pytest
from typed import run

from pcpinn.checkpoint import Checkpoint
from pcpinn.errors import PcpinnError

TINY = []
for change in ("values=3", "cells=8", "width=5", "depth=1", "points=16", "iterations=5"):
    TINY += ["--set", change]


def test_study_writes_prints_and_redraws(capfd, tmp_path):
    folder = tmp_path / "s"
    code, out, err = run(capfd, "study", "helmholtz", *TINY, "--device", "cpu", "--out", folder, "--json")
    assert code == 0
    data = json.loads(out)
    assert (data["study"], data["full"], len(data["rows"])) == ("helmholtz", False, 3)
    assert "r = " in err
    page = (folder / "study.md").read_text()
    assert "--set iterations=5" in page
    (folder / "figure.png").unlink()
    code, out, _ = run(capfd, "study", "helmholtz", "--out", folder, "--redraw")
    assert code == 0
    assert (folder / "figure.png").exists()
    assert (folder / "study.md").read_text() == page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["wafe"], "did you mean wave?"),
        (["wave", "--set", "iteration=5"], "did you mean iterations?"),
        (["wave", "--set", "iterations=few"], "give a whole number"),
        (["wave", "--set", "iterations"], "key=value"),
        (["wave", "--device", "gpu"], "auto, cpu or cuda"),
        (["wave", "poisson1d"], "leave 'poisson1d' out"),
        (["ntk", "nothing"], "there is no problem"),
        (["ntk", "burgers1d-c"], "step by step"),
        (["wave", "--redraw"], "does not exist"),
    ],
)
def test_bad_input_is_refused(capfd, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capfd, "study", *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert not list(tmp_path.iterdir())


def test_an_interrupted_sweep_is_taken_up_again(capfd, tmp_path, monkeypatch):
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    options = ["study", "helmholtz", *TINY, "--device", "cpu", "--out"]
    assert run(capfd, *options, whole)[0] == 0
    code, _, err = run(capfd, *options, whole, "--resume")
    assert (code, "holds no sweep" in err) == (2, True)
    write = Checkpoint.write

    def stopping(self, *arguments):
        write(self, *arguments)
        raise PcpinnError("stopped", "as the test wants")

    monkeypatch.setattr("pcpinn.study.unfinished._EVERY", 0.0)
    monkeypatch.setattr(Checkpoint, "write", stopping)
    assert run(capfd, *options, cut)[0] == 2
    monkeypatch.setattr(Checkpoint, "write", write)
    code, _, err = run(capfd, *options, cut)
    assert (code, "--resume" in err) == (2, True)
    assert run(capfd, *options, cut, "--resume")[0] == 0
    assert sorted(p.name for p in cut.iterdir()) == sorted(p.name for p in whole.iterdir())
    assert (cut / "rows.csv").read_text() == (whole / "rows.csv").read_text()


def test_folders_in_use_are_refused(capfd, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    code, _, err = run(capfd, "study", "wave", "--out", tmp_path)
    assert code == 2
    assert "exists already" in err


def test_damaged_folders_are_refused(capfd, tmp_path):
    (tmp_path / "result.json").write_text('{"study": "wave"}')
    code, _, err = run(capfd, "study", "wave", "--out", tmp_path, "--redraw")
    assert code == 2
    assert "is damaged" in err
