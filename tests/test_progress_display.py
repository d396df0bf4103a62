"""What the command line shows while it works, on a terminal and in a log file."""

import io
import re
import sys
import types

import pytest
from rich.console import Console

from pcpinn.clock import duration
from pcpinn.notebook import NotebookProgress
from pcpinn.progress import Progress
from pcpinn.terminal import TerminalProgress, usual_progress


def log():
    return Console(file=io.StringIO(), width=120, force_terminal=False)


def terminal():
    return Console(file=io.StringIO(), width=120, force_terminal=True, color_system=None, legacy_windows=False)


def shown(console):
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", console.file.getvalue())


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass only when told to."""
    now = [1000.0]
    monkeypatch.setattr("pcpinn.terminal.time.monotonic", lambda: now[0])
    return now


def test_log_names_stages_with_iterations(clock):
    console = log()
    progress = TerminalProgress(console)
    progress.stage("mesh")
    progress.stage("training (adam)", 40)
    progress.close()
    assert shown(console) == "mesh\ntraining (adam): 40 iterations\n"


def test_log_has_a_line_every_ten_seconds_with_the_time_left(clock):
    console = log()
    progress = TerminalProgress(console)
    progress.stage("training (gauss-newton)", 100)
    for iteration in range(1, 41):
        clock[0] += 1.0
        progress.update(iteration, 0.5 * 10.0 ** (-iteration / 5))
    progress.close()
    lines = shown(console).splitlines()
    assert lines == [
        "training (gauss-newton): 100 iterations",
        "  10/100  residual 1.00e-01, 10 s elapsed, about 90 s left",
        "  20/100  residual 1.00e-02, 20 s elapsed, about 80 s left",
        "  30/100  residual 1.00e-03, 30 s elapsed, about 70 s left",
        "  40/100  residual 1.00e-04, 40 s elapsed, about 60 s left",
    ]


def test_log_of_a_resumed_run_counts_its_own_iterations_only(clock):
    console = log()
    progress = TerminalProgress(console)
    progress.stage("training (adam)", 1000)
    for iteration in (501, 502, 503):
        clock[0] += 8.0
        progress.update(iteration, 0.5)
    assert shown(console).splitlines()[1:] == ["  502/1000  residual 1.00e+00, 16 s elapsed, about 1 h 6 min left"]


def test_log_without_a_known_rate_or_end_says_no_time(clock):
    console = log()
    progress = TerminalProgress(console)
    progress.stage("training (adam)", 10)
    clock[0] += 30.0
    progress.update(1, 0.5)  # the first: no rate yet
    assert shown(console).splitlines()[-1] == "  1/10  residual 1.00e+00, 30 s elapsed"
    progress.stage("training (adam)")
    clock[0] += 30.0
    progress.update(1, 0.5)
    clock[0] += 30.0
    progress.update(2, 0.5)
    assert "left" not in shown(console)


def test_notes_in_a_log():
    console = log()
    TerminalProgress(console).note("optimiser: adam (asked for)")
    assert shown(console) == "optimiser: adam (asked for)\n"


def test_terminal_shows_stage_iterations_residual_and_time_left():
    console = terminal()
    progress = TerminalProgress(console)
    try:
        progress.stage("mesh")
        progress.stage("training (adam)", 40)
        progress.update(10, 0.5e-4)
        progress._bar.refresh()
        progress.note("the loss became nan")
    finally:
        progress.close()
    text = shown(console)
    assert "training (adam)" in text
    assert "10/40" in text
    assert "residual 1.00e-02" in text
    assert re.search(r"elapsed +\d:\d\d:\d\d +left +(-|\d)", text)
    assert "the loss became nan\n" in text


def test_terminal_shows_one_stage_at_a_time():
    console = terminal()
    progress = TerminalProgress(console)
    try:
        for name in ("mesh", "assembly", "preconditioner"):
            progress.stage(name)
            assert [task.description for task in progress._bar.tasks] == [name]
    finally:
        progress.close()
    assert not progress._bar.live.is_started


@pytest.mark.parametrize("make", [log, terminal])
def test_words_in_brackets_are_shown_as_they_are(make):
    """Names of settings or paths must not be taken for colours."""
    console = make()
    progress = TerminalProgress(console)
    try:
        progress.note("drop_tolerance [bold]=1e-4 in runs/[1]")
    finally:
        progress.close()
    assert "[bold]=1e-4 in runs/[1]" in shown(console)


@pytest.mark.parametrize("make", [log, terminal])
def test_closing_twice_or_before_anything_happened_is_harmless(make):
    progress = TerminalProgress(make())
    progress.close()
    progress.close()


def test_log_of_counted_work_has_a_line_every_ten_seconds(clock):
    console = log()
    progress = TerminalProgress(console)
    for k in range(1, 31):
        clock[0] += 1.0
        progress.count("drawing", k, 30)
    progress.close()
    assert shown(console).splitlines() == [
        "  drawing 10/30, 9 s elapsed, about 20 s left",
        "  drawing 20/30, 19 s elapsed, about 10 s left",
        "  drawing 30/30, 29 s elapsed, about 0 s left",
    ]


def test_terminal_counts_one_work_after_another():
    console = terminal()
    progress = TerminalProgress(console)
    for name in ("evaluating", "drawing"):
        for k in (1, 2):
            progress.count(name, k, 2)
            progress._bar.refresh()
            assert f"{name}" in shown(console)
            assert f"{k}/2" in shown(console)
    assert [task.description for task in progress._bar.tasks] == ["drawing"]
    progress.close()


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "0 s"), (99.4, "99 s"), (200, "3 min 20 s"), (3599, "59 min 59 s"), (7500, "2 h 5 min")],
)
def test_times_in_words(seconds, words):
    assert duration(seconds) == words


class Display:
    """What a notebook shows, as IPython's display does it."""

    def __init__(self):
        self.lines = []

    def __call__(self, page, display_id=False):
        self.lines.append(page._repr_html_())
        return self if display_id else None

    def update(self, page):
        self.lines[0] = page._repr_html_()


def test_a_notebook_has_one_bar_and_notes(clock):
    display = Display()
    progress = NotebookProgress(display)
    progress.stage("training (adam)", 40)
    for k in (1, 11):
        clock[0] += 10.0
        progress.update(k, 0.5e-4)
    (bar,) = display.lines
    assert '<progress value="11" max="40">' in bar
    assert "11/40, residual 1.00e-02, 20 s elapsed, about 29 s left" in bar
    progress.note("<b>&</b>")
    assert display.lines[1:] == ["<div>&lt;b&gt;&amp;&lt;/b&gt;</div>"]
    for k in (1, 2, 3):
        clock[0] += 1.0
        progress.count("drawing", k, 4)
    assert "drawing" in display.lines[0]
    assert "about 1 s left" in display.lines[0]
    progress.close()
    assert display.lines[0] == ""


def test_notebooks_are_noticed(monkeypatch):
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert type(usual_progress()) is Progress
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    shown_by = types.ModuleType("IPython.display")
    shown_by.display = Display()
    package = types.ModuleType("IPython")
    package.display = shown_by
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", shown_by)
    progress = usual_progress()
    progress.stage("mesh")
    assert shown_by.display.lines == ["<div>mesh 0 s elapsed</div>"]
