"""Data of an inverse problem: values at points, with their noise; and a strict reader of tables."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from ..discretize.outside import outside_of
from ..discretize.pointwise import place_and_time, unpack
from ..errors import PcpinnError
from ..mesh.slab_mesh import AnyMesh
from ..problem.arguments import with_time
from ..problem.field import component_names
from ..problem.problem import Problem
from ..problem.real import real_array

AXES = ("x", "y", "z")
_MOST_BYTES = 200 * 2**20


@dataclass(frozen=True)
class Observations:
    """Measured values of a field, or of a function of the fields, at points.

    Attributes:
        points: (m, d), time last.
        values: (m,).
        noise: standard deviation of the values' errors, one for all or one each; None estimates one from the data.
        field: which field was measured; None for the first.
        component: which of its components, from 0.
        observable: observable(x, *fields) -> (), a function of one point and of the fields there (`Local`s), measured instead;
            in a problem over time x is the place, and observable(x, t, *fields) is told the time.
        name: for messages and pictures.
        rows: (m,) number of each row, for messages; by default from 1.
    """

    points: np.ndarray
    values: np.ndarray
    noise: float | np.ndarray | None = None
    field: str | None = None
    component: int = 0
    observable: Callable[..., Any] | None = None
    name: str = "data"
    rows: np.ndarray | None = None

    def __post_init__(self) -> None:
        try:
            points = np.array(real_array(self.points, f"{self.name}: a coordinate"), ndmin=2)
            values = real_array(self.values, self.name)
        except (TypeError, ValueError) as error:
            raise PcpinnError(f"{self.name} are not numbers: {error}", "give points (m, d) and values (m,)") from error
        if values.ndim != 1 or points.ndim != 2 or len(points) != len(values) or not len(values):
            raise PcpinnError(
                f"{self.name} have points {points.shape} and values {values.shape}",
                "give points (m, d) and values (m,), one value per point and at least one",
            )
        rows = np.arange(1, len(values) + 1) if self.rows is None else np.asarray(self.rows)
        noise = None if self.noise is None else np.broadcast_to(np.asarray(self.noise, dtype=np.float64), values.shape)
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "noise", None if noise is None else noise.copy())
        self._refuse(np.asarray(~np.isfinite(points).all(axis=1)), "a coordinate is not finite", "leave the row out")
        self._refuse(~np.isfinite(values), "the value is not finite", "leave the row out; gaps need no row")
        if noise is not None:
            bad = np.asarray(~np.isfinite(noise) | (noise <= 0))
            self._refuse(
                bad, "the noise is not a positive number", "give its standard deviation, or none to estimate it"
            )

    def __len__(self) -> int:
        return len(self.values)

    def _refuse(self, bad: np.ndarray, what: str, remedy: str) -> None:
        if bad.any():
            first = int(np.flatnonzero(bad)[0])
            more = f" (and in {int(bad.sum()) - 1} more rows)" if bad.sum() > 1 else ""
            assert self.rows is not None
            raise PcpinnError(f"{self.name}, row {int(self.rows[first])}: {what}{more}", remedy)

    def check(self, problem: Problem, mesh: AnyMesh) -> None:
        """Refuse data of another domain or of fields that the problem has not.

        Raises:
            PcpinnError: with the row.
        """
        d = problem.domain.dimension
        if self.points.shape[1] != d:
            raise PcpinnError(
                f"{self.name}: points have {self.points.shape[1]} coordinates", f"the domain has {d}, time included"
            )
        if self.observable is None:
            found = problem.field(self.field or problem.unknowns[0].name)
            if not 0 <= self.component < found.components:
                raise PcpinnError(
                    f"{self.name} are of component {self.component} of {found.name!r}",
                    f"it has {found.components}, from 0",
                )
        lower, upper = mesh.bounds
        outside = outside_of(mesh, self.points)
        if outside.any():
            at = self.points[int(np.flatnonzero(outside)[0])]
            box = " x ".join(f"[{a:g}, {b:g}]" for a, b in zip(lower, upper, strict=True))
            self._refuse(
                outside,
                f"the point ({', '.join(f'{v:g}' for v in at)}) lies outside the domain, within {box}",
                "are coordinates in the units of the problem and in its order? leave out points of elsewhere",
            )

    def component_in(self, problem: Problem) -> int:
        """Number of the measured component among all components."""
        at = 0
        for f in problem.unknowns:
            if f.name == (self.field or problem.unknowns[0].name):
                return at + self.component
            at += f.components
        raise PcpinnError(f"there is no field {self.field!r}", "see the fields of the problem")

    def observed(self, problem: Problem) -> Callable[[Tensor, Tensor], Tensor]:
        """The observable as a function of a point (d,), time last, and of the state (C, 1 + d) there."""
        assert self.observable is not None
        over_time = problem.over_time
        function = with_time(self.observable, over_time)

        def at_point(x: Tensor, state: Tensor) -> Tensor:
            result = function(*place_and_time(x, over_time), *unpack(state, problem.unknowns, over_time))
            if not isinstance(result, Tensor) or result.ndim:
                raise PcpinnError("the observable does not return one number", "return a tensor of shape ()")
            return result

        return at_point

    def subset(self, keep: np.ndarray) -> Observations:
        """Some of the rows."""
        assert self.rows is not None
        noise = self.noise[keep] if isinstance(self.noise, np.ndarray) else self.noise
        return replace(self, points=self.points[keep], values=self.values[keep], noise=noise, rows=self.rows[keep])


def as_data(data: Observations | Sequence[Observations]) -> tuple[Observations, ...]:
    """One set or several."""
    sets = (data,) if isinstance(data, Observations) else tuple(data)
    if not sets or not all(isinstance(d, Observations) for d in sets):
        raise PcpinnError("the data are not Observations", "write pcpinn.Observations(points, values, noise=0.1)")
    return sets


def read_observations(path: str | Path, problem: Problem, has_time: bool) -> tuple[Observations, ...]:
    """Read a CSV file: a header, then one row per point.

    Columns: x, y, z and t as far as the domain has them; one or more of the problem's components (u; u1, u2 of a vector); and
    noise, one for all, or noise_u of one component. Nothing else, nothing twice.

    Raises:
        PcpinnError: with the row of the file, the header being row 1.
    """
    path = Path(path)
    header, table, rows = _table(path)
    spatial = problem.domain.dimension - has_time
    axes = [*AXES[:spatial], *(["t"] if has_time else [])]
    fields = component_names(problem.unknowns)
    measured = [name for name in fields if name in header]
    known = {*axes, *fields, "noise", *(f"noise_{name}" for name in measured)}
    strange = [name for name in header if name not in known]
    if strange:
        raise PcpinnError(
            f"{path}, row 1: column {strange[0]!r} is not known",
            f"columns are {', '.join([*axes, *fields])} and noise, "
            "without units; numbers are in the units of the problem",
        )
    for name in axes:
        if name not in header:
            raise PcpinnError(f"{path}, row 1: there is no column {name!r}", f"give the coordinates {', '.join(axes)}")
    if not measured:
        raise PcpinnError(f"{path}, row 1: no column holds data", f"name one of {', '.join(fields)}")
    column = {name: table[:, i] for i, name in enumerate(header)}
    places = [(f, k) for f in problem.unknowns for k in range(f.components)]
    points = np.column_stack([column[name] for name in axes])
    sets = []
    for name in measured:
        f, k = places[fields.index(name)]
        noise = column.get(f"noise_{name}", column.get("noise"))
        sets.append(Observations(points, column[name], noise, f.name, k, name=f"{path}, {name}", rows=rows))
    return tuple(sets)


def write_observations(path: str | Path, data: Observations, has_time: bool, value: str = "u") -> Path:
    """The CSV file of one set of data, as `read_observations` reads it."""
    from ..files import write_atomically

    d = data.points.shape[1]
    axes = [*AXES[: d - has_time], *(["t"] if has_time else [])]
    columns = [*data.points.T, data.values]
    header = [*axes, value]
    if isinstance(data.noise, np.ndarray):
        columns.append(data.noise)
        header.append("noise")
    lines = [",".join(header)] + [",".join(repr(float(v)) for v in row) for row in zip(*columns, strict=True)]
    write_atomically(Path(path), "\n".join(lines) + "\n")
    return Path(path)


def _table(path: Path) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Header, numbers and row numbers of a CSV file."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise PcpinnError(f"{path} has more than {_MOST_BYTES // 2**20} MiB", "thin it out")
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = list(csv.reader(file, strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise PcpinnError(f"{path} cannot be read: {reason}", "give a CSV file with a header") from error
    if not lines or not any(cell.strip() for cell in lines[0]):
        raise PcpinnError(f"{path}, row 1: there is no header", "begin with a line such as x,y,u")
    header = [cell.strip() for cell in lines[0]]
    for name in header:
        if header.count(name) > 1:
            raise PcpinnError(f"{path}, row 1: column {name!r} appears {header.count(name)} times", "keep one of them")
    if all(_is_number(cell) for cell in header):
        raise PcpinnError(f"{path}, row 1: the header is missing", "begin with a line such as x,y,u")
    rows, numbers = [], []
    for number, line in enumerate(lines[1:], start=2):
        if not line:
            continue
        if len(line) != len(header):
            raise PcpinnError(
                f"{path}, row {number}: {len(line)} cells under {len(header)} columns", "give every column a number"
            )
        for name, cell in zip(header, line, strict=True):
            if not _is_number(cell):
                raise PcpinnError(
                    f"{path}, row {number}: {name} is {cell.strip()[:40]!r}",
                    "give a finite number, or leave out the row",
                )
        rows.append(number)
        numbers.append([float(cell) for cell in line])
    if not numbers:
        raise PcpinnError(f"{path} has a header and no data", "give one row per point")
    return header, np.array(numbers), np.array(rows)


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell)) and "_" not in cell
    except ValueError:
        return False
