"""Pictures of inverse problems: data, reconstruction, uncertainty; truth and difference where there is one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.tri import Triangulation

from ..errors import PcpinnError
from ..mesh.mesh import Mesh
from ..mesh.slab_mesh import SlabMesh
from ..solution.card import plus_minus
from ..solution.picture import COLOURS, subdivided, tidy_ticks
from .truth import Inferred, Truth

_DATA = 5000  # more points than these are thinned out
_COLUMNS = 3
_MARKED = 400  # positions of data that are marked on the reconstruction


@dataclass(frozen=True)
class _Places:
    """Where a row of panels is drawn.

    Attributes:
        points: (n, d), at half time where there is time.
        triangles: of the plane; None for a line.
        along: (n,) the coordinate of a line: x, or the length of the way along a boundary.
        label: of that coordinate.
    """

    points: np.ndarray
    triangles: np.ndarray | None = None
    along: np.ndarray | None = None
    label: str = "x"


def compose_inverse(
    figure: Figure,
    solution: Inferred,
    truth: Truth | None = None,
    title: str = "",
    boundaries: Mapping[str, Sequence[str]] | None = None,
) -> np.ndarray:
    """Draw into an empty figure: one row for u (at half time, if there is time), one for each coefficient.

    Args:
        figure: gets the size it needs.
        solution: what was found.
        truth: to compare with.
        title: of the whole.
        boundaries: coefficients that live on boundaries alone, with the names of these.
    """
    mesh = solution.mesh
    space = mesh.space if isinstance(mesh, SlabMesh) else mesh
    dimension = space.dimension - (space.has_time and not isinstance(mesh, SlabMesh))
    if dimension > 2:
        raise PcpinnError("inverse problems in three dimensions are not drawn", "export the solution instead")
    rows = []
    for name in _names(solution):
        panels = _row(solution, name, truth, (boundaries or {}).get(name, ()))
        rows += [panels[k : k + _COLUMNS] for k in range(0, len(panels), _COLUMNS)]
    count = max(map(len, rows))
    figure.set_size_inches(4.6 * count, 3.9 * len(rows) + 0.3)
    axes = np.reshape(figure.subplots(len(rows), count), (len(rows), count))
    used = []
    for row, panels in zip(axes, rows, strict=True):
        for ax, panel in zip(row, panels, strict=False):
            panel(figure, ax)
            used.append(ax)
        for ax in row[len(panels) :]:
            ax.set_axis_off()
    figure.suptitle(_title(solution, title), fontsize=11)
    return np.array(used, dtype=object)


Panel = Callable[[Figure, Axes], None]


def _names(solution: Inferred) -> list[str]:
    return [solution.names[0], *solution.coefficients]


def _row(solution: Inferred, name: str, truth: Truth | None, boundaries: Sequence[str]) -> list[Panel]:
    """All panels of one unknown. Truth and reconstruction share their colours: two scales would hide an undershoot."""
    places = _along(solution, boundaries) if boundaries else _places(solution)
    found = _value(solution, name, places.points)
    exact = None if truth is None else _truth_at(truth, name, solution, places)
    both = found if exact is None else np.concatenate([found, exact[np.isfinite(exact)]])
    scale = (float(both.min()), float(both.max()))
    panels: list[Panel] = []
    if name == solution.names[0] and solution.data:
        panels.append(lambda figure, ax: _draw_data(figure, ax, solution))
    std = None if solution.uncertainty is None else solution.std(name, places.points)
    first = name == solution.names[0]
    at = f" on {', '.join(boundaries)}" if boundaries else ""

    def reconstruction(figure: Figure, ax: Axes) -> None:
        _paint(figure, ax, places, found, COLOURS, scale, name, band=std)
        ax.set_title(f"{name}: reconstruction{at}", fontsize=10)
        if first and places.triangles is not None:
            _mark(ax, solution)

    panels.append(reconstruction)
    if exact is not None:
        difference = found - exact
        largest = float(np.nanmax(np.abs(difference)))

        def true(figure: Figure, ax: Axes) -> None:
            _paint(figure, ax, places, exact, COLOURS, scale, name)
            ax.set_title(f"{name}: truth{at}", fontsize=10)

        def wrong(figure: Figure, ax: Axes) -> None:
            _paint(figure, ax, places, difference, "RdBu_r", (-largest, largest), f"error of {name}")
            ax.set_title(f"{name}: reconstruction - truth", fontsize=10)

        panels += [true, wrong]
    if std is not None:

        def unsure(figure: Figure, ax: Axes) -> None:
            _paint(figure, ax, places, std, "magma", (0.0, float(std.max())), f"deviation of {name}")
            ax.set_title(f"{name}: standard deviation", fontsize=10)

        panels.append(unsure)
    return panels


def _title(solution: Inferred, problem: str) -> str:
    parts = [problem]
    for name, value in solution.parameters.items():
        std = None
        if solution.uncertainty is not None and name in solution.uncertainty.parameters:
            std = np.atleast_1d(solution.std(name)).tolist()
        parts.append(f"{name} = {plus_minus(np.atleast_1d(value).tolist(), std)}")
    if solution.mesh.has_time:
        parts.append(f"{solution.names[0]} at half time")
    return "; ".join(part for part in parts if part)


def _places(solution: Inferred) -> _Places:
    """Points (n, d) to draw at, with triangles in the plane; of space-time a slice at half time."""
    mesh = solution.mesh
    lower, upper = mesh.bounds
    line = np.linspace(lower[0], upper[0], 300)
    if isinstance(mesh, SlabMesh):
        middle = (lower[-1] + upper[-1]) / 2
        if mesh.space.dimension == 1:
            return _Places(np.column_stack([line, np.full(len(line), middle)]), along=line)
        x, triangles = subdivided(mesh.space)
        return _Places(np.column_stack([x, np.full(len(x), middle)]), triangles)
    if mesh.dimension == 1:
        return _Places(line[:, None], along=line)
    if mesh.dimension == 2 and not mesh.has_time:
        return _Places(*subdivided(mesh))
    if mesh.dimension == 2:
        return _Places(np.column_stack([line, np.full(len(line), (lower[1] + upper[1]) / 2)]), along=line)
    lines = [np.linspace(a, b, 80) for a, b in zip(lower[:2], upper[:2], strict=True)]
    u, v = (g.ravel() for g in np.meshgrid(*lines))
    x = np.column_stack([u, v, np.full(len(u), (lower[2] + upper[2]) / 2)])
    return _Places(x, Triangulation(u, v).triangles)


def _along(solution: Inferred, boundaries: Sequence[str]) -> _Places:
    """Points along boundaries of a plane domain, by the length of the way; of a line, its ends."""
    mesh = solution.mesh
    space: Mesh = mesh.space if isinstance(mesh, SlabMesh) else mesh
    facets = np.concatenate([space.boundaries[name] for name in boundaries])
    if space.dimension == 1:
        x = space.nodes[np.unique(facets)]
        along, label = x[:, 0], "x"
    else:
        order = _chain(facets)
        corners = space.nodes[order]
        x = np.concatenate([a + np.linspace(0, 1, 9)[:-1, None] * (b - a) for a, b in itertools.pairwise(corners)])
        x = np.concatenate([x, corners[-1:]])
        along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(x, axis=0), axis=1))])
        label = f"way along {', '.join(boundaries)}"
    if isinstance(mesh, SlabMesh):
        x = np.column_stack([x, np.full(len(x), (mesh.times[0] + mesh.times[-1]) / 2)])
    return _Places(x, along=along, label=label)


def _chain(facets: np.ndarray) -> list[int]:
    """Vertices of edges (f, 2) in the order of the way along them; of several pieces one after the other."""
    beside: dict[int, list[int]] = {}
    for a, b in facets[:, :2].tolist():
        beside.setdefault(a, []).append(b)
        beside.setdefault(b, []).append(a)
    ends = [v for v, others in beside.items() if len(others) == 1]
    result: list[int] = []
    seen: set[int] = set()
    for start in [*ends, *beside]:
        at: int | None = start if start not in seen else None
        while at is not None:
            seen.add(at)
            result.append(at)
            at = next((v for v in beside[at] if v not in seen), None)
    return result


def _value(solution: Inferred, name: str, points: np.ndarray) -> np.ndarray:
    if name in solution.coefficients:
        return solution.coefficient(name)(points)
    return np.reshape(solution(points), (len(points), -1))[:, solution.names.index(name)]


def _truth_at(truth: Truth, name: str, solution: Inferred, places: _Places) -> np.ndarray | None:
    """The truth at other points: by linear interpolation between its own, beyond these the nearest."""
    from scipy.interpolate import LinearNDInterpolator, NearestNDInterpolator

    values = truth.coefficients.get(name)
    x, at = truth.points, places.points
    if values is None:
        if name not in solution.names:
            return None
        values = np.reshape(truth.u, (len(x), -1))[:, solution.names.index(name)]
    if solution.mesh.has_time:  # the moment nearest to that of the picture
        times = np.unique(x[:, -1])
        near = times[np.abs(times - at[0, -1]).argmin()]
        chosen = x[:, -1] == near
        x, values, at = x[chosen][:, :-1], values[chosen], at[:, :-1]
    if x.shape[1] == 1:
        order = np.argsort(x[:, 0])
        return np.interp(at[:, 0], x[order, 0], values[order])
    result = LinearNDInterpolator(x, values)(at)
    return np.where(np.isfinite(result), result, NearestNDInterpolator(x, values)(at))


def _draw_data(figure: Figure, ax: Axes, solution: Inferred) -> None:
    d = solution.data[0]
    step = max(1, len(d) // _DATA)
    x, y = d.points[::step], d.values[::step]
    spatial = x.shape[1] - solution.mesh.has_time
    ax.set_title(f"{len(d)} data", fontsize=10)
    if spatial == 1:
        ax.scatter(x[:, 0], y, s=4)
        ax.set_xlabel("x")
        ax.set_ylabel("datum")
        ax.grid(alpha=0.3)
    else:
        figure.colorbar(ax.scatter(x[:, 0], x[:, 1], c=y, s=5, cmap=COLOURS), ax=ax, label="datum")
        _frame(ax, *solution.mesh.bounds)


def _mark(ax: Axes, solution: Inferred) -> None:
    """Where the data lie."""
    for d in solution.data:
        places = np.unique(d.points[:, :2], axis=0)
        places = places[:: max(1, len(places) // _MARKED)]
        ax.plot(places[:, 0], places[:, 1], ".", ms=1.6, color="white", mec="black", mew=0.2)


def _frame(ax: Axes, lower: np.ndarray, upper: np.ndarray) -> None:
    ax.set_xlabel("x")
    ax.set_ylabel("y")
    ax.set_xlim(lower[0], upper[0])
    ax.set_ylim(lower[1], upper[1])
    ax.set_aspect("equal")
    tidy_ticks(ax, (upper[0] - lower[0]) / (upper[1] - lower[1]))


def _paint(
    figure: Figure,
    ax: Axes,
    places: _Places,
    values: np.ndarray,
    palette: str,
    scale: tuple[float, float],
    label: str,
    band: Any = None,
) -> None:
    """Values as colours in the plane, as a line elsewhere, there with a band of two standard deviations."""
    low, high = scale
    if places.triangles is None:
        assert places.along is not None
        order = np.argsort(places.along)
        at = places.along[order]
        ax.plot(at, values[order], lw=1.4, marker="o" if len(at) < 4 else None)
        if band is not None:
            ax.fill_between(at, (values - 2 * band)[order], (values + 2 * band)[order], alpha=0.2, lw=0)
        else:
            margin = 0.05 * (high - low) or 1e-12
            ax.set_ylim(low - margin, high + margin)
        ax.set_xlabel(places.label)
        ax.set_ylabel(label)
        ax.grid(alpha=0.3)
        return
    shape = Triangulation(places.points[:, 0], places.points[:, 1], places.triangles)
    colours = ax.tripcolor(shape, np.nan_to_num(values), shading="gouraud", cmap=palette, vmin=low, vmax=high)
    figure.colorbar(colours, ax=ax, label=label)
    lower, upper = places.points[:, :2].min(axis=0), places.points[:, :2].max(axis=0)
    _frame(ax, lower, upper)
