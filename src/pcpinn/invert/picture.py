"""Pictures of inverse problems: data, reconstruction, uncertainty; truth and difference where there is one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.tri import Triangulation

from ..errors import PcpinnError
from ..mesh.slab_mesh import SlabMesh
from ..solution.picture import COLOURS, save_figure, subdivided
from .truth import Inferred, Truth

_DATA = 5000  # more points than these are thinned out


def draw_inverse(solution: Inferred, path: Path, truth: Truth | None = None, title: str = "") -> Path:
    """One row for u (at mid-time, if there is time) and one for each coefficient."""
    if path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise PcpinnError(f"cannot draw into {path.name!r}", "end it in .png, .pdf or .svg")
    mesh = solution.mesh
    space = mesh.space if isinstance(mesh, SlabMesh) else mesh
    dimension = space.dimension - (space.has_time and not isinstance(mesh, SlabMesh))
    if dimension > 2:
        raise PcpinnError("inverse problems in three dimensions are not drawn", "export the solution instead")
    rows = [solution.names[0], *solution.coefficients]
    columns = ["reconstruction"] + (["truth", "difference"] if truth is not None else [])
    columns += ["standard deviation"] if solution.uncertainty is not None else []
    count = 1 + len(columns)
    figure = Figure(figsize=(3.7 * count, 3.3 * len(rows)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = np.reshape(figure.subplots(len(rows), count), (len(rows), count))
    points, triangles = _places(solution)
    for row, name in enumerate(rows):
        _draw_data(figure, axes[row, 0], solution, row == 0)
        values = _value(solution, name, points)
        exact = None if truth is None else _truth_at(truth, name, solution, points)
        for column, title in enumerate(columns, start=1):
            ax = axes[row, column]
            shown: Any = values
            if title == "truth":
                shown = exact
            elif title == "difference":
                shown = None if exact is None else values - exact
            elif title == "standard deviation":
                shown = solution.std(name, points)
            if shown is None:
                ax.set_axis_off()
                continue
            palette = "RdBu_r" if title == "difference" else COLOURS if title != "standard deviation" else "magma"
            _paint(figure, ax, points, triangles, shown, palette, title == "difference")
            ax.set_title(f"{name}: {title}", fontsize=10)
    figure.suptitle(_title(solution, title), fontsize=11)
    return save_figure(figure, path, dpi=120)


def _title(solution: Inferred, problem: str) -> str:
    parts = [problem]
    for name, value in solution.parameters.items():
        parts.append(f"{name} = {', '.join(f'{v:.4g}' for v in np.atleast_1d(value))}")
    if solution.mesh.has_time:
        parts.append("u at half time")
    return "; ".join(parts)


def _places(solution: Inferred) -> tuple[np.ndarray, np.ndarray | None]:
    """Points (n, d) to draw at, with triangles in the plane; of space-time a slice at half time."""
    mesh = solution.mesh
    lower, upper = mesh.bounds
    if isinstance(mesh, SlabMesh):
        middle = (lower[-1] + upper[-1]) / 2
        if mesh.space.dimension == 1:
            x = np.linspace(lower[0], upper[0], 300)[:, None]
            return np.column_stack([x, np.full(len(x), middle)]), None
        x, triangles = subdivided(mesh.space)
        return np.column_stack([x, np.full(len(x), middle)]), triangles
    if mesh.dimension == 1:
        return np.linspace(lower[0], upper[0], 300)[:, None], None
    if mesh.dimension == 2:
        return subdivided(mesh)
    line = [np.linspace(a, b, 80) for a, b in zip(lower[:2], upper[:2], strict=True)]
    u, v = (g.ravel() for g in np.meshgrid(*line))
    x = np.column_stack([u, v, np.full(len(u), (lower[2] + upper[2]) / 2)])
    return x, Triangulation(u, v).triangles


def _value(solution: Inferred, name: str, points: np.ndarray) -> np.ndarray:
    if name in solution.coefficients:
        return solution.coefficient(name)(points)
    return np.reshape(solution(points), (len(points), -1))[:, solution.names.index(name)]


def _truth_at(truth: Truth, name: str, solution: Inferred, points: np.ndarray) -> np.ndarray | None:
    """The truth at other points: of the nearest of its own points, by linear interpolation."""
    from scipy.interpolate import LinearNDInterpolator

    values = truth.coefficients.get(name)
    x, at = truth.points, points
    if values is None:
        if name not in solution.names:
            return None
        values = np.reshape(truth.u, (len(x), -1))[:, solution.names.index(name)]
    if solution.mesh.has_time:  # the moment nearest to that of the picture
        times = np.unique(x[:, -1])
        near = times[np.abs(times - points[0, -1]).argmin()]
        chosen = x[:, -1] == near
        x, values, at = x[chosen][:, :-1], values[chosen], points[:, :-1]
    if x.shape[1] == 1:
        order = np.argsort(x[:, 0])
        return np.interp(at[:, 0], x[order, 0], values[order])
    return LinearNDInterpolator(x, values)(at)


def _draw_data(figure: Figure, ax: Axes, solution: Inferred, first: bool) -> None:
    if not first or not solution.data:
        ax.set_axis_off()
        return
    d = solution.data[0]
    step = max(1, len(d) // _DATA)
    x, y = d.points[::step], d.values[::step]
    spatial = x.shape[1] - solution.mesh.has_time
    if spatial == 1:
        ax.scatter(x[:, 0], y, s=3)
    else:
        figure.colorbar(ax.scatter(x[:, 0], x[:, 1], c=y, s=4, cmap=COLOURS), ax=ax)
        ax.set_aspect("equal")
    ax.set_title(f"{len(d)} data", fontsize=10)


def _paint(
    figure: Figure,
    ax: Axes,
    points: np.ndarray,
    triangles: np.ndarray | None,
    values: np.ndarray,
    palette: str,
    even: bool,
) -> None:
    if triangles is None:
        order = np.argsort(points[:, 0])
        ax.plot(points[order, 0], values[order], lw=1.4)
        ax.grid(alpha=0.3)
        return
    values = np.nan_to_num(values)
    limits = {"vmin": -np.abs(values).max(), "vmax": np.abs(values).max()} if even else {}
    shape = Triangulation(points[:, 0], points[:, 1], triangles)
    figure.colorbar(ax.tripcolor(shape, values, shading="gouraud", cmap=palette, **limits), ax=ax)
    ax.set_aspect("equal")
