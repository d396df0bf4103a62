"""Where output goes: the options that all commands share, `--quiet`, `--log FILE` and `--version`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType

from pcpinn_command import Log, Quiet, Version

from ..errors import PcpinnError
from ..progress import Progress
from ..terminal import TerminalProgress

_WIDTH = 120  # of a log


@dataclass(frozen=True)
class Output:
    """What the user asked for.

    Attributes:
        quiet: no progress and no tables; errors, warnings, and what --json prints stay.
        log: a file that gets progress, tables and errors as plain lines, in addition.
    """

    quiet: bool = False
    log: Path | None = None


OUTPUT: ContextVar[Output] = ContextVar("output")


def options(quiet: Quiet = False, log: Log = None, version: Version = False) -> None:
    """Solve partial differential equations with preconditioned neural networks."""
    OUTPUT.set(Output(quiet, log))
    if log is not None:
        with _opened(log):  # better known before the work than after it
            pass


def common_first(args: Sequence[str]) -> list[str]:
    """--quiet and --log FILE in front, wherever they stand: they belong to all commands."""
    first: list[str] = []
    rest: list[str] = []
    given = iter(args)
    for word in given:
        if word == "--":
            rest += [word, *given]
        elif word == "--quiet" or word.startswith("--log="):
            first.append(word)
        elif word == "--log":
            first += [word, *([value] if (value := next(given, None)) is not None else [])]
        else:
            rest.append(word)
    return first + rest


@contextlib.contextmanager
def working_progress() -> Iterator[Progress]:
    """A progress display on standard error that is taken away in the end; lines of a log, if there is one."""
    asked = OUTPUT.get(Output())
    with contextlib.ExitStack() as stack:
        shown: list[Progress] = [] if asked.quiet else [TerminalProgress(Console(stderr=True))]
        if asked.log is not None:
            shown.append(TerminalProgress(stack.enter_context(_opened(asked.log))))
        progress = shown[0] if len(shown) == 1 else Several(shown)
        try:
            yield progress
        finally:
            progress.close()


class Several(Progress):
    """Tells all of several listeners, or none."""

    def __init__(self, to: Sequence[Progress]) -> None:
        self._to = to

    def stage(self, name: str, total: int | None = None) -> None:  # noqa: D102
        self._all("stage", name, total)

    def measured(self, error: float) -> None:  # noqa: D102
        self._all("measured", error)

    def update(self, iteration: int, loss: float) -> None:  # noqa: D102
        self._all("update", iteration, loss)

    def count(self, name: str, done: int, total: int) -> None:  # noqa: D102
        self._all("count", name, done, total)

    def note(self, text: str) -> None:  # noqa: D102
        self._all("note", text)

    def close(self) -> None:  # noqa: D102
        self._all("close")

    def _all(self, method: str, *given: Any) -> None:
        for one in self._to:
            getattr(one, method)(*given)


def tell(what: RenderableType, stderr: bool = False, **style: Any) -> None:
    """Print something about the outcome, unless it is to be quiet, and into the log."""
    asked = OUTPUT.get(Output())
    if not asked.quiet:
        Console(stderr=stderr).print(what, **style)
    if asked.log is not None:
        with _opened(asked.log) as console:
            console.print(what, **style)


def errors_to_log(text: str) -> None:
    """Add what went wrong to the log, if there is one."""
    asked = OUTPUT.get(Output())
    if asked.log is not None:
        with contextlib.suppress(PcpinnError), _opened(asked.log) as console:
            console.print(text, markup=False, highlight=False, soft_wrap=True)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Console]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a", encoding="utf-8")
    except OSError as error:
        raise PcpinnError(f"cannot write the log {path}: {error.strerror or error}", "choose another file") from error
    with file:
        yield Console(file=file, width=_WIDTH, force_terminal=False, color_system=None)
