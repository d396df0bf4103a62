"""Read the user's own mesh from a file."""

from __future__ import annotations

import contextlib
import io
import os
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import PcpinnError
from .check import check_mesh
from .groups import named_facets
from .mesh import Mesh

# Named explicitly, because meshio would also try the Ansys reader on .msh, which can hang on a truncated file.
_FORMATS = {".msh": "gmsh", ".vtu": "vtu", ".xdmf": "xdmf", ".xmf": "xdmf"}
_CORNERS = {  # dimension and number of corners of the cells that are understood
    "vertex": (0, 1),
    "line": (1, 2),
    "line3": (1, 2),
    "triangle": (2, 3),
    "triangle6": (2, 3),
    "tetra": (3, 4),
    "tetra10": (3, 4),
}
_EDGES = {  # corners next to the middle nodes, in the order of the file formats
    "triangle6": [(0, 1), (1, 2), (0, 2)],
    "tetra10": [(0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3)],
}
_STRAIGHT = 1e-10  # middle nodes this close to the middle of the edge, relative to the mesh, are not curved


def read_mesh(path: str | os.PathLike[str]) -> Mesh:
    """Read a mesh of intervals, triangles or tetrahedra from a .msh (Gmsh), .vtu or .xdmf file.

    The cells of the highest dimension make the mesh. Boundary names are Gmsh's physical names; in other files integer
    cell data on the facets give the names "1", "2", ... Facets on the boundary without a name are called "boundary".
    Second-order triangles that are really curved stay so; second-order tetrahedra are straightened.
    """
    path = _check_path(path)
    data = _load(path)
    try:
        return check_mesh(_convert(data))
    except PcpinnError as error:
        raise PcpinnError(f"{path}: {error.problem}", error.remedy) from None
    except Exception as error:  # inconsistent arrays from a broken file
        raise _unreadable(path, error) from error


def _check_path(path: Any) -> Path:
    try:
        path = Path(path)
        found, empty = path.is_file(), path.is_file() and path.stat().st_size == 0
    except (TypeError, ValueError, OSError) as error:
        raise PcpinnError(f"{path!r} is not a usable path: {error}", "give the path of a mesh file") from None
    if not found:
        reason = "is a directory" if path.is_dir() else "does not exist"
        raise PcpinnError(f"the mesh file {path} {reason}", "give the path of an existing mesh file")
    if path.suffix.lower() not in _FORMATS:
        raise PcpinnError(
            f"the mesh file {path} has the unknown type {path.suffix!r}",
            "export the mesh as one of: " + ", ".join(_FORMATS),
        )
    if empty:
        raise PcpinnError(f"the mesh file {path} is empty", "export the mesh again")
    for beside in _beside(path):
        if beside.exists() and not beside.is_file():
            raise PcpinnError(f"{beside}, which {path} refers to, is not a plain file", "export the mesh again")
    return path


def _beside(path: Path) -> set[Path]:
    """Files that a mesh file refers to; to open a pipe among them would take for ever."""
    if path.suffix.lower() != ".xdmf":
        return set()
    text = path.read_text(encoding="utf-8", errors="replace")
    names = re.findall(r"<DataItem[^<>]*Format=.(?:HDF|Binary)[^<>]*>([^<>:]+)", text)
    return {path.parent / name.strip() for name in names if name.strip() and "\0" not in name}


def _load(path: Path) -> Any:
    """meshio's mesh. meshio prints, exits and raises all kinds of exceptions; here they become one."""
    import meshio

    printed = io.StringIO()
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            warnings.simplefilter("ignore")
            warnings.filterwarnings("error", message="string or file could not be read")  # numpy, on truncated text
            return meshio.read(path, file_format=_FORMATS[path.suffix.lower()])
    except (Exception, SystemExit) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: BaseException) -> PcpinnError:
    detail = "" if isinstance(error, SystemExit) else f" ({type(error).__name__}: {str(error)[:200]})"
    return PcpinnError(
        f"the mesh file {path} cannot be read as {_FORMATS[path.suffix.lower()]}{detail}",
        "export it again; from Gmsh as version 2.2 or 4.1, with every part in a physical group or none at all",
    )


