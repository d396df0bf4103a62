"""What the command line shows while it works, on a terminal and in a log file."""

import io
import re

import pytest
from rich.console import Console

from pcpinn.terminal import TerminalProgress


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
    assert shown(console) == "training (adam): 40 iterations\n"


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
        "  10/100  residual 1.00e-01, about 90 s left",
        "  20/100  residual 1.00e-02, about 80 s left",
        "  30/100  residual 1.00e-03, about 70 s left",
        "  40/100  residual 1.00e-04, about 60 s left",
    ]


def test_log_of_a_resumed_run_counts_its_own_iterations_only(clock):
    console = log()
    progress = TerminalProgress(console)
    progress.stage("training (adam)", 1000)
    for iteration in (501, 502, 503):
        clock[0] += 8.0
        progress.update(iteration, 0.5)
    assert shown(console).splitlines()[1:] == ["  502/1000  residual 1.00e+00, about 3984 s left"]


def test_log_without_a_known_rate_or_end_says_no_time(clock):
    console = log()
    progress = TerminalProgress(console)
    progress.stage("training (adam)", 10)
    clock[0] += 30.0
    progress.update(1, 0.5)  # the first: no rate yet
    assert shown(console).splitlines()[-1] == "  1/10  residual 1.00e+00"
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
    assert re.search(r"left +(-|\d)", text)
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
    assert shown(console).splitlines() == ["  drawing 10/30", "  drawing 20/30", "  drawing 30/30"]


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
