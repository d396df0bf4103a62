"""What happened in each iteration."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field

import numpy as np

COLUMNS = ("iteration", "seconds", "loss", "residual")


@dataclass
class History:
    """Rows of iteration, seconds since the start of training, loss, and relative residual sqrt(2 loss)."""

    rows: list[tuple[int, float, float]] = field(default_factory=list)

    def add(self, iteration: int, seconds: float, loss: float) -> None:
        """Append a row."""
        self.rows.append((iteration, seconds, loss))

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
            writer.writerow([iteration, f"{seconds:.4f}", repr(loss), repr((2 * loss) ** 0.5)])
        return out.getvalue()

    @classmethod
    def from_csv(cls, text: str) -> History:
        """Inverse of `to_csv`.

        Raises:
            ValueError: when the text is not such a table.
        """
        try:
            reader = csv.DictReader(io.StringIO(text))
            if tuple(reader.fieldnames or ()) != COLUMNS:
                raise ValueError(f"the columns are not {', '.join(COLUMNS)}")
            return cls([(int(r["iteration"]), float(r["seconds"]), float(r["loss"])) for r in reader])
        except (KeyError, TypeError, csv.Error) as error:
            raise ValueError(f"not a history: {error}") from error

    def to_array(self) -> np.ndarray:
        """(k, 3) float64."""
        return np.array(self.rows, dtype=np.float64).reshape(-1, 3)

    @classmethod
    def from_array(cls, data: np.ndarray) -> History:
        """Inverse of `to_array`."""
        return cls([(int(i), float(s), float(l)) for i, s, l in data])
