"""Certified reference solutions of  -Δu + k²u = f  on a rectangle with circular holes, by a series of multipoles.

The approximate solution is  u = p + Σ cⱼ φⱼ,  where p solves the equation with its source and every φⱼ solves it
without: exactly, by construction, everywhere in the domain.  Only the boundary values are approximate (least squares).
The error therefore solves the equation without source, and by the maximum principle (k² >= 0) it is nowhere larger
than its maximum on the boundary, which can be measured: that is the certificate `SeriesSolution.bound`.
No mesh is involved, so the result is independent of any finite element code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg, special

from pcpinn.errors import PcpinnError

Field = Callable[[np.ndarray], np.ndarray]
"""A function of points (n, 2) with values (n,)."""

_CHUNK = 4096  # points evaluated at once, so that the memory stays below some 100 megabytes
_CHECKS = 6  # points that measure the boundary mismatch, for each point that was fitted
_CUTOFF = 1e-14  # relative singular values dropped: the functions are nearly dependent, the coefficients stay small
_ROUNDING = 64 * np.finfo(float).eps  # relative error of a function's value after its recurrence and the summation


@dataclass(frozen=True)
class RectangleWithHoles:
    """The rectangle between the points `lower` and `upper`, without the `disks` (x, y, radius).

    The disks touch neither each other nor the sides.
    """

    lower: tuple[float, float]
    upper: tuple[float, float]
    disks: tuple[tuple[float, float, float], ...] = ()

    def __post_init__(self) -> None:
        if not all(a < b for a, b in zip(self.lower, self.upper, strict=True)):
            raise PcpinnError(f"The rectangle from {self.lower} to {self.upper} is empty.", "Give lower < upper.")
        for i, (x, y, r) in enumerate(self.disks):
            if not 0 < r < self.distance_to_sides(x, y):
                raise PcpinnError(f"Disk {(x, y, r)} is not inside the rectangle.", "Move or shrink the disk.")
            for other in self.disks[:i]:
                if np.hypot(x - other[0], y - other[1]) <= r + other[2]:
                    raise PcpinnError(f"Disks {other} and {(x, y, r)} touch each other.", "Move or shrink one of them.")

    @property
    def corners(self) -> np.ndarray:
        """The corners x + iy, counterclockwise from `lower`: (4,) complex."""
        (a, b), (c, d) = self.lower, self.upper
        return np.array([complex(a, b), complex(c, b), complex(c, d), complex(a, d)])

    def distance_to_sides(self, x: float, y: float) -> float:
        """Distance from the inner point (x, y) to the nearest side."""
        return min(x - self.lower[0], self.upper[0] - x, y - self.lower[1], self.upper[1] - y)

    def outer_points(self, per_side: int, closest: float) -> list[np.ndarray]:
        """Both ends of each side and points between them: four arrays (per_side,) complex.

        They cluster exponentially at the corners, down to distances of about `closest` times the side.
        """
        depth = -0.5 * np.log(closest)
        t = 0.5 + 0.5 * np.tanh(np.linspace(-depth, depth, per_side)) / np.tanh(depth)
        return [a + t * (b - a) for a, b in zip(self.corners, np.roll(self.corners, -1), strict=True)]

    def hole_points(self, per_hole: int, shift: float = 0.0) -> list[np.ndarray]:
        """Equidistant points on each circle, turned by `shift` spacings: arrays (per_hole,) complex."""
        circle = np.exp(2j * np.pi * (np.arange(per_hole) + shift) / per_hole)
        return [complex(x, y) + r * circle for x, y, r in self.disks]


@dataclass(frozen=True)
class _Multipoles:
    """Solutions of -Δφ + k²φ = 0 except at their centres: K_n(kρ) cos(nθ) and K_n(kρ) sin(nθ), n <= order.

    They are normalised to size one at the distances `radii` from the centres.  With k = 0 they are the limits
    log ρ and (radius/ρ)ⁿ cos(nθ), (radius/ρ)ⁿ sin(nθ).
    """

    centres: np.ndarray  # (m,) complex
    radii: np.ndarray  # (m,)
    order: int

    def values(self, z: np.ndarray, k: float) -> np.ndarray:
        """All functions at the points z (n,) complex: (n, m (2 order + 1))."""
        offset = z[:, None] - self.centres
        rho = np.abs(offset)
        direction = offset / rho
        radial = self._radial(rho, k)
        angular = np.ones_like(direction)
        columns = [radial[0]]
        for factor in radial[1:]:
            angular = angular * direction
            columns += [factor * angular.real, factor * angular.imag]
        return np.concatenate(columns, axis=1)

    def _radial(self, rho: np.ndarray, k: float) -> list[np.ndarray]:
        """The factors that depend on the distances rho (n, m), of orders 0 ... order, each (n, m)."""
        if k == 0.0:
            return [np.log(rho)] + [(self.radii / rho) ** n for n in range(1, self.order + 1)]
        x, at = k * rho, k * self.radii
        decay = np.exp(at - x)
        factors = [decay * special.k0e(x) / special.k0e(at), decay * special.k1e(x) / special.k1e(at)]
        # K_{n+1}(x) = K_{n-1}(x) + (2n/x) K_n(x), divided by the same at the radius: no term is negative, so nothing
        # cancels, and nothing overflows where K_n itself would (small arguments, high orders).
        ratio = special.k0e(at) / special.k1e(at)  # K_{n-1} / K_n at the radius
        for n in range(1, self.order):
            next_ratio = 1.0 / (ratio + 2 * n / at)
            factors.append(next_ratio * (ratio * factors[n - 1] + 2 * n / x * factors[n]))
            ratio = next_ratio
        return factors[: self.order + 1]


@dataclass(frozen=True)
class SeriesSolution:
    """u = particular + Σ coefficients · multipoles; call it with points (n, 2) of the closed domain for values (n,).

    `bound`: no value differs from the exact solution by more.  It is the mismatch on a dense sample of the boundary
    (not the fitted points), plus what can hide between the sampled points (from second differences), plus rounding.
    """

    domain: RectangleWithHoles
    k: float
    particular: Field | None
    families: tuple[_Multipoles, ...]
    coefficients: np.ndarray
    bound: float

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Values (n,) at the points (n, 2)."""
        points = np.asarray(points, dtype=float)
        values = _series(self.families, self.k, self.coefficients, points @ np.array([1.0, 1.0j]))
        return values if self.particular is None else values + self.particular(points)


