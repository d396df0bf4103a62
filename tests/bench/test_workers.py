import json
import os
import queue
import signal
import sys
import threading
from types import SimpleNamespace

import pytest
import tiny

from pcpinn import PcpinnError
from pcpinn.bench import BenchFolder, Watch, worker
from pcpinn.bench.workers import Team
from pcpinn.checkpoint import FILE, Checkpoint
from pcpinn.files import read_tensors


def test_two_cells_of_one_process_end_with_checkpoints_and_go_on_as_if_alone(tmp_path, monkeypatch):
    """The process is this one: another would import torch first, which is most of the time that it takes."""
    changes = {"iterations": "600", "optimiser": "adam", "checkpoint_every": "1000"}
    wanted = tiny.plan(changes=changes)
    bench = BenchFolder(tmp_path / "b")
    with bench.locked():
        bench.add(wanted)
    heard, told = os.pipe()
    ended = queue.SimpleQueue()

    def orders():
        for planned in wanted.cells:
            yield json.dumps({"folder": str(bench.path), "cell": planned.to_dict(), "device": "cpu"})
        with os.fdopen(heard) as news:
            training = set()
            while len(training) < 2:  # both at once: none has ended before
                said = json.loads(news.readline())
                assert "row" not in said
                training |= {said["key"]} if "iteration" in said else set()
            os.kill(os.getpid(), signal.SIGTERM)
            assert ended.get(timeout=20) == 128 + signal.SIGTERM

    monkeypatch.setattr(os, "dup", lambda _: told)
    monkeypatch.setattr(os, "dup2", lambda *_: None)
    monkeypatch.setattr(os, "_exit", ended.put)
    monkeypatch.setattr(sys, "argv", ["worker", "2"])
    monkeypatch.setattr(sys, "stdin", orders())
    monkeypatch.setattr(Checkpoint, "_stopping", threading.Event())
    before = signal.getsignal(signal.SIGTERM)
    try:
        worker.main()
    finally:
        signal.signal(signal.SIGTERM, before)
    monkeypatch.undo()
    kept = [read_tensors(bench.run_folder(p.cell) / FILE)[1]["facts"]["iteration"] for p in wanted.cells]
    assert all(0 < iteration < 600 for iteration in kept)
    assert tiny.errors(tiny.run(bench.path, wanted)) == tiny.errors(tiny.run(tmp_path / "alone", wanted))


def test_more_cells_than_there_are_streams_for_are_refused(tmp_path):
    with pytest.raises(PcpinnError, match="--together 13"):
        tiny.run(tmp_path / "b", together=13)


def test_a_worker_that_another_thread_has_found_dead_is_given_back(tmp_path):
    team = Team(BenchFolder(tmp_path), "cpu", Watch(), lock=0, jobs=2)
    closed = []
    team._give_back(SimpleNamespace(load=1, close=lambda: closed.append(True)))
    assert closed == [True]
