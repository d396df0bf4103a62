"""Moving pictures of solutions over time: a curve in one dimension of space, maps in two."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.tri import Triangulation

from ..discretize.cross_section import cross_section
from ..discretize.space import ScalarSpace
from ..errors import PcpinnError
from ..mesh.extrude import tensor_mesh
from ..mesh.mesh import Mesh
from ..mesh.slab_mesh import AnyMesh
from ..progress import Progress
from .function import Function
from .movie import check_movie, write_movie
from .over_time import FPS, FRAMES, chosen_components, even_moments, require_time, values_at
from .picture import COLOURS, frame_axes, subdivided

_LINE = to_rgb("C0")
_LINE_POINTS = 500
_GRID_POINTS = 140
_TRIANGLES = 20_000  # about as many as there are pixels to tell apart
_PANELS = 4
_SHADES = 96  # of colour in a .gif: more cost space, and are hardly seen
_DPI = {1: 100, 2: 90, 3: 75, 4: 65}  # by number of panels: 60 frames of waves take 2.4 to 5.1 MB
_OUTLIERS = 1e-3  # of the values at either end may be outliers


@dataclass(frozen=True)
class _Stage:
    """Where the values are taken.

    Attributes:
        mesh: of space, for the axes.
        points: (n, d).
        triangles: (m, 3) between them; None for a line.
        hidden: which points (n,) are outside the domain at a moment; None where all are inside at all times.
    """

    mesh: Mesh
    points: np.ndarray
    triangles: np.ndarray | None
    hidden: Callable[[float], np.ndarray] | None


@dataclass(frozen=True)
class _Scene:
    """A figure with one moving thing on each of its axes, and how to set them to a frame."""

    figure: Figure
    axes: list[Axes]
    moving: Sequence[Artist]
    show: Callable[[int], None]


def animate(
    solution: Function,
    path: str | Path,
    *,
    frames: int = FRAMES,
    fps: float = FPS,
    field: str | None = None,
    title: str = "",
    progress: Progress | None = None,
) -> Path:
    """Write a .gif or .mp4 of the solution from its start to its end.

    Each component has a panel of its own, the first four if there are more. Colours (axes, for curves) are the same in all
    frames: the whole range of values, unless a few outliers more than double it; then the colour bar ends in an arrow.

    Args:
        solution: what to show.
        path: the file; its ending chooses the format.
        frames: number of moments, evenly spaced.
        fps: frames per second.
        field: only this field, or this component (v1).
        title: stands before the time.
        progress: is told of each frame.
    """
    require_time(solution)
    path, progress = Path(path), progress or Progress()
    times = even_moments(solution, frames)
    components = dict(list(chosen_components(solution.fields, field).items())[:_PANELS])
    if solution.mesh.dimension > 3:
        raise PcpinnError("a solid over time cannot be animated", "look at it in ParaView: pcpinn export DIR --to pvd")
    check_movie(path, fps)
    stage = _stage_of(solution.mesh)
    values = _all_values(solution, stage, times, list(components), progress)
    names = list(components.values())
    scene = (_curves if stage.triangles is None else _maps)(stage, values, names)
    ramp = np.linspace(1, 0, _SHADES)[:, None]
    colours = ramp + (1 - ramp) * _LINE if stage.triangles is None else mpl.colormaps[COLOURS](1 - ramp[:, 0])[:, :3]
    write_movie(path, _pictures(scene, _clock(times, title), progress), fps, colours)
    return path


def _stage_of(mesh: AnyMesh) -> _Stage:
    """The mesh of space; where the domain changes with time a grid, of which the inside is shown."""
    space = cross_section(mesh)
    lower, upper = (corner[:-1] for corner in mesh.bounds)
    if mesh.dimension == 2:
        x = np.linspace(lower[0], upper[0], _LINE_POINTS)[:, None]
        if space is not None:
            gaps = ScalarSpace(space, 1).outside(x)
            return _Stage(space, x, None, lambda t: gaps)
        return _Stage(_grid(lower, upper), x, None, _outside_of(mesh, x))
    if space is None:
        grid = _grid(lower, upper)
        return _Stage(grid, grid.nodes, grid.cells, _outside_of(mesh, grid.nodes))
    pieces = int(np.clip(np.sqrt(_TRIANGLES / len(space.cells)), 1, 50))
    points, triangles = subdivided(space, pieces)
    keys = np.round((points - lower) / np.max(upper - lower), 9)
    _, first, number = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return _Stage(space, points[first], number.reshape(-1)[triangles], None)


def _grid(lower: np.ndarray, upper: np.ndarray) -> Mesh:
    axes = [np.linspace(a, b, _GRID_POINTS) for a, b in zip(lower, upper, strict=True)]
    return tensor_mesh(axes, ("side",) * (2 * len(axes)))


def _outside_of(mesh: AnyMesh, places: np.ndarray) -> Callable[[float], np.ndarray]:
    space = ScalarSpace(mesh.simplices, 1)
    return lambda t: space.outside(np.column_stack([places, np.full(len(places), t)]))


def _all_values(
    solution: Function, stage: _Stage, times: np.ndarray, columns: list[int], progress: Progress
) -> np.ndarray:
    """(frames, n, k); not a number outside the domain."""
    values = np.empty((len(times), len(stage.points), len(columns)))
    for k, t in enumerate(times):
        values[k] = values_at(solution, stage.points, t)[:, columns]
        if stage.hidden is not None:
            values[k, stage.hidden(t)] = np.nan
        progress.count("evaluating", k + 1, len(times))
    return values


def limits(values: np.ndarray) -> tuple[float, float]:
    """The range of all values, or of all but outliers if those more than double it."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        raise PcpinnError("the solution is not finite anywhere", "solve again")
    low, high = float(finite.min()), float(finite.max())
    inner = np.quantile(finite[:: max(1, len(finite) // 1_000_000)], [_OUTLIERS, 1 - _OUTLIERS])
    if high - low > 2 * np.ptp(inner) > 0:
        low, high = float(inner[0]), float(inner[1])
    size = max(abs(low), abs(high))
    if high - low <= 1e-9 * size or size == 0:  # constant
        low, high = low - 0.05 * (size or 1.0), high + 0.05 * (size or 1.0)
    return low, high


def _curves(stage: _Stage, values: np.ndarray, names: list[str]) -> _Scene:
    """The profile, over that of the start in grey."""
    figure, axes = _panels(names)
    lines: list[Line2D] = []
    for k, ax in enumerate(axes):
        low, high = limits(values[:, :, k])
        margin = 0.05 * (high - low)
        ax.plot(stage.points[:, 0], values[0, :, k], color="0.8", lw=1.6)
        lines += ax.plot(stage.points[:, 0], values[0, :, k], color=_LINE, lw=1.6)
        ax.set_xlim(stage.points[0, 0], stage.points[-1, 0])
        ax.set_ylim(low - margin, high + margin)
        ax.set_xlabel("x")
        ax.grid(alpha=0.3)

    def show(frame: int) -> None:
        for k, line in enumerate(lines):
            line.set_ydata(values[frame, :, k])

    return _Scene(figure, axes, lines, show)


def _maps(stage: _Stage, values: np.ndarray, names: list[str]) -> _Scene:
    figure, axes = _panels(names)
    shape = Triangulation(stage.points[:, 0], stage.points[:, 1], stage.triangles)
    maps: list[Any] = []
    for k, ax in enumerate(axes):
        low, high = limits(values[:, :, k])
        beyond = (bool(np.nanmin(values[:, :, k]) < low), bool(np.nanmax(values[:, :, k]) > high))
        extend: Any = {(True, True): "both", (True, False): "min", (False, True): "max"}.get(beyond, "neither")
        maps.append(ax.tripcolor(shape, values[0, :, k], shading="gouraud", cmap=COLOURS, vmin=low, vmax=high))
        figure.colorbar(maps[-1], ax=ax, extend=extend)
        frame_axes(ax, stage.mesh)

    def show(frame: int) -> None:
        for k, colours in enumerate(maps):
            colours.set_array(values[frame, :, k])

    return _Scene(figure, axes, maps, show)


def _panels(names: list[str]) -> tuple[Figure, list[Axes]]:
    columns = len(names) if len(names) < 4 else 2
    rows = -(-len(names) // columns)
    figure = Figure(figsize=(4.6 * columns, 3.9 * rows), dpi=_DPI[len(names)], layout="compressed")
    axes = list(np.ravel(figure.subplots(rows, columns, squeeze=False)))
    for ax, name in zip(axes, names, strict=True):
        ax.set_title(name, fontsize=10)
    return figure, axes


def _clock(times: np.ndarray, title: str) -> list[str]:
    """What stands above each frame; with the digits that tell one frame from the next."""
    step, largest = times[1] - times[0], float(np.abs(times).max())
    if step >= 1e-4 and largest < 1e6:
        shown = [f"{t:.{max(0, 1 + int(np.ceil(-np.log10(step))))}f}" for t in times]
    else:
        shown = [f"{t:.{int(np.clip(np.ceil(np.log10(largest / step)), 1, 15))}e}" for t in times]
    return [f"{title}   t = {t}".strip() for t in shown]


def _pictures(scene: _Scene, headings: list[str], progress: Progress) -> Iterator[np.ndarray]:
    """(height, width, 3) of each frame; laid out and drawn once, so that nothing but values and time is drawn again."""
    figure, canvas = scene.figure, FigureCanvasAgg(scene.figure)
    heading = figure.suptitle(max(headings, key=len), fontsize=11, parse_math=False)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for artist in (heading, *scene.moving):
        artist.set_animated(True)
    canvas.draw()
    background = canvas.copy_from_bbox(figure.bbox)
    for k, text in enumerate(headings):
        heading.set_text(text)
        scene.show(k)
        canvas.restore_region(background)
        figure.draw_artist(heading)
        for ax, artist in zip(scene.axes, scene.moving, strict=True):
            for part in (artist, *ax.spines.values()):
                ax.draw_artist(part)
        yield np.asarray(canvas.buffer_rgba())[:, :, :3].copy()
        progress.count("drawing", k + 1, len(headings))