def solve_screened_poisson(
    domain: RectangleWithHoles,
    k: float,
    outer_value: float | Field,
    hole_value: float | Field,
    particular: Field | None = None,
    level: int = 6,
) -> SeriesSolution:
    """Solve -Δu + k²u = f with u = outer_value on the sides and u = hole_value on the circles.

    The source f enters through `particular`, any solution of the equation regardless of boundary values (None: f = 0).
    Each `level` (1, 2, ...) adds terms and usually gains about one digit, until rounding stops it; look at `.bound`.
    """
    if level < 1 or not 0.0 <= k < np.inf:
        raise PcpinnError(f"Level {level} or k = {k} is out of range.", "Give level >= 1 and a finite k >= 0.")
    families, closest, per_side = _families(domain, level)
    per_hole = 16 + 16 * level  # four points for each multipole order

    def data(points: np.ndarray, value: float | Field) -> np.ndarray:
        g = value(points) if callable(value) else np.full(len(points), float(value))
        return g if particular is None else g - particular(points)

    outer, holes = domain.outer_points(per_side, closest), domain.hole_points(per_hole)
    g = np.concatenate([data(_points(z), outer_value) for z in outer] + [data(_points(z), hole_value) for z in holes])
    matrix = _matrix(families, k, np.concatenate(outer + holes))
    scale = np.abs(matrix).max(axis=0)
    scaled = linalg.lstsq(matrix / scale, g, cond=_CUTOFF)[0]
    coefficients = scaled / scale

    def mismatch(z: np.ndarray, value: float | Field) -> float:
        error = _series(families, k, coefficients, z) - data(_points(z), value)
        # Between neighbours, e differs from its linear interpolant by h²|e''|/8 at most; doubled, because second
        # differences average e'' over two intervals and so miss part of its peaks.
        return float(np.abs(error).max() + np.abs(np.diff(error, n=2)).max() / 4)

    # Rounding: the scaled functions have size one on the boundary, and by the maximum principle also inside.
    bound = _ROUNDING * float(np.abs(scaled).sum())
    bound += max(
        [mismatch(z, outer_value) for z in domain.outer_points(_CHECKS * per_side, closest / 10)]
        + [mismatch(np.append(z, z[:2]), hole_value) for z in domain.hole_points(_CHECKS * per_hole, shift=0.5)]
    )
    return SeriesSolution(domain, float(k), particular, families, coefficients, bound)


