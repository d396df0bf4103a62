"""Quadratic simplices: shape functions of corners and middles of edges, and bounds of the determinant of their map."""

from __future__ import annotations

from functools import cache
from itertools import product
from math import factorial, prod

import numpy as np

from .topology import EDGES


@cache
def reference_nodes(dimension: int) -> np.ndarray:
    """(b, d) corners of the reference simplex, then the middles of its edges in the order of EDGES."""
    corners = np.vstack([np.zeros(dimension), np.eye(dimension)])
    return np.vstack([corners, corners[EDGES[dimension]].mean(axis=1)])


def shape_functions(x: np.ndarray) -> np.ndarray:
    """(..., d) points of the reference simplex -> (..., b)."""
    of = _barycentric(x)
    corners = [of[i] * (2 * of[i] - 1) for i in range(len(of))]
    return np.stack([*corners, *(4 * of[i] * of[j] for i, j in EDGES[len(of) - 1])], axis=-1)


def determinants(points: np.ndarray, at: np.ndarray) -> np.ndarray:
    """(c, b, d) nodes and (q, d) reference points -> (c, q) determinant of the map's derivative."""
    of, d = _barycentric(at), points.shape[2]
    slope = np.vstack([np.full(d, -1.0), np.eye(d)])  # (d + 1, d) of the barycentric coordinates
    corners = [(4 * of[i] - 1)[:, None] * slope[i] for i in range(d + 1)]
    edges = [4 * (of[i][:, None] * slope[j] + of[j][:, None] * slope[i]) for i, j in EDGES[d]]
    return np.asarray(np.linalg.det(np.einsum("cbi,bqj->cqij", points, np.stack([*corners, *edges]))))


def lowest_determinants(points: np.ndarray, sign: np.ndarray) -> np.ndarray:
    """(c, b, d) nodes, (c,) orientations -> (c,) a bound from below of sign times the map's determinant.

    The determinant is a polynomial of degree d, and its Bernstein coefficients bound it.
    """
    lattice, to_bernstein = _bernstein(points.shape[2])
    return np.asarray((determinants(points, lattice) * sign[:, None] @ to_bernstein.T).min(axis=1))


@cache
def _bernstein(d: int) -> tuple[np.ndarray, np.ndarray]:
    """(q, d) points, and (q, q) from values there to the Bernstein coefficients of a polynomial of degree d."""
    powers = np.array([p for p in product(range(d + 1), repeat=d + 1) if sum(p) == d])
    many = np.array([factorial(d) / prod(factorial(k) for k in p) for p in powers.tolist()])
    at = powers / d
    return at[:, 1:], np.linalg.inv(many * np.prod(at[:, None] ** powers[None], axis=2))


def _barycentric(x: np.ndarray) -> list[np.ndarray]:
    return [1 - x.sum(axis=-1), *np.moveaxis(x, -1, 0)]
