"""What happened in each iteration."""

from __future__ import annotations

import csv
import io
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..errors import PcpinnError
from ..files import write_atomically
from ..progress import Event

COLUMNS = ("iteration", "seconds", "loss", "residual", "l2re")


@dataclass
class History:
    """Rows of iteration, seconds since the start of training, loss, and relative residual sqrt(2 loss).

    Attributes:
        rows: iteration, seconds, loss.
        errors: the relative L2 error against the reference, by iteration, where it was measured (see watch.py).
    """

    rows: list[tuple[int, float, float]] = field(default_factory=list)
    errors: dict[int, float] = field(default_factory=dict)

    def add(self, iteration: int, seconds: float, loss: float) -> None:
        """Append a row."""
        self.rows.append((iteration, seconds, loss))

    def extend(self, other: History) -> None:
        """Append what came later."""
        self.rows += other.rows
        self.errors |= other.errors

    @property
    def measured(self) -> list[list[float]]:
        """Iteration, seconds and error, where the error was measured: plain data."""
        return [[i, s, self.errors[i]] for i, s, _ in self.rows if i in self.errors]

    @property
    def losses(self) -> np.ndarray:
        """(k,) loss by iteration."""
        return np.array([row[2] for row in self.rows])

    def to_csv(self) -> str:
        """The history as text."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(COLUMNS)
        for iteration, seconds, loss in self.rows:
            error = self.errors.get(iteration)
            known = "" if error is None else repr(error)
            writer.writerow([iteration, f"{seconds:.4f}", repr(loss), repr((2 * loss) ** 0.5), known])
        return out.getvalue()

    @classmethod
    def from_csv(cls, text: str) -> History:
        """Inverse of `to_csv`; a table without errors is read, too. A last line that was cut off is left out.

        Raises:
            ValueError: when the text is not such a table.
        """
        try:
            reader = csv.DictReader(io.StringIO(text[: text.rfind("\n") + 1]))
            if tuple(reader.fieldnames or ()) not in (COLUMNS, COLUMNS[:-1]):
                raise ValueError(f"the columns are not {', '.join(COLUMNS)}")
            table = list(reader)
            rows = [(int(r["iteration"]), float(r["seconds"]), float(r["loss"])) for r in table]
            return cls(rows, {int(r["iteration"]): float(r["l2re"]) for r in table if r.get("l2re")})
        except (KeyError, TypeError, csv.Error) as error:
            raise ValueError(f"not a history: {error}") from error

    def to_array(self) -> np.ndarray:
        """(k, 3) float64."""
        return np.array(self.rows, dtype=np.float64).reshape(-1, 3)

    def errors_to_array(self) -> np.ndarray:
        """(j, 2) float64: iterations and errors."""
        return np.array(list(self.errors.items()), dtype=np.float64).reshape(-1, 2)

    @classmethod
    def from_array(cls, data: np.ndarray, errors: np.ndarray | None = None) -> History:
        """Inverse of `to_array` and `errors_to_array`."""
        known = {} if errors is None else {int(i): float(e) for i, e in errors}
        return cls([(int(i), float(s), float(l)) for i, s, l in data], known)


_EVERY = 1.0  # seconds between two additions to a file


class HistoryFile:
    """history.csv while a run works: a callback that adds the rows of the present training, at most once a second.

    The complete history takes its place in the end.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._history, self._written = path, History(), 0
        self._last = -_EVERY

    def __call__(self, event: Event) -> None:
        """One more row; nothing while there is no folder yet."""
        rows = self._history.rows
        if rows and event.iteration <= rows[-1][0]:  # another training, or another network
            self._history, self._written = History(), 0
        self._history.add(event.iteration, event.stage_seconds, event.loss)
        if event.error is not None:
            self._history.errors[event.iteration] = event.error
        now = time.monotonic()
        if now - self._last < _EVERY or not self._path.parent.is_dir():
            return
        self._last = now
        lines = self._history.to_csv().splitlines(keepends=True)
        try:
            if not self._written:  # in place of what is there, be it a pipe that nobody reads or a link to elsewhere
                write_atomically(self._path, "".join(lines))
            else:
                with self._path.open("a", encoding="utf-8", newline="") as file:
                    file.writelines(lines[self._written :])
        except (OSError, PcpinnError):
            return  # a full disk is told by those who write what counts
        self._written = len(lines)
