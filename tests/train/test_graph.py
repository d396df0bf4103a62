"""Recording of graphs, with torch's own recorder replaced by one that runs the work."""

import contextlib
import gc
from types import SimpleNamespace

import pytest
import torch

from pcpinn.train import graph


@pytest.fixture
def recorder(monkeypatch):
    monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda: SimpleNamespace(replay="replayed"))
    monkeypatch.setattr(torch.cuda, "graph", lambda *a, **k: contextlib.nullcontext())
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: None)
    monkeypatch.setattr(torch.cuda, "set_stream", lambda stream: None)
    monkeypatch.setattr("pcpinn.train.turns.recording_stream", lambda: None)


def test_nothing_is_collected_while_recording(recorder):
    """A graph that is freed then, of a training that has ended, would end the recording."""
    seen = []
    assert graph.capture(lambda: seen.append(gc.isenabled())) == "replayed"
    assert seen == [False]
    assert gc.isenabled()


def test_collection_goes_on_after_a_failure(recorder):
    def fails():
        raise RuntimeError("talks to the host")

    with pytest.raises(RuntimeError, match="host"):
        graph.capture(fails)
    assert gc.isenabled()
