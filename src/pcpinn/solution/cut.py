"""Values along cuts through a solution, as a table: along a straight line between two points, or with some coordinates fixed."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass

import numpy as np

from ..errors import PcpinnError
from ..mesh.slab_mesh import AnyMesh

_ALONG = {1: 200, 2: 50}  # points along each free axis of a line, of a plane
_FORM = "write --cut 0,0:1,1 for a line between two points, or --cut x=0.5 (and t=1, separated by commas) for fixed coordinates"


@dataclass(frozen=True)
class Cut:
    """Either a line, or fixed coordinates.

    Attributes:
        ends: both ends of a line, with all coordinates; () for none.
        fixed: coordinates by their names (x, y, z, t).
    """

    ends: tuple[tuple[float, ...], ...] = ()
    fixed: tuple[tuple[str, float], ...] = ()

    @classmethod
    def parse(cls, text: str) -> Cut:
        """From "0,0:1,1" or "x=0.5,t=1"."""
        try:
            if "=" in text:
                pairs = [part.split("=") for part in text.split(",")]
                return cls(fixed=tuple((name.strip(), _finite(value)) for name, value in pairs))
            ends = tuple(tuple(_finite(v) for v in end.split(",")) for end in text.split(":"))
            if len(ends) != 2:
                raise ValueError
        except ValueError:
            raise PcpinnError(f"{text!r} is not a cut", _FORM) from None
        return cls(ends=ends)

    def points(self, mesh: AnyMesh, count: int | None = None) -> np.ndarray:
        """(n, d) points along it, within the box of the mesh.

        Args:
            mesh: of the solution.
            count: points along the line, or along each free axis.

        Raises:
            PcpinnError: for a cut that does not fit the mesh.
        """
        if count is not None and not 2 <= count <= 10_000:
            raise PcpinnError(f"{count} points along a cut", "give 2 to 10000")
        names = axis_names(mesh)
        if self.ends:
            if any(len(end) != len(names) for end in self.ends):
                raise PcpinnError(
                    f"the ends of a cut have {len(self.ends[0])} and {len(self.ends[1])} coordinates",
                    f"give {', '.join(names)} of both",
                )
            start, end = np.array(self.ends)
            return start + np.linspace(0, 1, count or _ALONG[1])[:, None] * (end - start)
        fixed = dict(self.fixed)
        unknown = [name for name in fixed if name not in names]
        if unknown or len(fixed) != len(self.fixed):
            raise PcpinnError(
                f"a cut at {unknown[0] if unknown else 'one coordinate twice'}", f"there are {', '.join(names)}"
            )
        free = [k for k, name in enumerate(names) if name not in fixed]
        if not 1 <= len(free) <= 2:
            raise PcpinnError(
                f"a cut of {len(free)} dimensions", f"fix all but one or two of the coordinates {', '.join(names)}"
            )
        lower, upper = mesh.bounds
        lines = [np.linspace(lower[k], upper[k], count or _ALONG[len(free)]) for k in free]
        result = np.empty((math.prod(map(len, lines)), len(names)))
        for name, value in fixed.items():
            result[:, names.index(name)] = value
        result[:, free] = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(len(result), -1)
        return result


def axis_names(mesh: AnyMesh) -> list[str]:
    """x, y, z, and t for time, which comes last."""
    space = mesh.dimension - mesh.has_time
    return [*"xyz"[:space], *("t" if mesh.has_time else "")]


def value_table(mesh: AnyMesh, names: tuple[str, ...], x: np.ndarray, values: np.ndarray) -> str:
    """Places (n, d) and values (n, C) there as CSV, numbers with all their digits."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([*axis_names(mesh), *names])
    writer.writerows([repr(float(v)) for v in row] for row in np.column_stack([x, values]))
    return buffer.getvalue()


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value
