"""report.html of a run: the line in it makes the run again."""

import html
import json
import re
import shlex

import browser
import pytest
from typed import run

from pcpinn.catalog.begun import as_typed
from pcpinn.catalog.published import paper_result
from pcpinn.solution.report import command_of

SOLVE = ["solve", "poisson1d", "--preset", "quick", "--seed", 3, "--set", "P=2", "--set", "cells=6", "--set", "width=5",
         "--set", "iterations=4", "--set", "device=cpu", "--set", "certify=false"]  # fmt: skip
INFER = ["infer", "poisson-inv", "--preset", "quick", "--set", "points=100", "--set", "cells=3,3", "--set", "degree=2",
         "--set", "iterations=3", "--device", "cpu"]  # fmt: skip


def line(folder):
    """The command of the page, in words."""
    (found,) = re.findall(r"How to make it again</h2><pre>(.*?)</pre>", (folder / "report.html").read_text())
    return shlex.split(html.unescape(found))


@pytest.mark.parametrize(
    "command",
    [SOLVE, [*SOLVE, "--method", "fem-fit"], INFER, [*INFER, "--method", "adjoint"]],
    ids=["solve", "fem-fit", "infer", "adjoint"],
)
def test_the_line_makes_the_same_run(capfd, tmp_path, command):
    assert run(capfd, *command, "--out", tmp_path / "one")[0] == 0
    program, *words = line(tmp_path / "one")
    assert program == "pcpinn"
    assert run(capfd, *words, "--out", tmp_path / "two")[0] == 0
    one, two = (json.loads((tmp_path / name / "result.json").read_text()) for name in ("one", "two"))
    for key in ("errors", "iterations", "parameters", "dofs", "seed", "method", "problem_parameters"):
        assert one[key] == two[key], key
    settings = [json.loads((tmp_path / name / "run.json").read_text())["settings"] for name in ("one", "two")]
    assert settings[0] == settings[1]


def test_what_a_resumed_run_changed_is_in_the_line_too(capfd, tmp_path):
    assert run(capfd, *SOLVE, "--out", tmp_path / "r")[0] == 0
    assert run(capfd, "resume", tmp_path / "r", "--set", "iterations=7")[0] == 0
    words = line(tmp_path / "r")
    assert "iterations=7" in words
    assert "iterations=4" not in words
    assert {"P=2", "cells=6", "width=5"} <= set(words)


def test_prepared_problems_remember_what_they_were_made_with(capfd, tmp_path):
    file = tmp_path / "p.pcpinn"
    assert run(capfd, "prepare", "poisson1d", "--preset", "quick", "--set", "cells=6", "--out", file)[0] == 0
    options = ["--set", "iterations=3", "--set", "certify=false", "--device", "cpu"]
    assert run(capfd, "solve", file, *options, "--out", tmp_path / "r")[0] == 0
    assert {"cells=6", "iterations=3", "certify=false", "device=cpu"} <= set(line(tmp_path / "r"))


def test_the_page_begins_with_the_verdict(capfd, tmp_path):
    assert run(capfd, *SOLVE, "--out", tmp_path / "r")[0] == 0
    page = (tmp_path / "r" / "report.html").read_text()
    places = [
        page.index(words) for words in ('class="verdict', 'class="tiles"', "<dt>equation</dt>", "<img", "<h2>Errors")
    ]
    assert places == sorted(places)
    assert "of which" not in page
    assert '<th scope="col">paper' not in page  # the paper has no figure for it


def test_the_papers_figure_has_a_column(capfd, tmp_path):
    command = ["solve", "poisson2d-c", "--preset", "quick", "--set", "size=0.3", "--set", "degree=1", "--set", "width=4",
               "--set", "iterations=2", "--set", "certify=false"]  # fmt: skip
    assert run(capfd, *command, "--out", tmp_path / "r")[0] == 0
    page = (tmp_path / "r" / "report.html").read_text()
    assert '<th scope="col">paper' in page
    (paper,) = re.findall(r'<td class="paper">(\d[^<]*)</td>', page)
    assert float(paper) == paper_result("poisson2d-c").mean


def test_the_page_of_an_inference_has_what_was_found(capfd, tmp_path):
    assert run(capfd, *INFER, "--out", tmp_path / "r")[0] == 0
    page = (tmp_path / "r" / "report.html").read_text()
    found = page.split("<h2>What was found")[1].split("<h2>")[0]
    result = json.loads((tmp_path / "r" / "result.json").read_text())
    assert f"error {result['errors']['field']['a']['l2re']:.1e}" in found
    assert ("yes" if result["inverse"]["converged"] else "NO") in found
    assert f"{result['inverse']['misfit'][0]:.3f}" in found
    assert line(tmp_path / "r")[:2] == ["pcpinn", "infer"]


@pytest.mark.skipif(browser.find() is None, reason="there is no Chromium on this machine: apt install chromium")
def test_nothing_is_cut_off_in_a_browser(capfd, tmp_path):
    assert run(capfd, *SOLVE, "--out", tmp_path / "r")[0] == 0
    chromium = browser.Browser(browser.find(), tmp_path / "profile")
    try:
        for width, dark in ((1280, False), (390, True)):
            chromium.open(tmp_path / "r" / "report.html", width, dark=dark)
            assert chromium.evaluate("document.documentElement.scrollWidth") <= width
            tall = "[...document.querySelectorAll('.tile b')].some(e => e.scrollWidth > e.parentElement.clientWidth)"
            assert chromium.evaluate(tall) is False
            assert not chromium.complaints
            assert all(address.startswith(("file:", "data:")) for address in chromium.requests)
    finally:
        chromium.close()


def test_a_run_to_an_accuracy_is_asked_for_by_its_accuracy():
    result = {"source": {"name": "a.py"}, "preset": "accuracy", "method": "pcpinn", "seed": 2}
    shared = {**result, "verdict": {"asked": 0.01}}
    assert command_of({**shared, "set": {"accuracy": "0.001"}}) == "pcpinn solve a.py --accuracy 0.001 --seed 2"
    assert command_of({**shared, "set": {}}) == "pcpinn solve a.py --accuracy 0.01 --seed 2"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ((4, 5), "4x5"),
        (((-2.0, 2.0), (0.0,)), "-2,2;0"),
        ([[-2.0, 2.0], [0.0]], "-2,2;0"),
        (True, "true"),
        (None, "none"),
        (1e-3, "0.001"),
        (0.1234567890123, "0.1234567890123"),
        ("x", "x"),
    ],
)
def test_values_as_one_types_them(value, text):
    """In full: the line makes the very same run."""
    assert as_typed({"key": value}) == {"key": text}
