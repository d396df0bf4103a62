"""Points and values as CSV."""

from __future__ import annotations

import csv
import io
import sys
import warnings
from pathlib import Path

import numpy as np

from ..errors import PcpinnError, PcpinnWarning
from ..files import write_atomically
from ..solution.cut import value_table
from ..solution.solution import Solution


def read_points(path: Path, dimension: int) -> np.ndarray:
    """(n, d) from a CSV file; a first line that is not numbers is taken as its header."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PcpinnError(
            f"cannot read {path}: {error}", "give a text file with one point per line, such as 0.1,0.2"
        ) from error
    rows: list[list[float]] = []
    for number, row in enumerate(csv.reader(io.StringIO(text)), start=1):
        if not row or row[0].lstrip().startswith("#"):
            continue
        try:
            values = [float(v) for v in row]
        except ValueError:
            if not rows and number == 1:
                continue
            raise PcpinnError(
                f"line {number} of {path} is not numbers: {','.join(row)[:60]!r}", "one point per line: 0.1,0.2"
            ) from None
        if len(values) != dimension or not np.isfinite(values).all():
            raise PcpinnError(
                f"line {number} of {path} has {len(values)} values: {','.join(row)[:60]!r}",
                f"give {dimension} finite coordinates",
            )
        rows.append(values)
    if not rows:
        raise PcpinnError(f"{path} holds no points", f"one point of {dimension} coordinates per line")
    return np.array(rows)


def write_values(solution: Solution, x: np.ndarray, out: Path | None) -> None:
    """Coordinates and values, to a file or to standard output; nan at points outside the domain, with a warning."""
    outside = solution.outside(x)
    found = np.reshape(solution(x, outside="ignore"), (len(x), -1))
    found[outside] = np.nan
    text = value_table(solution.mesh, solution.names, x, found)
    if outside.any():
        warnings.warn(
            f"{int(outside.sum())} of {len(x)} points lie outside the domain: nan", PcpinnWarning, stacklevel=2
        )
    if out is None:
        sys.stdout.write(text)
    else:
        write_atomically(out, text)
        print(out)
