"""How plane waves grow, decay and travel in a PDE with frozen coefficients: its symbol at points and states.

At a point and a state the linearised PDE with constant coefficients takes exp(i k . x + rate t) to
rate^2 N + rate (M + i k . Q) + (R + i k . (B - G) + k A k), from the derivatives of density, source and flux. The rates for which
that is singular say whether the PDE can be solved forwards in time at all (Petrovsky), how fast it decays, and at what speed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from ..problem.problem import Problem
from .pointwise import Pointwise


@dataclass(frozen=True)
class Symbol:
    """Derivatives of density, source and flux at n points, in C components and d coordinates of space.

    Attributes:
        diffusion: (n, C, d, C, d) flux by gradient.
        carried: (n, C, d, C) flux by value.
        convection: (n, C, C, d) source by gradient.
        reaction: (n, C, C) source by value.
        mass: (n, C, C) density by value, and source by rate.
        moved: (n, C, C, d) density by gradient, less flux by rate.
        inertia: (n, C, C) density by rate.
    """

    diffusion: np.ndarray
    carried: np.ndarray
    convection: np.ndarray
    reaction: np.ndarray
    mass: np.ndarray
    moved: np.ndarray
    inertia: np.ndarray

    @property
    def finite(self) -> np.ndarray:
        """(n,) bool."""
        parts = (self.diffusion, self.carried, self.convection, self.reaction, self.mass, self.moved, self.inertia)
        return np.all([np.isfinite(part).reshape(len(part), -1).all(axis=1) for part in parts], axis=0)

    def at(self, chosen: np.ndarray) -> Symbol:
        """At some of the points."""
        return Symbol(
            *(
                part[chosen]
                for part in (
                    self.diffusion, self.carried, self.convection, self.reaction, self.mass, self.moved, self.inertia
                )
            )
        )  # fmt: skip

    def rates(self, k: np.ndarray) -> np.ndarray | None:
        """(n, m) rates of exp(i k . x + rate t) for a wave vector k (d,); None where algebraic equations cannot be eliminated."""
        K = (
            self.reaction
            + 1j * (self.convection @ k - np.einsum("nabi,i->nab", self.carried.swapaxes(2, 3), k))
            + np.einsum("naibj,i,j->nab", self.diffusion, k, k)
        )
        E, F = self.mass + 1j * (self.moved @ k), K
        twice = np.flatnonzero(self.inertia.any(axis=(0, 1)))
        if len(twice):  # u_t is an unknown of its own
            n, C, m = len(E), E.shape[1], len(twice)
            pick = np.broadcast_to(np.eye(C)[twice], (n, m, C))
            none = np.zeros((n, m, m))
            E = np.concatenate([np.concatenate([E, self.inertia[:, :, twice]], 2), np.concatenate([pick, none], 2)], 1)
            zero = np.zeros((n, C, m))
            F = np.concatenate([np.concatenate([F, zero], 2), np.concatenate([0 * pick, none - np.eye(m)], 2)], 1)
        return _finite_eigenvalues(E, F)


def _finite_eigenvalues(E: np.ndarray, F: np.ndarray) -> np.ndarray | None:
    """(n, m) numbers s with s E + F singular, (n, c, c) each; equations and unknowns that E knows nothing of are eliminated."""
    rows, columns = E.any(axis=(0, 2)), E.any(axis=(0, 1))
    if rows.sum() != columns.sum() or not rows.any():
        return None
    scale = np.abs(E[:, rows]).max(axis=2, keepdims=True)
    if not scale.all():
        return None
    E, top = E[:, rows][:, :, columns] / scale, F[:, rows] / scale
    S = top[:, :, columns]
    across, down, rest = top[:, :, ~columns], F[:, ~rows][:, :, columns], F[:, ~rows][:, :, ~columns]
    try:
        if rest.any():
            S = S - across @ np.linalg.solve(rest, down)
        elif (
            rest.size
        ):  # multipliers, as pressures are: only what fulfils their constraint, tested with what they do not see
            kept = _kernel(down)
            seen = _kernel(across.conj().swapaxes(1, 2)).conj().swapaxes(1, 2)
            E, S = seen @ E @ kept, seen @ S @ kept
            if E.shape[1] == 0:
                return np.zeros((len(E), 0))
        return np.linalg.eigvals(-np.linalg.solve(E, S))
    except np.linalg.LinAlgError:
        return None


def _kernel(matrix: np.ndarray) -> np.ndarray:
    """(n, c, c - r) an orthonormal basis of what matrices (n, r, c) of full rank take to zero."""
    return np.linalg.svd(matrix)[2][:, matrix.shape[1] :].conj().swapaxes(1, 2)


def symbol(problem: Problem, x: Tensor, state: Tensor) -> Symbol:
    """The symbol at points x (n, d) and states (n, C, 1 + d), time last in both."""
    J = Pointwise(problem, strong=True).jacobian(x, state).numpy()
    d = problem.dimension
    space = slice(1, 1 + d)
    none = np.zeros_like(J[:, :, 0, :, 0])
    flat = np.zeros_like(J[:, :, 0, :, space])
    mass = moved = inertia = None
    if problem.over_time:
        mass, inertia = J[:, :, 0, :, -1] - J[:, :, -1, :, 0], -J[:, :, -1, :, -1]
        moved = -J[:, :, -1, :, space] - J[:, :, space, :, -1].swapaxes(2, 3)
    return Symbol(
        J[:, :, space, :, space],
        J[:, :, space, :, 0],
        J[:, :, 0, :, space],
        J[:, :, 0, :, 0],
        none if mass is None else mass,
        flat if moved is None else moved,
        none if inertia is None else inertia,
    )


def directions(d: int) -> np.ndarray:
    """(m, d) unit vectors, one of each pair of opposite ones, spread evenly."""
    if d == 1:
        return np.ones((1, 1))
    if d == 2:
        angle = np.pi * np.arange(8) / 8
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)
    corners = [(1, a, b) for a in (-1, 1) for b in (-1, 1)]
    edges = [(1, 1, 0), (1, -1, 0), (1, 0, 1), (1, 0, -1), (0, 1, 1), (0, 1, -1)]
    vectors = np.array([*np.eye(3).tolist(), *edges, *corners], dtype=float)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
