"""Pictures of solutions: a line in 1D, a map in 2D, slices in 3D, with the error beside them if there is a reference."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from matplotlib.tri import Triangulation

from ..discretize.space import ScalarSpace
from ..errors import PcpinnError
from ..mesh.mesh import Mesh
from ..mesh.slab_mesh import AnyMesh, SlabMesh
from .error_map import error_surface
from .function import Named
from .reference import Reference

COLOURS = "viridis"
_SLICE_POINTS = 140
_TRIANGLES = 100_000  # of a map
_LINES = 200  # along each axis of a map of a line over time


@dataclass(frozen=True)
class _Panel:
    title: str
    draw: Callable[[Figure, Axes], None]


def draw(solution: Named, path: Path, reference: Reference | None = None, title: str = "") -> Path:
    """Write the picture; nothing is shown on a screen."""
    require_picture(path)
    figure = empty_figure()
    compose(figure, solution, reference, title)
    return save_figure(figure, path)


def empty_figure() -> Figure:
    """One that no screen knows of."""
    figure = Figure(layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def compose(figure: Figure, solution: Named, reference: Reference | None = None, title: str = "") -> np.ndarray:
    """Draw into an empty figure, which gets the size it needs; the axes of all panels."""
    over_time = isinstance(solution.mesh, SlabMesh) and solution.mesh.dimension == 3
    ways = {1: _lines, 2: _maps, 3: _moments if over_time else _slices}
    panels = ways[solution.mesh.dimension](solution)
    if reference is not None:
        panels += _errors(solution, reference)
    columns = min(4, len(panels))
    rows = -(-len(panels) // columns)
    ratio = _ratio(solution.mesh)
    figure.set_size_inches(4.6 * columns, min(3.8, 1.4 + 3.0 / ratio) * rows + 0.1)  # long domains need less height
    letters = 40 if ratio > 0.5 else 24
    axes = np.atleast_1d(figure.subplots(rows, columns)).ravel()
    for panel, ax in zip(panels, axes, strict=False):
        ax.set_title(textwrap.fill(panel.title, letters), fontsize=10)
        panel.draw(figure, ax)
    for ax in axes[len(panels) :]:
        ax.set_axis_off()
    figure.suptitle(title, fontsize=11)
    return axes[: len(panels)]


def _ratio(mesh: AnyMesh) -> float:
    """Length by height of a picture of it, where both axes have one scale; else 1."""
    lower, upper = mesh.bounds
    return float((upper[0] - lower[0]) / (upper[1] - lower[1])) if mesh.dimension - mesh.has_time == 2 else 1.0


def png_of(draw_into: Callable[[Figure], object], dpi: int = 110) -> bytes:
    """A picture in memory, by what draws into an empty figure."""
    figure = empty_figure()
    draw_into(figure)
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=dpi, format="png")
    return buffer.getvalue()


def screen_axes(draw_into: Callable[[Figure], np.ndarray]) -> np.ndarray:
    """The axes of a figure of pyplot, which notebooks show by themselves and `pyplot.show()` on a screen."""
    from matplotlib import pyplot

    return draw_into(pyplot.figure(layout="constrained"))


def show_on_screen(plot: Callable[[], object]) -> None:
    """Open a window with what `plot` draws by pyplot.

    Raises:
        PcpinnError: where there is no screen.
    """
    from matplotlib import get_backend, pyplot
    from matplotlib.backends.registry import BackendFilter, backend_registry

    if get_backend().lower() not in [b.lower() for b in backend_registry.list_builtin(BackendFilter.INTERACTIVE)]:
        raise PcpinnError("there is no screen to show pictures on", "write one: solution.plot('u.png')")
    plot()
    pyplot.show()


def require_picture(path: Path) -> None:
    """Refuse endings that are not those of pictures."""
    if path.suffix.lower() not in (".png", ".pdf", ".svg"):
        moving = path.suffix.lower() in (".gif", ".mp4")
        remedy = "for moving pictures add --animate (solution.animate)" if moving else "end it in .png, .pdf or .svg"
        raise PcpinnError(f"cannot draw into {path.name!r}", remedy)


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
            ax.set_ylabel(solution.names[k])
            ax.grid(alpha=0.3)

        return _Panel(solution.names[k], paint)

    return [line(k) for k in range(values.shape[1])]


def _maps(solution: Named) -> list[_Panel]:
    points, triangles = subdivided(thinned(solution.mesh).simplices)
    values = _values(solution, points)

    def one(k: int) -> _Panel:
        def paint(figure: Figure, ax: Axes) -> None:
            shape = Triangulation(points[:, 0], points[:, 1], triangles)
            colours = ax.tripcolor(shape, values[:, k], shading="gouraud", cmap=COLOURS)
            figure.colorbar(colours, ax=ax, label=solution.names[k])
            frame_axes(ax, solution.mesh)

        return _Panel(solution.names[k], paint)

    return [one(k) for k in range(values.shape[1])]


def _moments(solution: Named) -> list[_Panel]:
    """Four moments of a plane domain over time. Only the first four components."""
    mesh = solution.mesh
    assert isinstance(mesh, SlabMesh)
    places, triangles = subdivided(mesh.space)
    times = np.linspace(mesh.times[0], mesh.times[-1], 4)
    values = [_values(solution, np.column_stack([places, np.full(len(places), t)])) for t in times]

    def one(k: int, number: int) -> _Panel:
        scale = _common([v[:, k] for v in values])

        def paint(figure: Figure, ax: Axes) -> None:
            shape = Triangulation(places[:, 0], places[:, 1], triangles)
            colours = ax.tripcolor(shape, values[number][:, k], shading="gouraud", cmap=COLOURS, **scale)
            figure.colorbar(colours, ax=ax, label=solution.names[k])
            frame_axes(ax, mesh)

        return _Panel(f"{solution.names[k]} at t = {times[number]:.3g}", paint)

    return [one(k, number) for k in range(min(4, len(solution.names))) for number in range(len(times))]


def _common(values: Sequence[np.ndarray]) -> dict[str, Any]:
    """One scale for all: colours of different moments can be compared."""
    return {"vmin": min(float(v.min()) for v in values), "vmax": max(float(v.max()) for v in values)}


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
    space, values_of = ScalarSpace(places, 1), len(solution.names)

    names_of = range(min(4, len(solution.names)))
    planes = []
    for axis, at in cuts:
        i, j = (a for a in range(3) if a != axis)
        u, v = np.meshgrid(
            np.linspace(lower[i], upper[i], _SLICE_POINTS), np.linspace(lower[j], upper[j], _SLICE_POINTS)
        )
        x = np.empty((u.size, 3))
        x[:, i], x[:, j], x[:, axis] = u.ravel(), v.ravel(), at
        outside = space.outside(x[:, : places.dimension])
        planes.append((u, v, np.ma.masked_array(_values(solution, x), np.repeat(outside[:, None], values_of, axis=1))))

    def one(k: int, number: int) -> _Panel:
        axis, at = cuts[number]
        i, j = (a for a in range(3) if a != axis)
        u, v, values = planes[number]
        scale = _common([plane[2][:, k] for plane in planes])

        def paint(figure: Figure, ax: Axes) -> None:
            shown = values[:, k].reshape(u.shape)
            colours = ax.pcolormesh(u, v, shown, cmap=COLOURS, shading="gouraud", **scale)
            figure.colorbar(colours, ax=ax, label=solution.names[k])
            ax.set_xlabel(names[i])
            ax.set_ylabel(names[j])
            ax.set_aspect("equal")
            tidy_ticks(ax, (upper[i] - lower[i]) / (upper[j] - lower[j]))

        return _Panel(f"{solution.names[k]} at {names[axis]} = {at:.3g}", paint)

    return [one(k, number) for k in names_of for number in range(len(cuts))]


def _errors(solution: Named, reference: Reference) -> list[_Panel]:
    error = np.abs(_values(solution, reference.points)[:, list(reference.components)] - reference.values)
    mesh = solution.mesh
    plane = mesh.space if isinstance(mesh, SlabMesh) and mesh.dimension == 3 else mesh.simplices
    lattice = subdivided(plane) if plane.dimension == 2 else None

    def one(k: int, component: int) -> _Panel:
        e, x, name = np.maximum(error[:, k], 1e-16), reference.points, solution.names[component]
        surface = None if x.shape[1] == 1 else error_surface(solution.mesh, x, e, lattice)

        def paint(figure: Figure, ax: Axes) -> None:
            if surface is None:
                order = np.argsort(x[:, 0])
                ax.semilogy(x[order, 0], e[order], lw=1)
                ax.set_xlabel("x")
                ax.set_ylabel(f"|error of {name}|")
                return
            values = surface.values
            scale: dict[str, Any] = {"norm": LogNorm(max(values.max() * 1e-4, 1e-16), max(values.max(), 1e-15))}
            if surface.shape is not None:
                colours: Any = ax.tripcolor(surface.shape, values, shading="gouraud", cmap="magma", **scale)
            else:
                colours = ax.scatter(surface.places[:, 0], surface.places[:, 1], c=values, s=6, cmap="magma", **scale)
            figure.colorbar(colours, ax=ax, label=f"|error of {name}|")
            frame_axes(ax, solution.mesh)

        largest = "largest error over time" if surface is not None and surface.over_time else "error"
        return _Panel(f"{largest} of {name}, {_AGAINST.get(reference.kind, reference.kind)}", paint)

    return [one(k, c) for k, c in enumerate(reference.components)]


_AGAINST = {
    "exact": "against the exact solution",
    "certified": "against the certified reference",
    "published": "against published data",
}


def frame_axes(ax: Axes, mesh: AnyMesh) -> None:
    """Labels and limits; equal scales along both axes unless one of them is time."""
    lower, upper = mesh.bounds
    ax.set_xlabel("x")
    ax.set_ylabel("t" if mesh.has_time and mesh.dimension == 2 else "y")
    ax.set_xlim(lower[0], upper[0])
    ax.set_ylim(lower[1], upper[1])
    equal = not (mesh.has_time and mesh.dimension == 2)
    if equal:
        ax.set_aspect("equal")
    tidy_ticks(ax, (upper[0] - lower[0]) / (upper[1] - lower[1]) if equal else 1.0)


def tidy_ticks(ax: Axes, ratio: float) -> None:
    """As many ticks as have room where x is `ratio` times as long on paper as y."""
    ax.xaxis.set_major_locator(MaxNLocator(5 if ratio > 0.7 else 3 if ratio > 0.35 else 1))
    ax.yaxis.set_major_locator(MaxNLocator(5 if ratio < 3 else 2))


def thinned(mesh: AnyMesh) -> AnyMesh:
    """A mesh of a line over time with no more lines than a picture shows, others as they are: marches have thousands of steps."""
    if not isinstance(mesh, SlabMesh) or mesh.space.dimension > 1 or mesh.cell_count < _TRIANGLES // 2:
        return mesh
    if len(mesh.space.nodes) != mesh.space.cell_count + 1:  # a line in several parts
        return mesh
    lines = np.sort(mesh.space.nodes[:, 0]), mesh.times
    x, times = (line[np.unique(np.linspace(0, len(line) - 1, _LINES).round().astype(int))] for line in lines)
    ends = np.arange(len(x))
    return SlabMesh(Mesh(x[:, None], np.stack([ends[:-1], ends[1:]], axis=1), {}), times)


def subdivided(mesh: Mesh, pieces: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Each triangle cut into pieces^2 (following its curve): points (n, 2) and triangles (m, 3), not merged between cells.

    By default into 16, into fewer where there are many.
    """
    if pieces is None:
        pieces = int(np.clip(np.sqrt(_TRIANGLES / mesh.cell_count), 1, 4))
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
