"""Solutions for other programs."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import meshio
import numpy as np

from ..errors import PcpinnError
from ..files import write_atomically

if TYPE_CHECKING:
    from .solution import Solution

_CELLS = {(1, 2): "line", (2, 3): "triangle", (2, 6): "triangle6", (3, 4): "tetra"}


def write_vtu(solution: Solution, path: Path) -> Path:
    """Mesh and nodal values in VTK's XML format."""
    mesh = solution.mesh.simplices
    points = np.zeros((len(mesh.nodes), 3))
    points[:, : mesh.dimension] = mesh.nodes
    kind = _CELLS[
        mesh.dimension, mesh.cells.shape[1]
    ]  # triangle6: corners, then the nodes on edges 01, 12, 02, as ours
    content = meshio.Mesh(points, [(kind, mesh.cells)], point_data=_nodal(solution))
    temporary = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        meshio.write(temporary, content, file_format="vtu")
        temporary.replace(path)
    except OSError as error:
        raise PcpinnError(f"cannot write {path}: {error.strerror or error}", "choose another place") from error
    finally:
        temporary.unlink(missing_ok=True)
    return path


def write_npz(solution: Solution, path: Path) -> Path:
    """Arrays nodes, cells, and one array of nodal values per field."""
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {
        "nodes": solution.mesh.simplices.nodes,
        "cells": solution.mesh.simplices.cells,
        **_nodal(solution),
    }
    np.savez_compressed(buffer, **arrays)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, buffer.getvalue())
    return path


def _nodal(solution: Solution) -> dict[str, np.ndarray]:
    return {f.name: np.asarray(solution(solution.mesh.simplices.nodes, f.name)) for f in solution.fields}
