"""One process at a time in a run folder; what killed ones left behind goes."""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from small import quick

import pcpinn as pc
from pcpinn import files, lock
from pcpinn.lock import lock_folder, unlock_folder

HOLD = """
import sys
from pathlib import Path
from pcpinn.lock import lock_folder
lock_folder(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def other(tmp_path):
    """Another process that has a finished run's folder."""
    quick(out=tmp_path / "run")
    environment = {**os.environ, "PYTHONPATH": str(Path(pc.__file__).parents[1])}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path / "run")], env=environment, **pipes)
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_a_folder_is_resumed_by_one_process(tmp_path, other):
    with pytest.raises(pc.PcpinnError, match="another process is at work"):
        quick(out=tmp_path / "run", resume=True, iterations=4)
    other.kill()  # as any kill does: nothing is left that would have to be removed
    other.wait()
    assert quick(out=tmp_path / "run", resume=True, iterations=4).result["iterations"] == 4


def test_a_process_does_not_lock_itself_out(tmp_path):
    key = lock_folder(tmp_path)
    assert key is not None
    assert lock_folder(tmp_path) is None
    unlock_folder(key)
    again = lock_folder(tmp_path)
    assert again == key
    unlock_folder(again)
    assert lock_folder(tmp_path / "missing") is None


def test_what_a_kill_left_in_a_folder_goes_with_its_resume(tmp_path):
    quick(out=tmp_path / "run")
    left = tmp_path / "run" / ".checkpoint.safetensors.ab_cd012"
    mine = tmp_path / "run" / ".notes"
    left.write_text("half")
    mine.write_text("my own")
    quick(out=tmp_path / "run", resume=True, iterations=4)
    assert not left.exists()
    assert mine.exists()


def left_beside(tmp_path):
    """Empty, with a record, with half of one, and somebody's own."""
    empty, begun, half, foreign = (
        tmp_path / f".run.{name}" for name in ("abcdefgh", "bcdefghi", "cdefghij", "defghijk")
    )
    for folder in (empty, begun, half, foreign):
        folder.mkdir()
    (begun / "run.json").write_text("{}")
    (half / ".run.json.abcdefgh").write_text("{")
    (foreign / "thesis.txt").write_text("not ours")
    os.utime(foreign, (0, 0))
    return begun, foreign


def test_what_a_kill_left_beside_a_folder_goes_with_its_successor(tmp_path):
    begun, foreign = left_beside(tmp_path)
    descriptor = os.open(begun, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)  # as a process does that is at work in it
    quick(out=tmp_path / "run")
    os.close(descriptor)
    assert {p.name for p in tmp_path.iterdir()} == {"run", begun.name, foreign.name}
    quick(out=tmp_path / "run2")
    quick(out=tmp_path / "new" / "run")
    assert begun.exists()  # of a folder of another name
    shutil.rmtree(tmp_path / "run")
    quick(out=tmp_path / "run")
    assert not begun.exists()


def test_without_locks_it_goes_when_it_is_old(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "fcntl", None)
    begun, foreign = left_beside(tmp_path)
    os.utime(begun, (0, 0))
    quick(out=tmp_path / "run")
    assert {p.name for p in tmp_path.iterdir()} == {"run", ".run.abcdefgh", ".run.cdefghij", foreign.name}


def test_a_staging_that_others_remove_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    made, really = [], files.tempfile.mkdtemp

    def make(**options):
        made.append(really(**options))
        if len(made) == 1:
            os.rmdir(made[0])
        return made[-1]

    monkeypatch.setattr(files.tempfile, "mkdtemp", make)
    quick(out=tmp_path / "run")
    assert len(made) == 2
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


def test_temporary_files_are_called_as_the_cleaner_expects(tmp_path, monkeypatch):
    """A write that dies between the two steps leaves such a file."""
    monkeypatch.setattr(Path, "unlink", lambda *_, **__: None)
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("killed")))
    with pytest.raises(pc.PcpinnError):
        files.write_atomically(tmp_path / "checkpoint.safetensors", b"1")
    monkeypatch.undo()
    assert len(list(tmp_path.iterdir())) == 1
    files.clear_leftovers(tmp_path)
    assert not list(tmp_path.iterdir())
