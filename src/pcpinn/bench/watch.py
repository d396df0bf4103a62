"""Where a benchmark tells how far it is. This one says nothing; the command line's shows it."""

from __future__ import annotations

from ..progress import Progress
from .cell import Cell
from .results import Row


class Watch:
    """Listens to a benchmark. `started` and the Progress that it returns may be called from several threads."""

    def begin(self, total: int, done: int) -> None:
        """`total` runs are planned, of which `done` need nothing more."""

    def started(self, cell: Cell) -> Progress:
        """A run begins; what is returned listens to it."""
        return Progress()

    def ended(self, cell: Cell, row: Row) -> None:
        """A run has ended, well or not."""

    def note(self, text: str) -> None:
        """Something worth a line."""

    def close(self) -> None:
        """No more news."""
