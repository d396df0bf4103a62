"""Ctrl-C and SIGTERM: a checkpoint at once, a line that says how to go on, exit codes 130 and 143."""

import json
import signal

import numpy as np
import pytest
from typed import run

import pcpinn as pc
from pcpinn.terminal import TerminalProgress

PROBLEM = """
import pcpinn as pc
problem = pc.Problem(
    pc.Interval(0, 1), flux=lambda x, u: u.grad, source=lambda x, u: -1.0,
    boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)},
)
settings = {"cells": (8,), "width": 6, "depth": 1, "iterations": 60, "optimiser": "adam", "patience": 0}
"""
MARCH = """
import pcpinn as pc
problem = pc.Problem(
    pc.Interval(0, 1).over(0, 1), density=lambda x, u: u.value, flux=lambda x, u: u.grad,
    boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0), "initial": pc.Initial(lambda x: x[0] * (1 - x[0]))},
)
settings = {"time": "march", "cells": (8,), "steps": 8, "width": 6, "depth": 1, "iterations": 5}
"""
SIGNALS = pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "told to end")]
)
X = np.linspace(0, 1, 9)[:, None]


@pytest.fixture(autouse=True)
def ctrl_c():
    """As in a terminal, though tests that run in the background may ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def sent(monkeypatch):
    """Lets a signal come once, at one of some moments: iteration and number of iterations of the stage."""

    def at(moments, number):
        update, waiting = TerminalProgress.update, [number]

        def updated(self, now, loss):
            update(self, now, loss)
            if (now, self._total) in moments and waiting:
                signal.raise_signal(waiting.pop())

        monkeypatch.setattr(TerminalProgress, "update", updated)

    return at


@SIGNALS
@pytest.mark.parametrize(("text", "x"), [(PROBLEM, X), (MARCH, np.hstack([X, 0.9 + 0 * X]))], ids=["whole", "march"])
def test_what_is_done_is_kept_and_goes_on_exactly(tmp_path, monkeypatch, capfd, sent, number, code, word, text, x):
    """Though checkpoints are written every ten seconds only."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(text)
    sent([(5, 60), (5, 8)], number)
    found, _, error = run(capfd, "solve", "own.py", "--preset", "default", "--out", "run")
    assert found == code
    assert f"{word}; it goes on with: pcpinn resume run --problem own.py" in error
    assert (tmp_path / "run" / "checkpoint.safetensors").exists()
    seen = []
    update = TerminalProgress.update
    monkeypatch.setattr(TerminalProgress, "update", lambda self, now, loss: (seen.append(now), update(self, now, loss)))
    assert run(capfd, "resume", "run", "--problem", "own.py")[0] == 0
    if text == PROBLEM:
        assert seen[0] == 6
    assert run(capfd, "solve", "own.py", "--preset", "default", "--out", "whole")[0] == 0
    np.testing.assert_array_equal(pc.load("run")(x), pc.load("whole")(x))
    kept, whole = (json.loads((tmp_path / f / "result.json").read_text()) for f in ("run", "whole"))
    assert (kept["iterations"], kept["loss"]) == (whole["iterations"], whole["loss"])


@SIGNALS
def test_other_commands_say_so_too(monkeypatch, capfd, number, code, word):
    monkeypatch.setattr("pcpinn.cli.doctor.diagnose", lambda *_, **__: signal.raise_signal(number))
    found, _, error = run(capfd, "doctor", "poisson1d")
    assert (found, error.strip()) == (code, word)
