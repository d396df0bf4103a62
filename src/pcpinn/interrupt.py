"""Interrupts (Ctrl-C, SIGTERM) that wait for the end of a step, so that what is done can be kept."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Terminated(KeyboardInterrupt):
    """SIGTERM, where it is taken like Ctrl-C: the command line does so."""


def raise_terminated(number: int, frame: FrameType | None) -> None:
    """Handler of SIGTERM that lets work end as after Ctrl-C."""
    raise Terminated


def exit_code(interrupt: KeyboardInterrupt) -> int:
    """By the convention of shells: 128 and the number of the signal."""
    return 128 + (signal.SIGTERM if isinstance(interrupt, Terminated) else signal.SIGINT)


class Waiting:
    """Whether an interrupt has come.

    Attributes:
        asked: number of the signal that waits; None for none.
    """

    asked: int | None = None


@contextlib.contextmanager
def interrupts_wait(wanted: bool = True) -> Iterator[Waiting]:
    """Inside, a first interrupt is only noted; at the end it takes its course. A second one does not wait.

    Args:
        wanted: if not, or outside of the main thread, where Python delivers no signals, interrupts take their course at once.
    """
    waiting = Waiting()
    before: dict[int, Any] = {}

    def note(number: int, frame: FrameType | None) -> None:
        if waiting.asked is not None:
            restore()
            signal.raise_signal(number)
        waiting.asked = number

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)
        before.clear()

    if wanted and threading.current_thread() is threading.main_thread():
        for number in _SIGNALS:
            handler = signal.getsignal(number)
            if handler not in (None, signal.SIG_IGN):  # not ours to take where nobody, or no Python code, listens
                before[number] = signal.signal(number, note)
    try:
        yield waiting
    finally:
        restore()
    if waiting.asked is not None:
        signal.raise_signal(waiting.asked)
