"""Coefficients that are given on a lattice, such as the pixels of a picture: found by where they jump."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..problem.problem import Problem
from ..problem.shape_base import SpaceTime
from ..problem.shapes import Rectangle
from .jumps import Values, at_moment, derivatives, jumps_between

_LINES, _PLACES = 24, 1000  # along each axis
# Jumps at different places along some axis: fewer may lie on a lattice by chance, and are followed one by one.
_FEWEST = 6
_SAME = 1e-8  # of the domain: places that differ by less are the same
_FITS = 1e-7  # of the domain: so far jumps may be from a line
_MOST_LINES, _MOST_EDGES = 2000, 600_000
_BESIDE = 1e-4  # of the distance of lines: so far from a line both sides of it are looked at
_CHANGE = 1e-3  # of the larger value: less is no jump
_CHUNK = 100_000


@dataclass(frozen=True)
class Lattice:
    """Lines across both axes of a rectangle, between which coefficients do not jump.

    Attributes:
        shape: the rectangle.
        lines: along each axis, with its ends.
        edges: (m, 2) middles of the edges of the lattice across which they do, in places of lines.
    """

    shape: Rectangle
    lines: tuple[np.ndarray, np.ndarray]
    edges: np.ndarray


def lattice_of(problem: Problem) -> Lattice | None:
    """The lattice on which coefficients of a problem in a rectangle jump; None where they jump elsewhere, or hardly."""
    domain = problem.domain
    shape = domain.shape if isinstance(domain, SpaceTime) else domain
    if (
        not isinstance(shape, Rectangle)
        or problem.periodic_pairs
        or (isinstance(domain, SpaceTime) and not problem.over_time)
    ):
        return None
    whole = at_moment(problem, derivatives(problem))

    def values(x: np.ndarray) -> np.ndarray:
        return whole(x).reshape(len(x), -1)

    lower, upper = (np.asarray(b, dtype=float) for b in shape.bounds)
    places = [_jumps_along(values, lower, upper, axis) for axis in range(2)]
    if max(len(found) for found in places) < _FEWEST:
        return None
    spacing = [_spacing(found, upper[k] - lower[k]) for k, found in enumerate(places)]
    usual = min((h for h in spacing if h), default=None)
    if usual is None or any(h is None and len(found) for h, found in zip(spacing, places, strict=True)):
        return None
    x, y = (_lines(places[k], spacing[k] or usual, lower[k], upper[k]) for k in range(2))
    if max(len(x), len(y)) > _MOST_LINES or 2 * len(x) * len(y) > _MOST_EDGES:
        return None
    edges = np.concatenate([_edges_across(values, (x, y), axis) for axis in range(2)])
    return Lattice(shape, (x, y), edges) if len(edges) else None


def _jumps_along(values: Values, lower: np.ndarray, upper: np.ndarray, axis: int) -> np.ndarray:
    """(j,) sorted coordinates of jumps on lines along an axis, each once."""
    random = np.random.default_rng(axis)
    across = (np.arange(_LINES) + random.uniform(size=_LINES)) / _LINES
    along = (np.arange(_PLACES) + 0.437) / _PLACES
    grid = np.empty((_LINES, _PLACES, 2))
    grid[:, :, axis], grid[:, :, 1 - axis] = along, across[:, None]
    grid = lower + (upper - lower) * grid
    found = jumps_between(values, grid[:, :-1].reshape(-1, 2), grid[:, 1:].reshape(-1, 2))
    if found is None:
        return np.zeros(0)
    at = np.sort(found.at[:, axis])
    return np.asarray(at[np.diff(at, prepend=-np.inf) > _SAME * (upper - lower)[axis]])


def _spacing(at: np.ndarray, extent: float) -> float | None:
    """The largest distance of even lines that all coordinates (j,) lie on; None where there is none that is worth it."""
    if len(at) < 2:
        return None
    h = float(at[-1] - at[0])
    for gap in np.diff(at).tolist():
        a, b = h, gap
        while b > _FITS * extent:  # Euclid's algorithm
            a, b = b, abs(a - round(a / b) * b)
        h = a
    if h < extent / _MOST_LINES:
        return None
    k = np.round((at - at[0]) / h)
    h, first = np.polyfit(k, at, 1)
    return float(h) if np.abs(first + h * k - at).max() <= _FITS * extent else None


def _lines(at: np.ndarray, h: float, lower: float, upper: float) -> np.ndarray:
    """Lines a distance h apart through given coordinates, and the ends."""
    first = float(np.median(at - h * np.round((at - at[0]) / h))) if len(at) else lower
    k = np.arange(np.ceil((lower - first) / h), np.floor((upper - first) / h) + 1)
    inner = first + h * k
    near = _BESIDE * h
    return np.concatenate([[lower], inner[(inner > lower + near) & (inner < upper - near)], [upper]])


def _edges_across(values: Values, lines: tuple[np.ndarray, np.ndarray], axis: int) -> np.ndarray:
    """(m, 2) middles, in places of lines, of the edges on lines across an axis where some value jumps."""
    own, other = lines[axis], lines[1 - axis]
    i, j = (g.ravel() for g in np.meshgrid(np.arange(1, len(own) - 1), np.arange(len(other) - 1), indexing="ij"))
    reach = _BESIDE * float(np.diff(own).min())
    jumps = np.zeros(len(i), dtype=bool)
    for start in range(0, len(i), _CHUNK):
        part = slice(start, start + _CHUNK)
        x = np.empty((len(i[part]), 2))
        x[:, 1 - axis] = (other[j[part]] + other[j[part] + 1]) / 2
        sides = []
        for sign in (-1, 1):
            x[:, axis] = own[i[part]] + sign * reach
            sides.append(values(x.copy()))
        larger = np.maximum(np.abs(sides[0]), np.abs(sides[1]))
        jumps[part] = (np.abs(sides[0] - sides[1]) > np.maximum(_CHANGE * larger, 1e-9 * larger.max())).any(axis=1)
    result = np.empty((int(jumps.sum()), 2))
    result[:, axis], result[:, 1 - axis] = i[jumps], j[jumps] + 0.5
    return result
