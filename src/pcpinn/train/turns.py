"""Several trainings in one process: each has a thread and a stream of its own, and one at a time has the turn.

A GPU is not filled by the small kernels of one training; those of several processes it does one process after the other. In
one process kernels of several streams run side by side. But forward differentiation and captures of graphs are not made for
several threads, so that a thread has the turn for all that it does, except while it sends a graph to the GPU and waits for it.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

MOST = 12  # torch has 32 streams to give, then it gives the first again: two for each training must not be those of another


@dataclass(frozen=True)
class _Streams:
    """Of one training: where it works, and where graphs are recorded. Libraries keep scratch memory for each stream, which a
    graph goes on using: no two trainings may have a stream in common.
    """

    work: torch.cuda.Stream
    record: torch.cuda.Stream


class _Present(threading.local):
    turns: Turns | None = None
    streams: _Streams | None = None
    own: torch.cuda.Stream | None = None  # of a thread that takes no turns


_present = _Present()


class Turns:
    """Who has the turn.

    Args:
        seats: of threads at a time, at most MOST.
        streams: whether each has streams of its own; by default where there is a GPU and more than one seat.
    """

    def __init__(self, seats: int, streams: bool | None = None) -> None:
        self._apart = seats > 1 and torch.cuda.is_available() if streams is None else streams
        self._free: list[_Streams | None] = [None] * seats
        self._turn = threading.Lock()

    @contextlib.contextmanager
    def taken(self) -> Iterator[None]:
        """Inside, this thread works in turn with the others that are inside."""
        with self._turn:
            streams = self._free.pop()
            if streams is None and self._apart:
                streams = _Streams(torch.cuda.Stream(), torch.cuda.Stream())
            _present.turns, _present.streams = self, streams
            try:
                with contextlib.nullcontext() if streams is None else torch.cuda.stream(streams.work):
                    yield
            finally:
                _present.turns = _present.streams = None
                self._free.append(streams)

    def _outside(self, work: Callable[[], None]) -> None:
        self._turn.release()
        try:
            work()
            if _present.streams is not None:
                done = torch.cuda.Event(blocking=True)
                done.record(_present.streams.work)
                done.synchronize()
            else:
                time.sleep(0)
        finally:
            self._turn.acquire()


def outside(work: Callable[[], None] = lambda: None) -> None:
    """Do work that only sends a recorded graph to the GPU. Others have the turn until the GPU has done all that it was sent."""
    if _present.turns is None:
        work()
    else:
        _present.turns._outside(work)


def recording_stream() -> torch.cuda.Stream:
    """Where this thread records graphs: always the same stream, and no other training's."""
    if _present.streams is not None:
        return _present.streams.record
    if _present.own is None:
        _present.own = torch.cuda.Stream()
    return _present.own
