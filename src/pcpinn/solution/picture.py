"""Pictures of solutions: a line in 1D, a map in 2D, slices in 3D, with the error beside them if there is a reference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.tri import Triangulation

from ..discretize.space import ScalarSpace
from ..errors import PcpinnError
from ..mesh.mesh import Mesh
from ..mesh.slab_mesh import AnyMesh, SlabMesh
from .function import Named
from .reference import Reference

COLOURS = "viridis"
_SLICE_POINTS = 140


@dataclass(frozen=True)
class _Panel:
    title: str
    draw: Callable[[Figure, Axes], None]


def draw(solution: Named, path: Path, reference: Reference | None = None, title: str = "") -> Path:
    """Write the picture; nothing is shown on a screen."""
    if path.suffix.lower() not in (".png", ".pdf", ".svg"):
        moving = path.suffix.lower() in (".gif", ".mp4")
        remedy = "for moving pictures add --animate (solution.animate)" if moving else "end it in .png, .pdf or .svg"
        raise PcpinnError(f"cannot draw into {path.name!r}", remedy)
    panels = {1: _lines, 2: _maps, 3: _slices}[solution.mesh.dimension](solution)
    if reference is not None:
        panels += _errors(solution, reference)
    columns = min(4, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(4.6 * columns, 3.9 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    axes = np.atleast_1d(figure.subplots(rows, columns)).ravel()
    for panel, ax in zip(panels, axes, strict=False):
        ax.set_title(panel.title, fontsize=10)
        panel.draw(figure, ax)
    for ax in axes[len(panels) :]:
        ax.set_axis_off()
    figure.suptitle(title, fontsize=11)
    return save_figure(figure, path)


def save_figure(figure: Figure, path: Path, dpi: int = 130) -> Path:
    """Write it, into a folder that is made if need be.

    Raises:
        PcpinnError: where that cannot be done.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=dpi)
    except OSError as error:
        raise PcpinnError(f"cannot write {path}: {error.strerror or error}", "choose another place") from error
    return path


def _values(solution: Named, x: np.ndarray) -> np.ndarray:
    return np.reshape(solution(x), (len(x), -1))


def _lines(solution: Named) -> list[_Panel]:
    lower, upper = solution.mesh.bounds
    x = np.linspace(lower[0], upper[0], 500)[:, None]
    values = _values(solution, x)

    def line(k: int) -> _Panel:
        def paint(figure: Figure, ax: Axes) -> None:
            ax.plot(x[:, 0], values[:, k], lw=1.6)
            ax.set_xlabel("x")
            ax.grid(alpha=0.3)

        return _Panel(solution.names[k], paint)

    return [line(k) for k in range(values.shape[1])]


def _maps(solution: Named) -> list[_Panel]:
    points, triangles = subdivided(solution.mesh.simplices)
    values = _values(solution, points)

    def one(k: int) -> _Panel:
        def paint(figure: Figure, ax: Axes) -> None:
            shape = Triangulation(points[:, 0], points[:, 1], triangles)
            colours = ax.tripcolor(shape, values[:, k], shading="gouraud", cmap=COLOURS)
            figure.colorbar(colours, ax=ax)
            frame_axes(ax, solution.mesh)

        return _Panel(solution.names[k], paint)

    return [one(k) for k in range(values.shape[1])]


def _slices(solution: Named) -> list[_Panel]:
    """Mid-planes of a solid; moments in time of a plane domain over time. Only the first four components."""
    mesh = solution.mesh
    lower, upper = mesh.bounds
    if mesh.has_time:
        cuts = [(2, t) for t in np.linspace(lower[2], upper[2], 4)]
    else:
        cuts = [(axis, (lower[axis] + upper[axis]) / 2) for axis in range(3)]
    names = ("x", "y", "t" if mesh.has_time else "z")
    places = mesh.space if isinstance(mesh, SlabMesh) else mesh.simplices  # curved sides stay curved
    space = ScalarSpace(places, 1)

    def one(k: int, axis: int, at: float) -> _Panel:
        i, j = (a for a in range(3) if a != axis)
        u, v = np.meshgrid(
            np.linspace(lower[i], upper[i], _SLICE_POINTS), np.linspace(lower[j], upper[j], _SLICE_POINTS)
        )
        x = np.empty((u.size, 3))
        x[:, i], x[:, j], x[:, axis] = u.ravel(), v.ravel(), at
        outside = space.outside(x[:, : places.dimension])
        values = np.ma.masked_array(_values(solution, x)[:, k], outside).reshape(u.shape)

        def paint(figure: Figure, ax: Axes) -> None:
            figure.colorbar(ax.pcolormesh(u, v, values, cmap=COLOURS, shading="gouraud"), ax=ax)
            ax.set_xlabel(names[i])
            ax.set_ylabel(names[j])
            ax.set_aspect("equal")

        return _Panel(f"{solution.names[k]} at {names[axis]} = {at:.3g}", paint)

    return [one(k, axis, at) for k in range(min(4, len(solution.names))) for axis, at in cuts]


def _errors(solution: Named, reference: Reference) -> list[_Panel]:
    error = np.abs(_values(solution, reference.points)[:, list(reference.components)] - reference.values)

    def one(k: int, component: int) -> _Panel:
        def paint(figure: Figure, ax: Axes) -> None:
            e = np.maximum(error[:, k], 1e-16)
            x = reference.points
            if x.shape[1] == 1:
                order = np.argsort(x[:, 0])
                ax.semilogy(x[order, 0], e[order], lw=1)
                ax.set_xlabel("x")
                return
            scale: dict[str, Any] = {"norm": LogNorm(max(e.max() * 1e-4, 1e-16), max(e.max(), 1e-15))}
            x, e = x[np.argsort(e)], np.sort(e)  # of points in one place (at several times) the worst is seen
            figure.colorbar(ax.scatter(x[:, 0], x[:, 1], c=e, s=4, cmap="magma", **scale), ax=ax)
            frame_axes(ax, solution.mesh)

        return _Panel(f"|{solution.names[component]} - {reference.kind}|", paint)

    return [one(k, c) for k, c in enumerate(reference.components)]


def frame_axes(ax: Axes, mesh: AnyMesh) -> None:
    """Labels and limits; equal scales along both axes unless one of them is time."""
    lower, upper = mesh.bounds
    ax.set_xlabel("x")
    ax.set_ylabel("t" if mesh.has_time and mesh.dimension == 2 else "y")
    ax.set_xlim(lower[0], upper[0])
    ax.set_ylim(lower[1], upper[1])
    if not (mesh.has_time and mesh.dimension == 2):
        ax.set_aspect("equal")


def subdivided(mesh: Mesh, pieces: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Each triangle cut into pieces^2 (following its curve): points (n, 2) and triangles (m, 3), not merged between cells."""
    i, j = np.array([(i, j) for i in range(pieces + 1) for j in range(pieces + 1 - i)]).T
    number = {(a, b): n for n, (a, b) in enumerate(zip(i, j, strict=True))}
    local = []
    for a, b in number:
        if a + b < pieces:
            local.append((number[a, b], number[a + 1, b], number[a, b + 1]))
        if a + b < pieces - 1:
            local.append((number[a + 1, b], number[a + 1, b + 1], number[a, b + 1]))
    x = mesh.skfem.mapping().F(np.stack([i, j]) / pieces)  # (2, c, lattice)
    cells, lattice = x.shape[1:]
    triangles = np.array(local)[None] + lattice * np.arange(cells)[:, None, None]
    return np.moveaxis(x, 0, -1).reshape(-1, 2), triangles.reshape(-1, 3)