def _convert(data: Any) -> Mesh:
    blocks = [(str(block.type), np.asarray(block.data)) for block in data.cells]
    strange = {kind: sum(len(rows) for k, rows in blocks if k == kind) for kind, _ in blocks if kind not in _CORNERS}
    if strange:
        listed = ", ".join(f"{count} of type {kind!r}" for kind, count in strange.items())
        raise PcpinnError(
            f"the mesh has cells that are not simplices of first or second order: {listed}",
            "mesh with triangles or tetrahedra (in Gmsh: switch off recombination, set the element order to 1 or 2)",
        )
    dimension = max((_CORNERS[kind][0] for kind, rows in blocks if len(rows)), default=0)
    if dimension == 0:
        raise PcpinnError("the mesh has no cells", "export intervals, triangles or tetrahedra, not only points")
    cells = _cells([rows for kind, rows in blocks if _CORNERS[kind][0] == dimension and len(rows)])
    points = np.asarray(data.points, dtype=np.float64)
    _check_range("a cell", cells, len(points))
    used = np.unique(cells)
    nodes = _flatten(points, used, dimension)
    cells = _straighten(nodes, cells, dimension)
    boundaries = named_facets(data, dimension, cells[:, : dimension + 1])
    new_number = np.full(len(points), -1)
    used = np.unique(cells)
    new_number[used] = np.arange(len(used))
    for name, rows in boundaries.items():
        _check_range(f"the boundary {name!r}", rows, len(points))
        if np.any(new_number[rows] < 0):
            raise PcpinnError(
                f"the boundary {name!r} has nodes that no cell uses", "export it together with the cells it bounds"
            )
    named = {name: new_number[rows] for name, rows in boundaries.items()}
    return Mesh(np.ascontiguousarray(nodes[used]), new_number[cells], named)


def _cells(blocks: list[np.ndarray]) -> np.ndarray:
    """(c, k) of all blocks together; corners only if they are of different order."""
    width = min(rows.shape[1] for rows in blocks)
    return np.concatenate([rows[:, :width] for rows in blocks]).astype(np.int64)


def _check_range(what: str, numbers: np.ndarray, count: int) -> None:
    if numbers.min() < 0 or numbers.max() >= count:
        wrong = int(numbers.min() if numbers.min() < 0 else numbers.max())
        raise PcpinnError(f"{what} uses node {wrong}, but the nodes are 0 to {count - 1}", "export the mesh again")


def _flatten(points: np.ndarray, used: np.ndarray, dimension: int) -> np.ndarray:
    """(n, dimension) coordinates: files store planar meshes with a third coordinate that is constant."""
    if points.ndim != 2 or points.shape[1] < dimension:
        raise PcpinnError(
            f"the nodes have shape {points.shape} for cells of dimension {dimension}", "export the mesh again"
        )
    x = points[used]
    bad = np.flatnonzero(~np.isfinite(x).all(axis=1))
    if len(bad):
        raise PcpinnError(f"node {used[bad[0]]} has the coordinates {x[bad[0]].tolist()}", "export the mesh again")
    spread = np.ptp(x, axis=0)
    if np.any(spread[dimension:] > 1e-12 * spread.max()):
        raise PcpinnError(
            f"cells of dimension {dimension} lie in {points.shape[1]} coordinates with extents {spread.tolist()}: "
            "a surface or curve in space, not a flat domain",
            "export the volume cells, or move a flat mesh into the plane z = 0 (a line onto the x axis)",
        )
    return points[:, :dimension]


def _straighten(nodes: np.ndarray, cells: np.ndarray, dimension: int) -> np.ndarray:
    """Keep middle nodes only of cells that are curved."""
    kind = {6: "triangle6", 10: "tetra10"}.get(cells.shape[1])
    corners = cells[:, : dimension + 1]
    if kind is None:  # line3: bending an interval along itself changes nothing
        return corners
    a, b = np.array(_EDGES[kind]).T
    away = nodes[cells[:, dimension + 1 :]] - 0.5 * (nodes[cells[:, a]] + nodes[cells[:, b]])
    size = np.max(np.ptp(nodes[np.unique(corners)], axis=0))
    if np.max(np.abs(away)) <= _STRAIGHT * size:
        return corners
    return cells
