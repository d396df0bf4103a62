"""Writing so that the old file survives; reading what may be broken."""

import errno
import json
import os
import stat

import numpy as np
import pytest

from pcpinn.errors import PcpinnError
from pcpinn.files import read_json, read_tensors, write_atomically, write_json, write_tensors


@pytest.mark.parametrize("data", [b"\x00\xff", "text with ü", b"", ""])
def test_writes_what_it_is_given(tmp_path, data):
    path = tmp_path / "file"
    write_atomically(path, data)
    assert path.read_bytes() == (data.encode() if isinstance(data, str) else data)
    assert [f.name for f in tmp_path.iterdir()] == ["file"]


def test_replaces_the_old_file_in_one_move(tmp_path, monkeypatch):
    """The target holds the old data until the new is complete on disk."""
    path = tmp_path / "file"
    path.write_text("old")
    seen = []
    replace, fsync = os.replace, os.fsync

    def spy_fsync(fd):
        seen.append(("fsync", path.read_text()))
        fsync(fd)

    def spy_replace(a, b):
        seen.append(("replace", path.read_text()))
        assert a.read_text() == "new"
        assert a.parent == tmp_path
        replace(a, b)

    monkeypatch.setattr(os, "fsync", spy_fsync)
    monkeypatch.setattr(os, "replace", spy_replace)
    write_atomically(path, "new")
    assert seen == [("fsync", "old"), ("replace", "old")]
    assert path.read_text() == "new"


@pytest.mark.parametrize("failing", ["fsync", "replace"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EACCES])
def test_a_failure_keeps_the_old_file_and_no_rubbish(tmp_path, monkeypatch, failing, code):
    path = tmp_path / "file"
    path.write_text("old")

    def fail(*args):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, failing, fail)
    with pytest.raises(PcpinnError, match=os.strerror(code)) as caught:
        write_atomically(path, "new")
    assert str(path) in str(caught.value)
    assert caught.value.remedy
    assert path.read_text() == "old"
    assert [f.name for f in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("target", ["missing/file", "file/below", "folder"])
def test_impossible_targets(tmp_path, target):
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(PcpinnError, match="cannot write"):
        write_atomically(tmp_path / target, "new")
    assert {f.name for f in tmp_path.iterdir()} == {"file", "folder"}


def test_an_interrupt_leaves_no_rubbish(tmp_path, monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "file", "new")
    assert list(tmp_path.iterdir()) == []


def test_files_get_the_usual_permissions(tmp_path):
    (tmp_path / "usual").write_text("x")
    write_atomically(tmp_path / "file", "x")
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == stat.S_IMODE((tmp_path / "usual").stat().st_mode)


def test_tensors_round_trip(tmp_path):
    tensors = {
        "a": np.arange(6.0).reshape(2, 3),
        "turned": np.arange(6.0).reshape(2, 3).T,
        "single": np.float32([1.5]),
        "whole": np.array([[2**62, -1]]),
        "bytes": np.arange(5, dtype=np.uint8),
        "empty": np.zeros((0, 3)),
    }
    write_tensors(tmp_path / "t", tensors, {"name": "ü", "list": [1, 2.5, None]})
    back, metadata = read_tensors(tmp_path / "t")
    assert metadata == {"name": "ü", "list": [1, 2.5, None]}
    assert back.keys() == tensors.keys()
    for key, value in tensors.items():
        np.testing.assert_array_equal(back[key], value)
        assert back[key].dtype == value.dtype


def test_json_round_trip(tmp_path):
    data = {"a": [1, 2.5, None, True], "b": {"c": "ü"}}
    write_json(tmp_path / "j", data)
    assert read_json(tmp_path / "j") == data
    assert (tmp_path / "j").read_text().endswith("}\n")


def test_numbers_that_are_not_finite_are_null_with_their_place(tmp_path):
    data = {"x": float("nan"), "a": {"b": [1.0, float("-inf")]}, "c": (2, "nan"), "d": np.float64("inf")}
    write_json(tmp_path / "j", data)
    back = read_json(tmp_path / "j")
    lost = back.pop("not_finite")
    assert back == {"x": None, "a": {"b": [1.0, None]}, "c": [2, "nan"], "d": None}
    assert lost == {"x": "nan", "a.b[1]": "-inf", "d": "inf"}
    write_json(tmp_path / "j", {"x": 1.0})
    assert read_json(tmp_path / "j") == {"x": 1.0}


@pytest.mark.parametrize("read", [read_json, read_tensors])
def test_reading_what_is_not_there(tmp_path, read):
    with pytest.raises(PcpinnError, match="does not exist"):
        read(tmp_path / "missing")
    with pytest.raises(PcpinnError, match="cannot be read"):
        read(tmp_path)
    (tmp_path / "bad").write_bytes(b"\xff\xfe\x00 not it")
    with pytest.raises(PcpinnError, match="cannot be read"):
        read(tmp_path / "bad")


def test_json_must_be_an_object(tmp_path):
    (tmp_path / "j").write_text(json.dumps([1]))
    with pytest.raises(PcpinnError, match="does not hold a JSON object"):
        read_json(tmp_path / "j")


def test_tensors_keep_their_shapes(tmp_path):
    """Single numbers have none, and a transposed array is stored row by row."""
    given = {"number": np.array(3.5), "one": np.array([1]), "empty": np.zeros((0, 2)), "turned": np.eye(3, 2).T}
    write_tensors(tmp_path / "t", given, {})
    back, _ = read_tensors(tmp_path / "t")
    assert {k: v.shape for k, v in back.items()} == {k: v.shape for k, v in given.items()}
    assert all(np.array_equal(back[k], v) and back[k].dtype == v.dtype for k, v in given.items())


@pytest.mark.parametrize("read", [read_json, read_tensors])
def test_pipes_and_devices_are_not_read(tmp_path, read):
    """The first would wait for ever, the second have no end."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    for name in ("pipe", "device"):
        with pytest.raises(PcpinnError, match="cannot be read: it is not a plain file"):
            read(tmp_path / name)


def test_json_of_enormous_size_is_not_read(tmp_path):
    with (tmp_path / "j").open("wb") as file:
        file.truncate(2**40)  # takes no space on disk
    with pytest.raises(PcpinnError, match="it has 1099511627776 bytes"):
        read_json(tmp_path / "j")
