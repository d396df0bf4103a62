"""Polynomials in time: how the time levels of a space-time slab are coupled.

Time is cut into slabs. In each, u is a polynomial through its value at the slab's start and its values at m nodes, so the
degrees of freedom are values of u at time levels, as the network needs them. What the polynomials have to satisfy is the scheme:
  * radau: the equation of first order in time at the nodes themselves (Radau IIA: order 2m - 1, damps what it does not resolve);
  * gauss: the same at the m Gauss points (order 2m, conserves the energy of waves);
  * galerkin: tested with the polynomials themselves, for problems with a condition at both ends of time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.polynomial import legendre

SCHEMES = ("radau", "gauss", "galerkin")


@dataclass(frozen=True)
class TimeScheme:
    """A scheme on given slabs, as matrices between time levels (l) and the moments (q) at which the equation is evaluated.

    Attributes:
        name: radau, gauss or galerkin.
        times: (s + 1,) ends of the slabs, ascending.
        order: m, the number of new time levels per slab.
    """

    name: str
    times: np.ndarray
    order: int

    @property
    def slabs(self) -> int:
        """Number of slabs s."""
        return len(self.times) - 1

    @property
    def layer_count(self) -> int:
        """Number of time levels L."""
        return self.slabs * self.order + 1

    @cached_property
    def inner(self) -> np.ndarray:
        """(m + 1,) places of a slab's time levels in [0, 1], its start first."""
        if self.name == "galerkin":
            return lobatto_points(self.order + 1)
        return np.concatenate([[0.0], radau_points(self.order)])

    @cached_property
    def _moments(self) -> np.ndarray:
        """Where in [0, 1] the equation is evaluated."""
        if self.name == "radau":
            return self.inner[1:]
        return gauss_points(self.order + (self.name == "galerkin"))[0]

    @cached_property
    def layers(self) -> np.ndarray:
        """(L,) times of all time levels."""
        start, length = self.times[:-1, None], np.diff(self.times)[:, None]
        return np.concatenate([self.times[:1], (start + length * self.inner[None, 1:]).ravel()])

    @cached_property
    def moments(self) -> np.ndarray:
        """(Q,) times at which the equation is evaluated."""
        return (self.times[:-1, None] + np.diff(self.times)[:, None] * self._moments).ravel()

    @cached_property
    def trial(self) -> tuple[sp.csr_matrix, sp.csr_matrix]:
        """(Q, L) each: value and derivative in time at the moments, from the values at the time levels."""
        value, slope = derivatives(self.inner, self._moments)
        lengths = np.diff(self.times)
        return self._spread([value for _ in lengths]), self._spread([slope / h for h in lengths])

    @cached_property
    def test(self) -> sp.csr_matrix:
        """(L, Q): which combination of the moments gives each time level its equation."""
        if self.name == "galerkin":
            return self._tested(0)
        count = self.layer_count - 1
        moments = np.arange(count)
        return sp.csr_matrix((np.ones(count), (moments + 1, moments)), shape=(self.layer_count, count))

    @cached_property
    def test_rate(self) -> sp.csr_matrix | None:
        """(L, Q): the same for the flux through time, where it is tested instead of differentiated."""
        return self._tested(1) if self.name == "galerkin" else None

    @cached_property
    def weights(self) -> np.ndarray:
        """(L,) positive weights of an integral over time."""
        lengths = np.diff(self.times)
        result = np.zeros(self.layer_count)
        if self.name == "galerkin":
            local = interpolatory_weights(self.inner)
            for n, h in enumerate(lengths):
                result[n * self.order : (n + 1) * self.order + 1] += h * local
            return result
        local = interpolatory_weights(self.inner[1:])
        result[1:] = (lengths[:, None] * local).ravel()
        result[0] = result[1:].mean()  # initial values count as any time level, however short the first slab
        return result * ((self.times[-1] - self.times[0]) / result.sum())

    def interpolation(self, t: np.ndarray) -> sp.csr_matrix:
        """(n, L): from values at the time levels to values at times t (n,)."""
        t = np.asarray(t, dtype=np.float64)
        slab = np.clip(np.searchsorted(self.times, t, side="left") - 1, 0, self.slabs - 1)
        place = (t - self.times[slab]) / np.diff(self.times)[slab]
        values = derivatives(self.inner, place)[0]
        columns = slab[:, None] * self.order + np.arange(self.order + 1)
        rows = np.repeat(np.arange(len(t)), self.order + 1)
        return sp.csr_matrix((values.ravel(), (rows, columns.ravel())), shape=(len(t), self.layer_count))

    def _spread(self, tables: list[np.ndarray]) -> sp.csr_matrix:
        """One (k, m + 1) table per slab -> (Q, L)."""
        k, width = tables[0].shape
        rows = np.repeat(np.arange(self.slabs * k), width)
        columns = np.arange(self.slabs)[:, None, None] * self.order + np.zeros((k, 1), dtype=int) + np.arange(width)
        shape = (self.slabs * k, self.layer_count)
        return sp.csr_matrix((np.concatenate([t.ravel() for t in tables]), (rows, columns.ravel())), shape=shape)

    def _tested(self, derivative: int) -> sp.csr_matrix:
        weights = gauss_points(len(self._moments))[1]
        scale = np.concatenate([h * weights for h in np.diff(self.times)])
        return sp.csr_matrix(self.trial[derivative].T @ sp.diags(scale))


def gauss_points(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights of Gauss's rule on [0, 1]."""
    x, w = legendre.leggauss(count)
    return (x + 1) / 2, w / 2


def radau_points(count: int) -> np.ndarray:
    """Points of Radau's rule on [0, 1], 1 included."""
    if count == 1:
        return np.array([1.0])
    roots = np.sort(legendre.legroots([0.0] * (count - 1) + [-1.0, 1.0]).real)
    return np.concatenate([(roots[:-1] + 1) / 2, [1.0]])


def lobatto_points(count: int) -> np.ndarray:
    """Points of Lobatto's rule on [0, 1], both ends included."""
    inside = np.sort(legendre.legroots(legendre.legder([0.0] * (count - 1) + [1.0])).real) if count > 2 else np.empty(0)
    return np.concatenate([[0.0], (inside + 1) / 2, [1.0]])


def derivatives(nodes: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(k, n) each: value and derivative at `at` (k,) of the polynomial with values at nodes (n,) in [0, 1]."""
    degree = len(nodes) - 1
    coefficients = np.linalg.inv(legendre.legvander(2 * nodes - 1, degree))  # of Legendre polynomials, (degree + 1, n)
    slopes = legendre.legder(coefficients, scl=2.0)
    return legendre.legvander(2 * at - 1, degree) @ coefficients, legendre.legvander(
        2 * at - 1, len(slopes) - 1
    ) @ slopes


def interpolatory_weights(nodes: np.ndarray) -> np.ndarray:
    """Weights of the rule on [0, 1] with the given points that is exact for polynomials through them."""
    x, w = gauss_points(len(nodes))
    return derivatives(nodes, x)[0].T @ w


def slab_times(start: float, end: float, count: int, halvings: int = 0) -> np.ndarray:
    """(count + halvings + 1,) ends of slabs: equal ones, the first cut in half `halvings` times towards the start."""
    times = np.linspace(start, end, count + 1)
    first = times[1] - start
    return np.concatenate([[start], start + first * 0.5 ** np.arange(halvings, 0, -1), times[1:]])
