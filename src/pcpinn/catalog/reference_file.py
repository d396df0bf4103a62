"""References on disk: points, values and how they were made, in one compressed .npz file of numbers and text.

facts    JSON: kind, error, components, note, made
points   (n, d); or, where the points are all pairs of places and times, places (m, d - 1) and times (k,)
values   (n, components), in float32 where the reference's own error hides the rounding
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import PcpinnError
from ..files import write_atomically
from ..solution.reference import Reference

_FORMAT = 1
_LARGEST = 512 * 2**20  # bytes after decompression
_ROUNDING_HIDDEN = 1e-6  # float32 rounds to 6e-8


def write_reference(path: Path, reference: Reference, made: Mapping[str, Any]) -> None:
    """Write a reference and the facts of its making (method, levels, differences, command, date) in one move."""
    arrays: dict[str, np.ndarray] = {}
    product = _as_product(reference.points)
    if product is None:
        arrays["points"] = reference.points
    else:
        arrays["places"], arrays["times"] = product
    arrays["values"] = reference.values.astype(np.float32 if reference.error > _ROUNDING_HIDDEN else np.float64)
    facts = {
        "format": _FORMAT,
        "kind": reference.kind,
        "error": reference.error,
        "components": list(reference.components),
        "note": reference.note,
        "made": dict(made),
    }
    arrays["facts"] = np.array(json.dumps(facts, allow_nan=False))
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PcpinnError(f"cannot make {path.parent}: {error.strerror or error}", "choose another folder") from error
    write_atomically(path, buffer.getvalue())


def read_reference(path: Path) -> tuple[Reference, dict[str, Any]]:
    """Inverse of `write_reference`: the reference and how it was made.

    Raises:
        PcpinnError: for a file that is missing, damaged, too large or not one of ours.
    """
    remedy = "the file is damaged or not one of ours; make it with: pcpinn reference make NAME --out FILE"
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > _LARGEST:
                raise PcpinnError(f"{path} unpacks to more than {_LARGEST >> 20} MiB", remedy)
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        facts = json.loads(str(arrays["facts"]))
        if facts["format"] != _FORMAT:
            raise PcpinnError(f"{path} has format {facts['format']!r}", f"this version reads format {_FORMAT}")
        if not isinstance(facts["made"], dict):
            raise TypeError("it does not say how it was made")
        if any(array.dtype.kind != "f" for name, array in arrays.items() if name != "facts"):
            raise TypeError("its arrays are not real numbers")
        if "points" in arrays:
            points = arrays["points"]
        elif len(arrays["places"]) * len(arrays["times"]) == len(arrays["values"]):
            points = space_time_points(arrays["places"], arrays["times"])
        else:
            raise ValueError("places and times are not those of its values")
        reference = Reference(
            points=points,
            values=arrays["values"],
            components=tuple(facts["components"]),
            kind=facts["kind"],
            error=facts["error"],
            note=facts["note"],
        )
        if not (np.isfinite(reference.error) and reference.error >= 0):
            raise ValueError(f"its error is {reference.error}")
    except FileNotFoundError:
        raise PcpinnError(f"{path} does not exist", "make it with: pcpinn reference make NAME --out FILE") from None
    except PcpinnError as error:
        raise PcpinnError(f"{path}: {error.problem}", remedy) from error
    except _BROKEN as error:
        raise PcpinnError(f"{path} cannot be read: {type(error).__name__}: {error}", remedy) from error
    return reference, facts["made"]


_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    OSError,
    EOFError,
    KeyError,
    TypeError,
    ValueError,
    AttributeError,
    IndexError,
    NotImplementedError,  # a compression that Python has not
    RuntimeError,  # an encrypted archive; RecursionError
    SyntaxError,  # a hostile header
    OverflowError,
    MemoryError,
)


def shipped_reference(name: str, after: float | None = None) -> Reference:
    """The certified reference of a catalog problem that comes with the package.

    Args:
        name: of the file.
        after: only what is later: at the start nothing gives fields without a rate, and the file has zeros for them.
    """
    reference = read_shipped(name)[0]
    return reference if after is None else reference.where(reference.points[:, -1] > after)


def read_shipped(name: str) -> tuple[Reference, dict[str, Any]]:
    """A reference that comes with the package, and how it was made."""
    with as_file(files("pcpinn.catalog").joinpath(f"data/references/{name}.npz")) as path:
        return read_reference(path)


def space_time_points(places: np.ndarray, times: np.ndarray) -> np.ndarray:
    """All pairs of places (m, d) and times (k,), the times of one place together: (m k, d + 1)."""
    if places.ndim != 2 or times.ndim != 1:
        raise ValueError(f"places {places.shape} and times {times.shape}")
    return np.column_stack([np.repeat(places, len(times), axis=0), np.tile(times, len(places))])


def _as_product(points: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """(places, times) of points that `space_time_points` made, else nothing."""
    if points.shape[1] < 2 or not len(points):
        return None
    moved = np.flatnonzero((points[:, :-1] != points[0, :-1]).any(axis=1))
    count = int(moved[0]) if len(moved) else len(points)
    if count == 1 or len(points) % count:
        return None
    places, times = points[::count, :-1], points[:count, -1]
    return (places, times) if np.array_equal(space_time_points(places, times), points) else None
