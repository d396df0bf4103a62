"""Incompressible flow on a grid of rectangles, some of which may be missing: velocities in Q_k, pressure in Q_(k-1).

Degrees of freedom are numbered u1, u2, p; of each first the nodes along y, then along x.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from .tensor_elements import Line, gauss


@dataclass(frozen=True)
class Nodes:
    """The nodes of a product of two lines that belong to cells (n, 2) that are there; the rest has no number."""

    x: Line
    y: Line
    cells: np.ndarray

    @cached_property
    def of_cells(self) -> np.ndarray:
        """(n, (k + 1)^2) numbers of each cell's nodes."""
        return np.searchsorted(self.used, self._product)

    @cached_property
    def _product(self) -> np.ndarray:
        i, j = self.x.cell_nodes[self.cells[:, 0]], self.y.cell_nodes[self.cells[:, 1]]
        return (i[:, :, None] * self.y.size + j[:, None, :]).reshape(len(self.cells), -1)

    @cached_property
    def used(self) -> np.ndarray:
        """Which nodes of the product have numbers."""
        return np.unique(self._product)

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.used)

    @cached_property
    def places(self) -> np.ndarray:
        """(size, 2)."""
        return np.stack([self.x.nodes[self.used // self.y.size], self.y.nodes[self.used % self.y.size]], axis=1)

    def evaluation(self, points: np.ndarray) -> sp.csr_matrix:
        """(n, size): nodal values to values at points (n, 2) of the domain; next to a missing cell the other one serves."""
        there = np.zeros((len(self.x.ends) - 1, len(self.y.ends) - 1), dtype=bool)
        there[tuple(self.cells.T)] = True
        sides = [
            (line.cell_of(at, "right"), line.cell_of(at, "left"))
            for line, at in zip((self.x, self.y), points.T, strict=True)
        ]
        i, j = sides[0][0].copy(), sides[1][0].copy()
        for a in (0, 1):
            for b in (0, 1):
                wrong = ~there[i, j]
                i[wrong], j[wrong] = sides[0][a][wrong], sides[1][b][wrong]
        if not there[i, j].all():
            raise ValueError("points outside of the domain")
        phi = self.x.at(points[:, 0], i)[:, :, None] * self.y.at(points[:, 1], j)[:, None, :]
        product = (self.x.cell_nodes[i][:, :, None] * self.y.size + self.y.cell_nodes[j][:, None, :]).reshape(
            len(i), -1
        )
        rows = np.repeat(np.arange(len(i)), product.shape[1])
        columns = np.searchsorted(self.used, product.ravel())
        return sp.csr_matrix((phi.ravel(), (rows, columns)), shape=(len(i), self.size))


class TaylorHood:
    """Matrices of flow on the cells between ascending `x_ends` and `y_ends` where `inside` (cells in x, in y)."""

    def __init__(self, x_ends: np.ndarray, y_ends: np.ndarray, degree: int, inside: np.ndarray | None = None) -> None:
        shape = (len(x_ends) - 1, len(y_ends) - 1)
        cells = np.argwhere(np.ones(shape, dtype=bool) if inside is None else inside)
        self.velocity = Nodes(Line(x_ends, degree), Line(y_ends, degree), cells)
        self.pressure = Nodes(Line(x_ends, degree - 1), Line(y_ends, degree - 1), cells)
        self._h = np.diff(x_ends)[cells[:, 0]], np.diff(y_ends)[cells[:, 1]]
        self._area = self._h[0] * self._h[1]
        t, w = gauss(degree + 3)
        self._weights = np.outer(w, w).ravel()
        line = self.velocity.x
        f, slope = line.shape_values(t), line.shape_values(t, derivative=True)
        self._phi = np.kron(f, f)  # (shape functions, quadrature points)
        self._along = np.kron(slope, f), np.kron(f, slope)
        g = self.pressure.x.shape_values(t)
        self._psi = np.kron(g, g)

    @property
    def size(self) -> int:
        """Number of degrees of freedom."""
        return 2 * self.velocity.size + self.pressure.size

    def parts(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """u1, u2 and p of all degrees of freedom."""
        n = self.velocity.size
        return z[:n], z[n : 2 * n], z[2 * n :]

    @cached_property
    def mass(self) -> sp.csr_matrix:
        """Of one velocity component."""
        return self._assemble(self._area[:, None, None] * ((self._phi * self._weights) @ self._phi.T))

    @cached_property
    def stiffness(self) -> sp.csr_matrix:
        """Integrals of grad u . grad v, for one velocity component."""
        hx, hy = self._h
        kx, ky = ((d * self._weights) @ d.T for d in self._along)
        return self._assemble((hy / hx)[:, None, None] * kx + (hx / hy)[:, None, None] * ky)

    @cached_property
    def divergence(self) -> tuple[sp.csr_matrix, sp.csr_matrix]:
        """Integrals of q du1/dx and of q du2/dy: (pressure nodes, velocity nodes) each."""
        parts = ((self._psi * self._weights) @ d.T for d in self._along)
        rows, columns = np.broadcast_arrays(self.pressure.of_cells[:, :, None], self.velocity.of_cells[:, None, :])
        shape = self.pressure.size, self.velocity.size
        x, y = (
            sp.csr_matrix(((h[:, None, None] * part).ravel(), (rows.ravel(), columns.ravel())), shape=shape)
            for h, part in zip(self._h[::-1], parts, strict=True)
        )
        return x, y

    def stokes(self, viscosity: float, mass: float = 0.0) -> sp.csr_matrix:
        """mass * u - viscosity * Laplace u + grad p, and div u with the sign that makes it symmetric."""
        A = viscosity * self.stiffness + mass * self.mass
        x, y = self.divergence
        return sp.bmat([[A, None, -x.T], [None, A, -y.T], [-x, -y, None]], format="csr")

    def convection(self, z: np.ndarray) -> np.ndarray:
        """(u . grad) u against all test functions; zero for those of the pressure."""
        u, gradient = self._at_quadrature(z)
        result = np.zeros(self.size)
        for part, (dx, dy) in zip(self.parts(result), gradient, strict=False):
            local = (self._area[:, None] * (u[0] * dx + u[1] * dy) * self._weights) @ self._phi.T
            part += np.bincount(self.velocity.of_cells.ravel(), local.ravel(), minlength=self.velocity.size)
        return result

    def convection_derivative(self, z: np.ndarray) -> sp.csr_matrix:
        """Of `convection` by z."""
        u, gradient = self._at_quadrature(z)
        scale = self._area[:, None] * self._weights
        count = len(self._phi)
        values = np.einsum("aq,bq->qab", self._phi, self._phi).reshape(-1, count**2)
        carried = sum(
            (scale * speed / h[:, None]) @ np.einsum("aq,bq->qab", self._phi, d).reshape(-1, count**2)
            for speed, h, d in zip(u, self._h, self._along, strict=True)
        )
        blocks = [
            [self._assemble((scale * gradient[i][j]) @ values + (carried if i == j else 0.0)) for j in (0, 1)]
            for i in (0, 1)
        ]
        m = self.pressure.size
        return sp.block_diag([sp.bmat(blocks), sp.csr_matrix((m, m))], format="csr")

    def load(self, f: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
        """Integrals of f(x, y) against the functions of one velocity component."""
        t, _ = gauss(self.velocity.x.degree + 3)
        (i, j), (hx, hy) = self.velocity.cells.T, self._h
        x = (self.velocity.x.ends[i][:, None] + hx[:, None] * t)[:, :, None]
        y = (self.velocity.y.ends[j][:, None] + hy[:, None] * t)[:, None, :]
        at = np.broadcast_to(f(x, y), (len(i), len(t), len(t))).reshape(len(i), -1)
        local = (self._area[:, None] * at * self._weights) @ self._phi.T
        return np.bincount(self.velocity.of_cells.ravel(), local.ravel(), minlength=self.velocity.size)

    def evaluate(self, z: np.ndarray, points: np.ndarray) -> np.ndarray:
        """(n, 3): u1, u2 and p at points (n, 2)."""
        u1, u2, p = self.parts(z)
        velocity = self.velocity.evaluation(points)
        return np.stack([velocity @ u1, velocity @ u2, self.pressure.evaluation(points) @ p], axis=1)

    def _at_quadrature(self, z: np.ndarray) -> tuple[list[np.ndarray], list[tuple[np.ndarray, np.ndarray]]]:
        """The two velocities, and the two derivatives of each, (cells, quadrature points)."""
        local = [part[self.velocity.of_cells] for part in self.parts(z)[:2]]
        (hx, hy), (along_x, along_y) = self._h, self._along
        values = [part @ self._phi for part in local]
        return values, [(part @ along_x / hx[:, None], part @ along_y / hy[:, None]) for part in local]

    def _assemble(self, local: np.ndarray) -> sp.csr_matrix:
        """A square matrix of the velocity nodes from its parts on the cells."""
        nodes = self.velocity.of_cells
        rows, columns = np.broadcast_arrays(nodes[:, :, None], nodes[:, None, :])
        shape = (self.velocity.size,) * 2
        return sp.csr_matrix((local.ravel(), (rows.ravel(), columns.ravel())), shape=shape)


def graded(a: float, b: float, cells: int, at_a: int = 0, at_b: int = 0, ratio: float = 0.35) -> np.ndarray:
    """Ends of equal cells from a to b, the first and last of which are cut again and again towards the end."""
    ends = list(np.linspace(a, b, cells + 1))
    h = (b - a) / cells
    low = [a + h * ratio**k for k in range(at_a, 0, -1)]
    high = [b - h * ratio**k for k in range(1, at_b + 1)]
    return np.array([a, *low, *ends[1:-1], *high, b])
