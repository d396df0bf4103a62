"""Recording of graphs, with torch's own recorder replaced by one that runs the work."""

import contextlib
import gc
import weakref
from types import SimpleNamespace

import pytest
import torch

from pcpinn.train import graph
from pcpinn.train.host_tables import HostTables


@pytest.fixture
def recorder(monkeypatch):
    replayed = []
    monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda: SimpleNamespace(replay=lambda: replayed.append(True)))
    monkeypatch.setattr(torch.cuda, "graph", lambda *a, **k: contextlib.nullcontext())
    stream = SimpleNamespace(wait_stream=lambda other: None)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: stream)
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: contextlib.nullcontext())
    monkeypatch.setattr(torch.cuda, "set_stream", lambda stream: None)
    monkeypatch.setattr("pcpinn.train.turns.recording_stream", lambda: stream)
    return replayed


def test_nothing_is_collected_while_recording(recorder):
    """A graph that is freed then, of a training that has ended, would end the recording."""
    seen = []
    replay = graph.capture(lambda: seen.append(gc.isenabled()))
    assert seen == [False]
    assert gc.isenabled()
    replay()
    assert seen == [False]
    assert recorder == [True]


def test_collection_goes_on_after_a_failure(recorder):
    def fails():
        raise RuntimeError("talks to the host")

    with pytest.raises(RuntimeError, match="host"):
        graph.capture(fails)
    assert gc.isenabled()


def test_tables_of_the_host_live_as_long_as_the_graph(recorder):
    """It reads their copies on the GPU: freed ones held other numbers by the time of the next replay."""
    table = torch.ones(3)

    class Kept(HostTables):
        def __init__(self):
            super().__init__()
            tables.append(weakref.ref(self))

    tables = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graph, "HostTables", Kept)
        replay = graph.try_capture(lambda: table.to("meta"), [])
    gc.collect()
    assert tables[0]() is not None
    del replay
    gc.collect()
    assert tables[0]() is None