def polynomial_trigonometric_particular(k: float, coefficients: np.ndarray, alpha: float, beta: float) -> Field:
    """A solution of -Δp + k²p = f, with f(x, y) = Σ coefficients[i, j] xⁱ yʲ sin(αx) sin(βy), for α² + β² + k² > 0.

    Exact up to rounding: the operator maps the products of xⁱ sin(αx), xⁱ cos(αx) and yʲ sin(βy), yʲ cos(βy) with
    degrees up to those of f to themselves, so that a small linear system gives p.
    """
    coefficients = np.asarray(coefficients, dtype=float)
    rows, columns = coefficients.shape

    def second_derivative(size: int, frequency: float) -> np.ndarray:
        # basis ordered as (power, sin or cos): power rule plus rotation of sin into cos
        first = np.kron(np.diag(np.arange(1.0, size), 1), np.eye(2))
        first += frequency * np.kron(np.eye(size), [[0.0, -1.0], [1.0, 0.0]])
        return first @ first

    def basis(x: np.ndarray, size: int, frequency: float) -> np.ndarray:
        powers = x[:, None] ** np.arange(size)
        trigonometric = np.stack([np.sin(frequency * x), np.cos(frequency * x)], axis=1)
        return (powers[:, :, None] * trigonometric[:, None, :]).reshape(len(x), 2 * size)

    in_x, in_y = second_derivative(rows, alpha), second_derivative(columns, beta)
    operator = k**2 * np.eye(4 * rows * columns)
    operator -= np.kron(in_x, np.eye(2 * columns)) + np.kron(np.eye(2 * rows), in_y)
    source = np.zeros((rows, 2, columns, 2))
    source[:, 0, :, 0] = coefficients
    solution = np.linalg.solve(operator, source.ravel()).reshape(2 * rows, 2 * columns)

    def particular(points: np.ndarray) -> np.ndarray:
        left = basis(points[:, 0], rows, alpha) @ solution
        return np.sum(left * basis(points[:, 1], columns, beta), axis=1)

    return particular


def _families(domain: RectangleWithHoles, level: int) -> tuple[tuple[_Multipoles, ...], float, int]:
    """The multipoles, the relative distance of the fitted points to the corners, and the fitted points per side."""
    sides = np.subtract(domain.upper, domain.lower)
    # Continued across a side, the solution is singular only beyond the limit point of the mirrored hole, at distance
    # sqrt(s² - r²) behind the side (s: from the centre to the side).  Sources closer than that can represent it.
    limits = [np.sqrt(domain.distance_to_sides(x, y) ** 2 - r**2) for x, y, r in domain.disks]
    distance = 0.6 * min([*limits, 0.4 * sides.min()])
    spacing = distance / (1.0 + 0.6 * level)
    outwards = np.array([-1 - 1j, 1 - 1j, 1 + 1j, -1 + 1j])  # at the corners
    ring = domain.corners + distance * outwards
    wall = []
    for a, b in zip(ring, np.roll(ring, -1), strict=True):
        m = int(np.ceil(abs(b - a) / spacing))
        wall.append(a + (b - a) * (np.arange(m) + 0.5) / m)
    sources = np.concatenate(wall)
    # Two sides with u = c meet in a singularity like k² c r² log r: sources clustered at the corner, their distances
    # tapering off as exp(-√j), resolve it with root-exponential accuracy.
    count = 3 * level
    gaps = distance * np.exp(-3.0 * (np.sqrt(count) - np.sqrt(np.arange(1, count + 1))))
    clusters = domain.corners[:, None] + outwards[:, None] * gaps
    families = [
        _Multipoles(sources, np.full(len(sources), distance), 0),
        _Multipoles(clusters.ravel(), np.tile(gaps, 4), 1),
    ]
    if domain.disks:
        x, y, r = np.array(domain.disks).T
        families.append(_Multipoles(x + 1j * y, r, 4 + 4 * level))
    closest = 0.1 * gaps[0] / sides.max()
    # the middle of a side is the coarsest: side / per_side · log(1/closest)/2 apart
    per_side = int(np.ceil(2.0 * sides.max() / spacing * -np.log(closest) / 2))
    return tuple(families), closest, per_side


def _matrix(families: tuple[_Multipoles, ...], k: float, z: np.ndarray) -> np.ndarray:
    """All functions of the series at z (n,) complex: (n, columns).  With k = 0 the constant is one of them."""
    constant = [np.ones((len(z), 1))] if k == 0.0 else []
    return np.concatenate([family.values(z, k) for family in families] + constant, axis=1)


def _series(families: tuple[_Multipoles, ...], k: float, coefficients: np.ndarray, z: np.ndarray) -> np.ndarray:
    """The series at z (n,) complex: (n,)."""
    chunks = [z[i : i + _CHUNK] for i in range(0, len(z), _CHUNK)]
    return np.concatenate([np.zeros(0)] + [_matrix(families, k, chunk) @ coefficients for chunk in chunks])


def _points(z: np.ndarray) -> np.ndarray:
    """Complex numbers (n,) as points (n, 2)."""
    return np.stack([z.real, z.imag], axis=1)
