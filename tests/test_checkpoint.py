"""The file that all unfinished work is kept in."""

import threading

import numpy as np
import pytest
import torch

from pcpinn.checkpoint import KINDS, Checkpoint, Interrupted
from pcpinn.clock import Clock
from pcpinn.errors import PcpinnError
from pcpinn.files import write_tensors


def written(path, kind="training", key=None):
    checkpoint = Checkpoint(path / "c.safetensors", kind, key=key)
    checkpoint.write({"a": np.arange(6.0).reshape(2, 3), "b": torch.ones(4)}, {"n": 3, "names": ["x"]})
    return checkpoint


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_is_read(tmp_path, kind):
    found = written(tmp_path, kind).read({"a": (2, 3), "b": (None,)})
    np.testing.assert_array_equal(found.tensors["a"], np.arange(6.0).reshape(2, 3))
    assert found.tensors["b"].dtype == np.float32
    assert found.facts == {"n": 3, "names": ["x"]}


def test_there_is_none_or_it_is_removed(tmp_path):
    checkpoint = Checkpoint(tmp_path / "c.safetensors", "march")
    assert not checkpoint.exists()
    with pytest.raises(PcpinnError, match="does not exist"):
        checkpoint.read({})
    written(tmp_path, "march")
    assert checkpoint.exists()
    for _ in range(2):
        checkpoint.remove()
        assert not checkpoint.exists()


@pytest.mark.parametrize("shapes", [{"c": (1,)}, {"a": (6,)}, {"a": (2, 4)}, {"b": (None, None)}])
def test_tensors_that_do_not_fit(tmp_path, shapes):
    with pytest.raises(PcpinnError, match=f"damaged: {next(iter(shapes))}"):
        written(tmp_path).read(shapes)


def test_another_kind_of_work(tmp_path):
    written(tmp_path, "march")
    with pytest.raises(PcpinnError, match="of a march, not of a training"):
        Checkpoint(tmp_path / "c.safetensors", "training").read({})


def test_another_work_of_the_same_kind(tmp_path):
    written(tmp_path, "sweep", {"seed": 1, "values": (1, 2)})
    Checkpoint(tmp_path / "c.safetensors", "sweep", key={"values": [1, 2], "seed": 1}).read({})
    with pytest.raises(PcpinnError, match="begun with other"):
        Checkpoint(tmp_path / "c.safetensors", "sweep", key={"values": [1, 2], "seed": 2}).read({})


@pytest.mark.parametrize("metadata", [{}, {"checkpoint": "tea", "facts": {}}, {"checkpoint": "training"}])
def test_files_that_are_no_checkpoints(tmp_path, metadata):
    write_tensors(tmp_path / "c.safetensors", {"a": np.zeros(3)}, metadata)
    with pytest.raises(PcpinnError, match="is not a checkpoint"):
        Checkpoint(tmp_path / "c.safetensors", "training").read({})


def test_a_damaged_file(tmp_path):
    checkpoint = written(tmp_path)
    checkpoint.path.write_bytes(checkpoint.path.read_bytes()[:-3])
    with pytest.raises(PcpinnError, match="cannot be read"):
        checkpoint.read({})


def test_a_clock_counts_what_was_before(monkeypatch):
    now = [10.0]
    monkeypatch.setattr("pcpinn.clock.time.perf_counter", lambda: now[0])
    clock = Clock()
    now[0] = 13.0
    clock.add(5.0)
    assert clock.seconds == 8.0
    assert clock.times(1.0, 6.00049) == {"setup_s": 1.0, "train_s": 6.0, "total_s": 8.0}


def test_a_process_that_is_asked_to_stop_writes_and_leaves(tmp_path, monkeypatch):
    monkeypatch.setattr(Checkpoint, "_stopping", threading.Event())
    kept = Checkpoint(tmp_path / "c", "training", interval=1000.0)
    assert not kept.due()
    Checkpoint.stop_at_next()
    assert kept.due()
    with pytest.raises(Interrupted):
        kept.write({"a": np.arange(3)}, {"iteration": 2})
    assert kept.read({"a": (3,)}).facts == {"iteration": 2}  # it is there nevertheless
