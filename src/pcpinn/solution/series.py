"""Solutions over time for ParaView: the mesh of space at many moments, and an index of them (.pvd)."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from ..discretize.cross_section import cross_section
from ..errors import PcpinnError
from ..mesh.mesh import Mesh
from ..mesh.refine import refined
from ..mesh.slab_mesh import AnyMesh, SlabMesh
from ..progress import Progress
from .export import vtu_file
from .function import Function
from .over_time import FRAMES, MOST_MOMENTS, even_moments, require_time, values_at

_NODES = {
    1: 200,
    2: 2000,
    3: 5000,
}  # a coarser mesh is refined: elements of high degree, and networks, vary inside cells


def write_series(
    solution: Function, path: str | Path, *, frames: int | None = None, progress: Progress | None = None
) -> Path:
    """Write NAME.pvd and, beside it, the folder NAME_vtu with one file per moment. Both appear whole, or not at all.

    Args:
        solution: what to write; all its fields are in each file.
        path: NAME.pvd. An older series of this name is replaced.
        frames: number of moments, evenly spaced; by default the moments of the mesh.
        progress: is told of each file.
    """
    require_time(solution)
    path, progress = Path(path), progress or Progress()
    if path.suffix.lower() != ".pvd":
        raise PcpinnError(f"cannot write a series into {path.name!r}", "use a name that ends in .pvd")
    times = mesh_moments(solution.mesh) if frames is None else even_moments(solution, frames)
    space = fine_enough(solution.mesh)
    folder = path.with_name(f"{path.stem}_vtu")
    _require_ours(path, folder)
    staging = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.stem}."))
        new = staging / "new"
        new.mkdir()
        names = [f"{path.stem}_{k:04d}.vtu" for k in range(len(times))]
        for k, (name, time) in enumerate(zip(names, times, strict=True)):
            vtu_file(new / name, space, solution.fields, values_at(solution, space.nodes, time))
            progress.count("writing", k + 1, len(times))
        (staging / "index").write_bytes(_index([f"{folder.name}/{name}" for name in names], times))
        exchange({folder: new, path: staging / "index"}, staging)
    except OSError as error:
        raise PcpinnError(f"cannot write {path}: {error.strerror or error}", "choose another place") from error
    finally:
        if staging is not None:
            shutil.rmtree(staging, ignore_errors=True)
    return path


def mesh_moments(mesh: AnyMesh) -> np.ndarray:
    """The ends of its slabs, or the moments of its nodes."""
    if isinstance(mesh, SlabMesh):
        times = mesh.times
    else:
        lower, upper = mesh.bounds
        times = np.unique(np.round((mesh.nodes[:, -1] - lower[-1]) / (upper[-1] - lower[-1]), 9))
        times = lower[-1] + times * (upper[-1] - lower[-1])
    if len(times) > MOST_MOMENTS:
        raise PcpinnError(f"the mesh has {len(times)} moments", f"say how many to write, such as --frames {FRAMES}")
    return times


def fine_enough(mesh: AnyMesh) -> Mesh:
    """The mesh of space of a solution over time, refined where few cells would not show it."""
    space = cross_section(mesh)
    if space is None:
        raise PcpinnError(
            "the domain changes with time, so that there is no mesh of space for a series",
            "export the mesh of space and time: pcpinn export DIR --to vtu",
        )
    space = Mesh(space.nodes, space.cells)
    while len(space.nodes) < _NODES[space.dimension]:
        space = refined(space)
    return space


def _require_ours(path: Path, folder: Path) -> None:
    """Refuse to replace what is not an older series."""
    pattern = re.compile(re.escape(path.stem) + r"_\d+\.vtu")
    foreign = folder.is_symlink() or (folder.exists() and not folder.is_dir())
    if not foreign and folder.is_dir():
        foreign = any(not pattern.fullmatch(item.name) for item in folder.iterdir())
    if foreign:
        raise PcpinnError(f"{folder} exists and is not a series", "choose another name with --out, or remove it")
    if path.is_dir():
        raise PcpinnError(f"{path} is a folder", "choose another name with --out")


def _index(files: list[str], times: np.ndarray) -> bytes:
    root = ElementTree.Element("VTKFile", type="Collection", version="0.1", byte_order="LittleEndian")
    collection = ElementTree.SubElement(root, "Collection")
    for file, time in zip(files, times, strict=True):
        ElementTree.SubElement(collection, "DataSet", timestep=repr(float(time)), group="", part="0", file=file)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"


def exchange(wanted: dict[Path, Path], staging: Path) -> None:
    """Rename each new thing to its place. The index goes first and comes last; after a failure the old things are back."""
    undo: list[tuple[Path, Path]] = []
    try:
        for k, place in enumerate(reversed(wanted)):
            if place.exists():
                aside = staging / f"old{k}"
                place.rename(aside)
                undo.append((aside, place))
        for place, new in wanted.items():
            new.rename(place)
            undo.append((place, new))
    except BaseException:
        for now, before in reversed(undo):
            now.rename(before)
        raise
