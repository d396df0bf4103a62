"""poisson2d-ms: elements of high degree on rectangles, graded towards the interfaces.

At each crossing of interfaces the solution behaves as r^alpha with alpha down to 0.38. Both axes are graded geometrically
towards the interfaces and the ends, so every crossing and every end of an interface is resolved.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from ..evaluation import grid_points
from ..poisson2d_ms import C0, C1, CELLS, LOWER, UPPER
from ..poisson2d_ms import A as COEFFICIENT
from .maker import MAKERS, Level, Maker
from .tensor_elements import Line, diffusion

_GRID = np.linspace(LOWER, UPPER, 101)
_CHOICES = ((2, 3), (3, 4), (4, 5), (5, 6), (6, 7))  # graded layers on either side of each interface, degree
_RATIO = 0.15  # of neighbouring element sizes near an interface
_WIDTH = (UPPER - LOWER) / CELLS


def points() -> np.ndarray:
    """101 x 101 places."""
    return grid_points(_GRID, _GRID)


def values(level: int) -> np.ndarray:
    """u at the points."""
    layers, degree = _CHOICES[level]
    line = Line(graded_ends(layers), degree)
    per_cell = (len(line.ends) - 1) // CELLS
    a = np.kron(COEFFICIENT, np.ones((per_cell, per_cell)))
    _, A = diffusion(line, line, a)
    for side, row in ((0, 0), (-1, line.size - 1)):  # the boundary term, integral of a u v
        corner = sp.csr_matrix(([1.0], ([row], [row])), (line.size, line.size))
        A = A + sp.kron(corner, _mass(line, a[side])) + sp.kron(_mass(line, a[:, side]), corner)
    b = _load(line)
    factors = spla.splu(A.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    u = factors.solve(b)
    u += factors.solve(b - A @ u)
    at_grid = line.evaluation(_GRID)
    return (at_grid @ (at_grid @ u.reshape(line.size, line.size).T).T).reshape(-1, 1)


def graded_ends(layers: int) -> np.ndarray:
    """Ends of the elements along an axis: each cell graded towards both of its ends."""
    half = np.concatenate([[0.0], 0.5 * _RATIO ** np.arange(layers, -1, -1.0)])
    unit = np.concatenate([half, 1 - half[-2::-1]])
    return np.concatenate([LOWER + _WIDTH * (i + unit[: None if i == CELLS - 1 else -1]) for i in range(CELLS)])


def _mass(line: Line, a: np.ndarray) -> sp.csr_matrix:
    """Integrals of a u v along an axis, a (elements,)."""
    local = (a * np.diff(line.ends))[:, None, None] * line.local[0]
    rows, columns = np.broadcast_arrays(line.cell_nodes[:, :, None], line.cell_nodes[:, None, :])
    return sp.csr_matrix((local.ravel(), (rows.ravel(), columns.ravel())), (line.size, line.size))


def _load(line: Line) -> np.ndarray:
    """Integrals of f against the products of shape functions."""
    position = [(lambda x, i=i: (x - LOWER) / _WIDTH - i) for i in range(CELLS)]
    inside = [line.load(lambda x, X=X: (np.floor(X(x)) == 0) * 1.0) for X in position]
    wave = [line.load(lambda x, X=X: (np.floor(X(x)) == 0) * np.sin(np.pi * X(x))) for X in position]
    flat, bump = np.stack(inside), np.stack(wave)
    return (flat.T @ C0 @ flat + bump.T @ C1 @ bump).ravel()


MAKER = Maker(
    name="poisson2d-ms",
    method="elements of high degree on rectangles, geometrically graded towards the interfaces, direct solve",
    levels=tuple(
        Level(f"Q{degree}, {layers} layers, {(10 * degree * (layers + 1) + 1) ** 2} unknowns", seconds)
        for (layers, degree), seconds in zip(_CHOICES, (0.1, 0.5, 2.0, 5.0, 12.0), strict=True)
    ),
    points=points,
    values=values,
    check_level=2,
)
MAKERS.register(MAKER)
