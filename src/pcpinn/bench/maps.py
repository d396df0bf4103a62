"""Where a solution is wrong: |u - reference| over the domain, in slices where it has three dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from ..mesh.slab_mesh import AnyMesh
from ..solution.reference import Reference
from ..solution.solution import Solution
from .graphics import colour, new_figure, plain

_SLICES, _COMPONENTS = 3, 3
_AXES = ("x", "y", "z")


def error_maps(solutions: Sequence[tuple[str, str, Solution]], reference: Reference) -> Figure:
    """The first solution and the errors of all, on the reference's points.

    Args:
        solutions: (method, label, solution), the one to be shown itself first.
        reference: what they are compared with.
    """
    mesh = solutions[0][2].mesh
    values = [_at(s, reference) for _, _, s in solutions]
    errors = [np.maximum(np.abs(v - reference.values), 1e-16) for v in values]
    if mesh.dimension == 1:
        return _curves(solutions, reference, values, errors)
    names = solutions[0][2].names
    columns = []  # what is drawn in each: (title, points kept, component)
    for k, component in list(enumerate(reference.components))[:_COMPONENTS]:
        for where, keep in _slices(reference.points, mesh):
            columns.append((f"{names[component]}{where}", keep, k))
    columns = columns[: max(_SLICES, _COMPONENTS)]
    shown = errors if len(columns) == 1 else errors[:1]
    panels: list[list[tuple[str, np.ndarray, np.ndarray, LogNorm | None]]]
    panels = [[(title, keep, values[0][keep, k], None) for title, keep, k in columns]]
    top = max(float(e.max()) for e in shown)
    low = min(float(np.quantile(e, 0.05)) for e in shown)  # of the best of them
    norm = LogNorm(max(min(low, top * 1e-2), top * 1e-8, 1e-16), max(top, 1e-15))
    for (_, label, _), error in zip(solutions, shown, strict=False):
        panels.append([(f"|error|, {label}", keep, error[keep, k], norm) for _, keep, k in columns])
    if len(columns) == 1:
        flat = [row[0] for row in panels]
        panels = [flat[:2], flat[2:]] if len(flat) == 4 else [flat]
    height, width = len(panels), len(panels[0])
    figure = new_figure(3.3 * width, 2.8 * height)
    axes = np.atleast_2d(figure.subplots(height, width, squeeze=False))
    for row, line in zip(panels, axes, strict=True):
        for (title, keep, v, scale), ax in zip(row, line, strict=True):
            ax.set_title(plain(title))
            _paint(figure, ax, reference.points[keep], v, scale, mesh)
    return figure


def _at(solution: Solution, reference: Reference) -> np.ndarray:
    """(n, k) values of the compared components."""
    return np.reshape(solution(reference.points), (len(reference.points), -1))[:, list(reference.components)]


def _curves(
    solutions: Sequence[tuple[str, str, Solution]],
    reference: Reference,
    values: Sequence[np.ndarray],
    errors: Sequence[np.ndarray],
) -> Figure:
    figure = new_figure(7.6, 2.8)
    left, right = figure.subplots(1, 2)
    order = np.argsort(reference.points[:, 0])
    x = reference.points[order, 0]
    for k, component in list(enumerate(reference.components))[:_COMPONENTS]:
        left.plot(x, values[0][order, k], color=colour(solutions[0][0]), lw=1.4, label=solutions[0][2].names[component])
        left.plot(x, reference.values[order, k], color="black", lw=0.8, ls=":", label="reference")
        for (method, label, _), error in zip(solutions, errors, strict=True):
            right.semilogy(
                x, error[order, k], color=colour(method), lw=1, label=plain(label), zorder=2 + (method == "pcpinn")
            )
    left.set_title("solution")
    right.set_title("|error|")
    for ax in (left, right):
        ax.set_xlabel("x")
        ax.legend()
    return figure


def _slices(x: np.ndarray, mesh: AnyMesh) -> list[tuple[str, np.ndarray]]:
    """(where, which points): all in the plane; in three dimensions those at some times or heights."""
    if x.shape[1] == 2:
        return [("", np.ones(len(x), dtype=bool))]
    name, at = ("t" if mesh.has_time else "z"), x[:, 2]
    lower, extent = at.min(), np.ptp(at) or 1.0
    levels = np.unique(np.round((at - lower) / extent, 9))
    slices: dict[str, np.ndarray] = {}
    for place in (1 / 3, 2 / 3, 1.0) if mesh.has_time else (0.25, 0.5, 0.75):
        if len(levels) <= len(x) / 20:  # the reference comes in layers
            level = lower + extent * levels[round(place * (len(levels) - 1))]
            keep = np.abs(at - level) <= 1e-8 * extent
        else:  # scattered: the nearest twelfth of the points
            level = float(np.quantile(at, min(place, 23 / 24)))
            keep = np.abs(at - level) <= np.quantile(np.abs(at - level), 1 / 12)
        slices[f" at {name} = {level:.3g}"] = keep
    return list(slices.items())


def _paint(figure: Figure, ax: Axes, x: np.ndarray, v: np.ndarray, norm: LogNorm | None, mesh: AnyMesh) -> None:
    cmap = "viridis" if norm is None else "magma"
    grid = _as_grid(x, v)
    if grid is not None:
        drawn: Any = ax.pcolormesh(*grid, cmap=cmap, norm=norm, shading="nearest", rasterized=True)
    else:
        size = float(np.clip(20_000 / len(x), 1.5, 60))
        drawn = ax.scatter(x[:, 0], x[:, 1], c=v, s=size, cmap=cmap, norm=norm, linewidths=0, rasterized=True)
    figure.colorbar(drawn, ax=ax, shrink=0.9)
    ax.grid(False)
    space_time = mesh.has_time and mesh.dimension == 2
    ax.set_xlabel(_AXES[0])
    ax.set_ylabel("t" if space_time else _AXES[1])
    if not space_time:
        ax.set_aspect("equal")


def _as_grid(x: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Axes and values (masked where there are no points) if the points lie on a grid, most of which they fill."""
    scale = np.ptp(x[:, :2], axis=0).max() or 1.0
    lines = [np.unique(np.round(x[:, k] / scale, 9), return_inverse=True) for k in range(2)]
    (a, i), (b, j) = lines
    if len(a) * len(b) > 4 * len(x) or min(len(a), len(b)) < 2:
        return None
    grid = np.ma.masked_all((len(b), len(a)))
    grid[j, i] = v
    return a * scale, b * scale, grid
