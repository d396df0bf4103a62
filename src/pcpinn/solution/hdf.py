"""Solutions as HDF5 for ParaView and other programs: XDMF (an index with its arrays beside it) and VTKHDF (one file).

A solution over time is the mesh of space with values at many moments, as in `series`; the mesh is stored once.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from ..errors import PcpinnError
from ..mesh.mesh import Mesh
from ..progress import Progress
from .export import by_field, in_space
from .function import Function
from .over_time import even_moments, require_time, values_at
from .series import exchange, fine_enough, mesh_moments


@dataclass(frozen=True)
class Cells:
    """What both formats call the cells of a mesh: XDMF by a word, VTK by a number."""

    xdmf: str
    vtk: int


_CELLS = {
    (1, 2): Cells("Polyline", 3),
    (2, 3): Cells("Triangle", 5),
    (2, 6): Cells("Triangle_6", 22),
    (3, 4): Cells("Tetrahedron", 10),
    (3, 10): Cells("Tetrahedron_10", 24),
}


def write_xdmf(solution: Function, path: Path, *, frames: int | None = None, progress: Progress | None = None) -> Path:
    """Write NAME.xdmf and, beside it, NAME.h5. Both appear whole, or not at all.

    Args:
        solution: what to write; all its fields.
        path: NAME.xdmf.
        frames: of a solution over time, the number of moments, evenly spaced; by default the moments of the mesh.
        progress: is told of each moment.
    """
    _require_ending(path, ".xdmf")
    moments = _Moments.of(solution, frames)
    with _Staging(path) as staging:
        arrays = path.with_suffix(".h5")
        with _hdf5().File(staging / "arrays", "w") as file:
            file["points"], file["cells"] = in_space(moments.mesh), moments.mesh.cells
            for k, values in moments.values(solution, progress):
                for name, array in values.items():
                    file[f"values/{k}/{name}"] = array
            (staging / "index").write_bytes(_index(moments, file, arrays.name))
        exchange({arrays: staging / "arrays", path: staging / "index"}, staging)
    return path


def write_vtkhdf(
    solution: Function, path: Path, *, frames: int | None = None, progress: Progress | None = None
) -> Path:
    """Write one file in VTK's own HDF5 format (2.0), an unstructured grid; ParaView 5.12 and later read it.

    Args: as of `write_xdmf`, but that the name ends in .vtkhdf.
    """
    _require_ending(path, ".vtkhdf")
    moments = _Moments.of(solution, frames)
    mesh, cells = moments.mesh, moments.cells
    with _Staging(path) as staging:
        with _hdf5().File(staging / "file", "w") as file:
            root = file.create_group("VTKHDF")
            root.attrs["Version"] = np.array([2, 0])
            root.attrs["Type"] = np.bytes_("UnstructuredGrid")  # fixed length, ASCII: the reader takes nothing else
            counts = {"NumberOfPoints": len(mesh.nodes), "NumberOfCells": len(mesh.cells)}
            counts["NumberOfConnectivityIds"] = mesh.cells.size
            for name, count in counts.items():
                root[name] = np.array([count], dtype=np.int64)
            root["Points"], root["Connectivity"] = in_space(mesh), mesh.cells.ravel().astype(np.int64)
            root["Offsets"] = np.arange(len(mesh.cells) + 1, dtype=np.int64) * mesh.cells.shape[1]
            root["Types"] = np.full(len(mesh.cells), cells.vtk, dtype=np.uint8)
            _point_data(root, moments, solution, progress)
        exchange({path: staging / "file"}, staging)
    return path


def _point_data(root: Any, moments: _Moments, solution: Function, progress: Progress | None) -> None:
    """Values of all moments, one after the other in one array; of a solution over time with the times of each."""
    data, n = root.create_group("PointData"), len(moments.mesh.nodes)
    for k, values in moments.values(solution, progress):
        for name, array in values.items():
            if name not in data:
                data.create_dataset(name, (len(moments.times) * n, *array.shape[1:]), dtype=np.float64)
            data[name][k * n : (k + 1) * n] = array
    if not moments.over_time:
        return
    steps, count = root.create_group("Steps"), len(moments.times)
    steps.attrs["NSteps"] = count
    steps["Values"] = moments.times
    zeros = np.zeros(count, dtype=np.int64)  # one mesh, from its beginning, at all times
    steps["NumberOfParts"] = np.ones(count, dtype=np.int64)
    for name in ("PartOffsets", "PointOffsets"):
        steps[name] = zeros
    for name in ("CellOffsets", "ConnectivityIdOffsets"):
        steps[name] = zeros[:, None]
    offsets = steps.create_group("PointDataOffsets")
    for name in data:
        offsets[name] = np.arange(count, dtype=np.int64) * n


@dataclass(frozen=True)
class _Moments:
    """The mesh that is written, and when; a steady solution has one moment without a time."""

    mesh: Mesh
    times: np.ndarray
    over_time: bool

    @classmethod
    def of(cls, solution: Function, frames: int | None) -> _Moments:
        """Raises: PcpinnError for frames of a steady solution."""
        if frames is not None:
            require_time(solution)
        if not solution.mesh.has_time:
            return cls(solution.mesh.simplices, np.zeros(1), False)
        times = mesh_moments(solution.mesh) if frames is None else even_moments(solution, frames)
        return cls(fine_enough(solution.mesh), times, True)

    @property
    def cells(self) -> Cells:
        """What the formats call them."""
        return _CELLS[self.mesh.dimension, self.mesh.cells.shape[1]]

    def values(self, solution: Function, progress: Progress | None) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
        """(number, values by field) of each moment."""
        for k, time in enumerate(self.times):
            if self.over_time:
                found = values_at(solution, self.mesh.nodes, time)
            else:
                found = np.reshape(solution(self.mesh.nodes), (len(self.mesh.nodes), -1))
            yield k, by_field(solution.fields, found)
            (progress or Progress()).count("writing", k + 1, len(self.times))


def _index(moments: _Moments, file: Any, name: str) -> bytes:
    root = ElementTree.Element("Xdmf", Version="3.0")
    parent = ElementTree.SubElement(root, "Domain")
    if moments.over_time:
        parent = ElementTree.SubElement(
            parent, "Grid", Name="over time", GridType="Collection", CollectionType="Temporal"
        )
    for k, time in enumerate(moments.times):
        grid = ElementTree.SubElement(parent, "Grid", Name="mesh", GridType="Uniform")
        if moments.over_time:
            ElementTree.SubElement(grid, "Time", Value=repr(float(time)))
        geometry = ElementTree.SubElement(grid, "Geometry", GeometryType="XYZ")
        _item(geometry, file["points"], name)
        per_cell = str(moments.mesh.cells.shape[1])
        topology = ElementTree.SubElement(
            grid, "Topology", TopologyType=moments.cells.xdmf, NumberOfElements=str(len(moments.mesh.cells)),
            NodesPerElement=per_cell,
        )  # fmt: skip
        _item(topology, file["cells"], name)
        for field, array in file[f"values/{k}"].items():
            kind = {1: "Scalar", 2: "Vector"}[array.ndim] if array.ndim == 1 or array.shape[1] == 3 else "Matrix"
            attribute = ElementTree.SubElement(grid, "Attribute", Name=field, AttributeType=kind, Center="Node")
            _item(attribute, array, name)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"


def _item(parent: ElementTree.Element, array: Any, file: str) -> None:
    kind = "Float" if np.issubdtype(array.dtype, np.floating) else "Int"
    item = ElementTree.SubElement(
        parent, "DataItem", DataType=kind, Precision=str(array.dtype.itemsize), Format="HDF",
        Dimensions=" ".join(map(str, array.shape)),
    )  # fmt: skip
    item.text = f"{file}:{array.name}"


def _hdf5() -> Any:
    """Imported late: machines that only train go without it."""
    try:
        import h5py
    except ModuleNotFoundError as error:
        raise PcpinnError("such files need h5py", "pip install h5py") from error
    return h5py


def _require_ending(path: Path, ending: str) -> None:
    if path.suffix.lower() != ending:
        raise PcpinnError(f"cannot write {ending[1:]} into {path.name!r}", f"use a name that ends in {ending}")
    if path.is_dir():
        raise PcpinnError(f"{path} is a folder", "choose another name with --out")


class _Staging:
    """A folder beside the target for files that are not whole yet."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> Path:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._folder = Path(tempfile.mkdtemp(dir=self._path.parent, prefix=f".{self._path.stem}."))
        except OSError as error:
            raise self._told(error) from error
        return self._folder

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise self._told(error) from error

    def _told(self, error: OSError) -> PcpinnError:
        return PcpinnError(f"cannot write {self._path}: {error.strerror or error}", "choose another place")
