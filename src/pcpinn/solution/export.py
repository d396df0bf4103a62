"""Solutions for other programs."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import meshio
import numpy as np

from ..errors import PcpinnError
from ..files import make_folder_of, write_atomically
from ..mesh.mesh import Mesh
from ..problem.field import Field
from .function import Function

_CELLS = {(1, 2): "line", (2, 3): "triangle", (2, 6): "triangle6", (3, 4): "tetra", (3, 10): "tetra10"}


def write_vtu(solution: Function, path: Path) -> Path:
    """Mesh and nodal values in VTK's XML format."""
    mesh = solution.mesh.simplices
    temporary = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        vtu_file(temporary, mesh, solution.fields, np.reshape(solution(mesh.nodes), (len(mesh.nodes), -1)))
        temporary.replace(path)
    except OSError as error:
        raise PcpinnError(f"cannot write {path}: {error.strerror or error}", "choose another place") from error
    finally:
        with contextlib.suppress(OSError):  # a folder that cannot be written says so a second time
            temporary.unlink(missing_ok=True)
    return path


def vtu_file(path: Path, mesh: Mesh, fields: Sequence[Field], values: np.ndarray) -> None:
    """A mesh with the values (n, components) of all fields at its nodes, straight to the path.

    Vectors of two components get a third one, 0: ParaView draws arrows of three only.
    """
    kind = _CELLS[
        mesh.dimension, mesh.cells.shape[1]
    ]  # triangle6, tetra10: corners, then the nodes on edges, in our order
    data = by_field(fields, values)
    meshio.write(path, meshio.Mesh(in_space(mesh), [(kind, mesh.cells)], point_data=data), file_format="vtu")


def in_space(mesh: Mesh) -> np.ndarray:
    """(n, 3) its nodes, with zeros for coordinates that it has not."""
    points = np.zeros((len(mesh.nodes), 3))
    points[:, : mesh.dimension] = mesh.nodes
    return points


def by_field(fields: Sequence[Field], values: np.ndarray) -> dict[str, np.ndarray]:
    """(n, components) values of all fields -> (n,) of each scalar one, (n, 3) or more of a vector."""
    data: dict[str, np.ndarray] = {}
    at = 0
    for f in fields:
        part = values[:, at : at + f.components]
        if f.components <= 2:
            part = part[:, 0] if f.components == 1 else np.pad(part, ((0, 0), (0, 1)))
        data[f.name] = part
        at += f.components
    return data


def write_npz(solution: Function, path: Path) -> Path:
    """Arrays nodes, cells, and one array of nodal values per field."""
    buffer, mesh = io.BytesIO(), solution.mesh.simplices
    values, at = np.reshape(solution(mesh.nodes), (len(mesh.nodes), -1)), 0
    arrays: dict[str, Any] = {"nodes": mesh.nodes, "cells": mesh.cells}
    for f in solution.fields:
        arrays[f.name] = values[:, at] if f.components == 1 else values[:, at : at + f.components]
        at += f.components
    np.savez_compressed(buffer, **arrays)
    make_folder_of(path)
    write_atomically(path, buffer.getvalue())
    return path
