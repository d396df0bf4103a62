"""Options that all commands share: --quiet, --log, --version; and the list in columns."""

import json
import re

import pytest
from typed import run

from pcpinn import __version__
from pcpinn.cli.output import common_first

SMALL = ("--set", "cells=6", "--set", "width=4", "--set", "depth=1", "--set", "iterations=2")


def test_version(capfd):
    assert run(capfd, "--version") == (0, f"pcpinn {__version__}\n", "")


def test_quiet_says_nothing(capfd, tmp_path):
    assert run(capfd, "solve", "poisson1d", "--preset", "quick", *SMALL, "--out", tmp_path / "a", "--quiet") == (
        0,
        "",
        "",
    )
    assert (tmp_path / "a" / "report.html").exists()


def test_quiet_prints_json_and_errors(capfd, tmp_path):
    out = tmp_path / "a"
    code, text, err = run(capfd, "--quiet", "solve", "poisson1d", "--preset", "quick", *SMALL, "--out", out, "--json")
    assert (code, err) == (0, "")
    assert json.loads(text)["problem"] == "poisson1d"
    code, _, err = run(capfd, "solve", "poisson7d", "--quiet")
    assert code == 2
    assert "poisson7d" in err


def test_a_log_has_stages_table_and_errors(capfd, tmp_path):
    log = tmp_path / "new" / "run.log"
    arguments = ("solve", "poisson1d", "--preset", "quick", *SMALL, "--out", tmp_path / "a", "--quiet", "--log", log)
    assert run(capfd, *arguments)[0] == 0
    text = log.read_text()
    for words in ("mesh\n", "preconditioner\n", ": 2 iterations\n", "error L2RE", f"run  {tmp_path / 'a'}"):
        assert words in text
    assert "\x1b" not in text
    assert run(capfd, *arguments)[0] == 2  # the folder exists
    assert "exists already" in log.read_text()
    assert log.read_text().startswith(text)


def test_a_log_that_cannot_be_written(capfd, tmp_path):
    code, _, err = run(capfd, "--log", tmp_path, "list")
    assert code == 2
    assert "cannot write the log" in err


@pytest.mark.parametrize(
    ("given", "expected"),
    [("solve a --quiet", "--quiet solve a"), ("solve --log f a", "--log f solve a"), ("a --log=f", "--log=f a"),
     ("a -- --quiet", "a -- --quiet"), ("a --log", "--log a"), ("", "")],
)  # fmt: skip
def test_shared_options_may_stand_anywhere(given, expected):
    assert common_first(given.split()) == expected.split()


def test_the_list_has_columns(capfd, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = run(capfd, "list")
    assert code == 0
    rows = {line.split()[0]: line.split()[1:6] for line in out.splitlines() if line.strip()}
    assert rows["problem"] == ["dim", "time", "linear", "command", "what"]
    assert rows["poisson2d-c"][:5] == ["2", "-", "yes", "pcpinn", "solve"]
    assert rows["ns2d-lt"][:3] == ["2", "yes", "no"]
    assert rows["ks"][:3] == ["1", "yes", "no"]
    assert rows["wave2d-cg"][:3] == ["2", "yes", "yes"]
    assert rows["poisson3d-cg"][:3] == ["3", "-", "yes"]
    assert rows["heat-inv"][:5] == ["2", "yes", "yes", "pcpinn", "infer"]
    assert re.search(r"diffusion-4 .*\(a family\)", out)
