"""What callbacks are told, and what is on disk while a run works."""

import contextlib
import itertools
import os
import sys
import types

import numpy as np
import pytest

import pcpinn as pc
from pcpinn import PcpinnError
from pcpinn.progress import Listening, Progress, listening
from pcpinn.train.history import History, HistoryFile


def rod():
    return pc.Problem(
        pc.Interval(0, 1, name="ends"), flux=lambda x, u: u.grad, source=lambda x, u: -1.0,
        boundary={"ends": pc.Dirichlet(0.0)},
    )  # fmt: skip


SMALL = {"cells": 6, "width": 4, "depth": 1, "iterations": 3, "accuracy": None}


def test_callbacks_see_every_iteration():
    events = []
    exact = pc.Reference(np.array([[0.2], [0.5]]), np.array([0.08, 0.125]))
    solution = pc.solve(rod(), **SMALL, reference=exact, callbacks=events.append)
    trained = [e for e in events if e.stage.startswith("training")]
    assert [e.iteration for e in trained] == [1, 2, 3]
    assert {e.total for e in trained} == {3}
    assert [e.loss for e in trained] == list(solution.history.losses)
    assert all(e.residual == pytest.approx((2 * e.loss) ** 0.5) for e in trained)
    measured = {e.iteration: e.error for e in trained if e.error is not None}
    assert measured  # the last one may be added when training has ended
    assert measured.items() <= solution.history.errors.items()
    assert all(a.seconds <= b.seconds and a.stage_seconds <= a.seconds for a, b in itertools.pairwise(events))


@pytest.mark.parametrize("fails", [False, True])
def test_the_usual_bar_is_taken_away_in_the_end(monkeypatch, fails):
    """Also when a solve fails; one that was given stays the caller's."""
    closed = []

    class Bar(Progress):
        def close(self):
            closed.append(self)

    usual, given = Bar(), Bar()
    monkeypatch.setattr("pcpinn.terminal.usual_progress", lambda: usual)
    more = {"size": -1.0} if fails else {}
    for progress in (None, given):
        with pytest.raises(PcpinnError) if fails else contextlib.nullcontext():
            pc.solve(rod(), **SMALL, **more, progress=progress)
    assert closed == [usual]


def test_several_callbacks_and_what_they_raise():
    seen = []

    def stop(event):
        seen.append(event.iteration)
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        pc.solve(rod(), **SMALL, callbacks=[lambda e: seen.append("first"), stop])
    assert seen == ["first", 1]
    with pytest.raises(PcpinnError, match="functions of one event"):
        pc.solve(rod(), **SMALL, callbacks=[3])


def test_everything_is_passed_on():
    class Noted(Progress):
        def __getattribute__(self, name):
            return lambda *given: said.append((name, *given))

    said = []
    progress = Listening(Noted(), [])
    calls = [("stage", "a", 3), ("measured", 0.1), ("update", 1, 0.5), ("count", "b", 1, 2), ("note", "c"), ("close",)]
    for name, *given in calls:
        getattr(progress, name)(*given)
    assert said == calls
    assert {name for name in vars(Progress) if not name.startswith("_")} == {c[0] for c in calls}
    plain = Progress()
    assert listening(plain, None) is plain


def test_the_history_grows_while_a_run_works(tmp_path, monkeypatch):
    """Read by another program in the middle of the training, then replaced by all of it."""
    monkeypatch.setattr("pcpinn.train.history._EVERY", 0.0)
    out, rows = tmp_path / "run", []

    def look(event):
        path = out / "history.csv"
        rows.append(len(History.from_csv(path.read_text()).rows) if path.exists() else 0)

    solution = pc.solve(rod(), **SMALL, out=out, callbacks=look)
    assert rows == [0, 1, 2]  # the file is written after the callbacks
    assert History.from_csv((out / "history.csv").read_text()).rows == [
        (i, pytest.approx(s, abs=1e-4), loss) for i, s, loss in solution.history.rows
    ]


def test_a_second_training_begins_the_file_again(tmp_path, monkeypatch):
    monkeypatch.setattr("pcpinn.train.history._EVERY", 0.0)
    path = tmp_path / "history.csv"
    progress = listening(Progress(), HistoryFile(path))
    for iterations in (3, 2):
        progress.stage("training", iterations)
        for k in range(iterations):
            progress.update(k + 1, 0.5)
    assert [row[0] for row in History.from_csv(path.read_text()).rows] == [1, 2]


def test_a_history_that_cannot_be_written_stops_nothing(tmp_path):
    (tmp_path / "history.csv").mkdir()
    listening(Progress(), HistoryFile(tmp_path / "history.csv")).update(1, 0.5)
    listening(Progress(), HistoryFile(tmp_path / "no" / "history.csv")).update(1, 0.5)
    assert not (tmp_path / "no").exists()


def test_a_history_takes_the_place_of_pipes_and_links(tmp_path):
    """To open a pipe that nobody reads would take for ever; what a link points to is not ours."""
    elsewhere = tmp_path / "thesis.txt"
    elsewhere.write_text("mine")
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "link.csv").symlink_to(elsewhere)
    for name in ("pipe.csv", "link.csv"):
        listening(Progress(), HistoryFile(tmp_path / name)).update(1, 0.5)
        assert len(History.from_csv((tmp_path / name).read_text()).rows) == 1
    assert elsewhere.read_text() == "mine"


EVENT = pc.Event("training (adam)", 3, 3, 0.5, 1.0, None, 2.0, 1.0)


def test_tensorboard_gets_numbers_by_stage(monkeypatch):
    class SummaryWriter:
        def __init__(self, folder):
            self.folder, self.scalars, self.flushed = folder, [], 0

        def add_scalar(self, *given):
            self.scalars.append(given)

        def flush(self):
            self.flushed += 1

    module = types.ModuleType("torch.utils.tensorboard")
    module.SummaryWriter = SummaryWriter
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", module)
    board = pc.TensorBoard("runs/a")
    board(EVENT)
    writer = board._writer
    assert (writer.folder, writer.flushed) == ("runs/a", 1)
    assert writer.scalars == [("training (adam)/loss", 0.5, 3), ("training (adam)/residual", 1.0, 3)]


def test_weights_and_biases_get_numbers_by_stage(monkeypatch):
    class Run:
        def __init__(self, **options):
            self.options, self.logged, self.log = options, [], lambda numbers: self.logged.append(numbers)

    monkeypatch.setitem(sys.modules, "wandb", types.ModuleType("wandb"))
    sys.modules["wandb"].init = Run
    tracker = pc.WeightsAndBiases(project="p", mode="offline")
    tracker(EVENT)
    assert tracker.run.options == {"project": "p", "mode": "offline"}
    expected = {"training (adam)/loss": 0.5, "training (adam)/residual": 1.0, "iteration": 3, "seconds": 2.0}
    assert tracker.run.logged == [expected]


@pytest.mark.parametrize(
    ("make", "package"), [(lambda: pc.TensorBoard("a"), "tensorboard"), (pc.WeightsAndBiases, "wandb")]
)
def test_trackers_that_are_not_installed(monkeypatch, make, package):
    for name in ("torch.utils.tensorboard", "tensorboard", "wandb"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(PcpinnError, match=rf"pip install 'pcpinn\[{package}\]'"):
        make()
