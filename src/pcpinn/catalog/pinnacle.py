"""The published data of the PINNacle benchmark: text files that COMSOL exported, in a folder that the user names.

Lines that start with % describe the file, the last of them its columns: coordinates, then each field at each time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import PcpinnError
from ..problem.problem import Problem
from ..problem.shapes import Domain
from ..solution.reference import Reference
from .reference_file import space_time_points


@dataclass(frozen=True)
class PublishedFile:
    """Which file belongs to a problem.

    Attributes:
        name: of the file, without its ending .dat.
        fields: names of its columns, in the order of the problem's components.
        distance: of an accurate solution of the stated problem from the file, relative L2: nothing gets closer for good reasons.
    """

    name: str
    fields: tuple[str, ...]
    distance: float


FILES: dict[str, PublishedFile] = {
    "burgers1d-c": PublishedFile("burgers1d", ("u",), 1.33e-2),
    "poisson2d-c": PublishedFile("poisson1_cg_data", ("u",), 2.8e-5),
    "poisson2d-cg": PublishedFile("poisson_boltzmann2d", ("u",), 9.0e-5),
    "heat2d-vc": PublishedFile("heat_darcy", ("u",), 7.9e-3),
    "heat2d-lt": PublishedFile("heat_longtime", ("u",), 3.47e-2),
    # without the pressure at the two upper corners, where it is infinite and the file has numbers, 5.1e-4
    "ns2d-c": PublishedFile("lid_driven_a4", ("u", "v", "p"), 1.2e-2),
    "ns2d-cg": PublishedFile("ns_0_obstacle", ("u", "v", "p"), 6.4e-2),  # another outlet, which lets nothing in
}

_LARGEST = 256 * 2**20  # bytes; the published files have a few MB
# a name, then perhaps a unit in brackets, then perhaps "@ t=0.1" or another parameter
_COLUMN = re.compile(r"([^\s@()]+)(?:\s\(([^()]*)\))?(?:\s@\s*(\w+)=(\S+))?")
_COORDINATES = ("x", "y", "z")


@dataclass(frozen=True)
class Table:
    """An export: places (n, d), times (k,) or none, and for each field its values (n, k), or (n, 1) without times."""

    places: np.ndarray
    times: np.ndarray | None
    fields: dict[str, np.ndarray]


def published_reference(name: str, folder: Path, problem: Problem) -> Reference:
    """The published data for the problem called `name`, checked against its domain and fields.

    Raises:
        PcpinnError: when there are none, or the file is missing, damaged or of another problem.
    """
    if name not in FILES:
        raise PcpinnError(f"PINNacle has published no data for {name!r}", f"there are some for {', '.join(FILES)}")
    if not folder.is_dir():
        raise PcpinnError(f"{folder} is not a folder", "give the folder that holds PINNacle's .dat files")
    file = FILES[name]
    path = folder / f"{file.name}.dat"
    table = read_export(path)
    missing = [field for field in file.fields if field not in table.fields]
    if missing:
        raise PcpinnError(
            f"{path} has no column {missing[0]!r}, only {', '.join(table.fields)}", "is it the file of another problem?"
        )
    points = table.places if table.times is None else space_time_points(table.places, table.times)
    reference = Reference(
        points,
        np.stack([table.fields[field].ravel() for field in file.fields], axis=1),
        components=tuple(range(len(file.fields))),
        kind="published",
        error=file.distance,
        note=f"PINNacle, {path.name}; its error is its distance from an accurate solution",
    )
    reference.check_fits(problem.domain.dimension, problem.components)
    if isinstance(problem.domain, Domain):
        lower, upper = problem.domain.bounds
        slack = 1e-6 * (upper - lower)
        outside = ((points < lower - slack) | (points > upper + slack)).any(axis=1)
        if outside.any():
            at = ", ".join(f"{v:g}" for v in points[outside][0])
            raise PcpinnError(f"{path} has a point ({at}) outside the domain", "is it the file of another problem?")
    return reference


def read_export(path: Path) -> Table:
    """Read an export; rows with values that are not finite, which COMSOL writes outside of its mesh, are left out."""
    remedy = "give the file as PINNacle published it"
    try:
        if path.stat().st_size > _LARGEST:
            raise PcpinnError(f"{path} is larger than {_LARGEST >> 20} MiB", remedy)
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        raise PcpinnError(f"{path} does not exist", "give the folder that holds PINNacle's .dat files") from None
    except OSError as error:
        raise PcpinnError(f"cannot read {path}: {error.strerror or error}", remedy) from error
    header = [line for line in lines if line.startswith("%")]
    columns = _columns(header[-1]) if header else []
    dimension = sum(1 for name, _ in columns[:3] if name.lower() in _COORDINATES)
    if not 0 < dimension < len(columns):
        raise PcpinnError(f"{path} does not say what its columns are", remedy)
    data = _numbers([line for line in lines if line.strip() and not line.startswith("%")], len(columns), path, remedy)
    data = data[np.isfinite(data).all(axis=1)]
    if not len(data):
        raise PcpinnError(f"{path} holds no values", remedy)
    by_field: dict[str, dict[float | None, int]] = {}
    for k, (name, time) in enumerate(columns[dimension:], start=dimension):
        by_field.setdefault(name, {})[time] = k
    times = list(next(iter(by_field.values())))
    complete = all(list(at) == times for at in by_field.values()) and len(times) * len(by_field) + dimension == len(
        columns
    )
    if not complete or (None in times and len(times) > 1):
        raise PcpinnError(f"{path} does not give every field once at every time", remedy)
    fields = {name: data[:, list(at.values())] for name, at in by_field.items()}
    known = None if times == [None] else np.array(times, dtype=np.float64)
    return Table(data[:, :dimension], known, fields)


def _columns(line: str) -> list[tuple[str, float | None]]:
    """(name, time) of each column; parameters other than t are left out."""
    result = []
    for name, _, parameter, value in _COLUMN.findall(line.lstrip("% ")):
        try:
            time = float(value) if parameter == "t" else None
        except ValueError:
            time = np.nan
        if time is not None and not np.isfinite(time):
            return []
        result.append((name, time))
    return result


def _numbers(lines: list[str], width: int, path: Path, remedy: str) -> np.ndarray:
    """(rows, width)."""
    rows = np.empty((len(lines), width))
    for k, line in enumerate(lines):
        try:
            values = [float(v) for v in line.split()]
        except ValueError:
            raise PcpinnError(f"row {k + 1} of {path} is not numbers: {line[:60]!r}", remedy) from None
        if len(values) != width:
            raise PcpinnError(f"row {k + 1} of {path} has {len(values)} numbers for {width} columns", remedy)
        rows[k] = values
    return rows
