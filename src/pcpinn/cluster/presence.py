"""One controller per folder, whichever machine it is on. A dead one is replaced; a living one is left in peace."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from ..errors import PcpinnError
from ..files import read_json, write_json

_BEATS = 5  # that one may miss


@contextlib.contextmanager
def only_controller(path: Path, beat: float) -> Iterator[threading.Event]:
    """Be the one that the file names, and give signs of life; yields an event that is set if another takes over.

    Raises:
        PcpinnError: when another one is alive.
    """
    own = secrets.token_hex(8)
    _remove_the_dead(path, beat)
    content = {
        "id": own,
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "started": process_started(os.getpid()),
        "beat": 0,
    }
    try:
        with open(path, "x", encoding="utf-8") as file:  # exclusive on shared file systems, too
            json.dump(content, file)
    except FileExistsError:
        raise PcpinnError(f"another controller has just begun in {path.parent}", "leave it at work") from None
    ended, replaced = threading.Event(), threading.Event()
    thread = threading.Thread(target=_live, args=(path, content, beat, ended, replaced), daemon=True)
    thread.start()
    try:
        yield replaced
    finally:
        ended.set()
        thread.join()
        if not replaced.is_set():
            path.unlink(missing_ok=True)


def _live(
    path: Path, content: dict[str, object], beat: float, ended: threading.Event, replaced: threading.Event
) -> None:
    count = 0
    while not ended.wait(beat):
        count += 1
        with contextlib.suppress(PcpinnError):  # a file system that stumbles; the next beat may get through
            if path.exists() and read_json(path).get("id") != content["id"]:
                replaced.set()
                return
            write_json(path, {**content, "beat": count})


def _remove_the_dead(path: Path, beat: float) -> None:
    """Nothing stays of a controller that has ended without a word.

    Raises:
        PcpinnError: when it has not.
    """
    try:
        found = read_json(path)
    except PcpinnError:
        if not path.exists():
            return
        found = {}
    who = f"process {found.get('pid')} on {found.get('host')}"
    alive = PcpinnError(f"another controller is at work in {path.parent}: {who}", "leave it at work, or end it first")
    if found.get("host") == socket.gethostname() and type(found.get("pid")) is int:
        if process_started(found["pid"]) == found.get("started") is not None:
            raise alive
    else:  # its number must change while we look: clocks of two machines say nothing
        until = time.monotonic() + _BEATS * beat
        while time.monotonic() < until:
            time.sleep(beat / 2)
            if _beat(path) not in (None, found.get("beat")):
                raise alive
    with contextlib.suppress(FileNotFoundError):  # another newcomer was faster; exclusive creation decides
        os.rename(path, path.with_name(f"controller-{secrets.token_hex(4)}.old"))


def _beat(path: Path) -> object:
    """None where it cannot be read just now."""
    try:
        return read_json(path).get("beat")
    except PcpinnError:
        return None


def process_started(process: object) -> str | None:
    """When a process of this machine began, by the kernel: numbers of processes are used again. None if there is none."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[-1].split()[19]
    except (OSError, IndexError):
        return None
