"""One process at a time in a folder: a lock that goes away with its process, whatever ends that."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from .errors import PcpinnError

try:
    import fcntl
except ImportError:  # Windows has no such module, and runs are then not locked
    fcntl = None  # type: ignore[assignment]

_HELD: dict[tuple[int, int], int] = {}  # descriptor by device and inode: a process does not lock itself out


def lock_folder(folder: Path) -> tuple[int, int] | None:
    """Keep other processes out of a folder; returns what `unlock_folder` takes, None where this process had it already.

    Raises:
        PcpinnError: when another process is at work there.
    """
    if fcntl is None:
        return None
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return None  # whoever reads or writes there says what is wrong
    found = os.fstat(descriptor)
    key = (found.st_dev, found.st_ino)
    if key in _HELD:
        os.close(descriptor)
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise PcpinnError(
            f"another process is at work in {folder}", "wait until it ends, or choose another folder"
        ) from None
    except OSError:  # a file system without locks
        os.close(descriptor)
        return None
    _HELD[key] = descriptor
    return key


def try_lock(descriptor: int) -> bool:
    """Lock an open file for this process, without waiting; False where another has it. Without locks (Windows) always True."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def unlock_folder(key: tuple[int, int] | None) -> None:
    """Let others in; for a second time, nothing."""
    descriptor = None if key is None else _HELD.pop(key, None)
    if descriptor is not None:
        os.close(descriptor)


@contextlib.contextmanager
def claimed(folder: Path) -> Iterator[bool]:
    """Whether a folder is nobody's, and nobody's but ours meanwhile; False where there are no locks to tell by."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        yield False
        return
    try:
        yield fcntl is not None and try_lock(descriptor)
    finally:
        os.close(descriptor)
