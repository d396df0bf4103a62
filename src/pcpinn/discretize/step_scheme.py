"""One step in time as tables: how new time levels follow from known ones. Everything a march needs to know about a scheme.

A step of length h makes m new time levels of values. At some moments of the step the equation is evaluated, with values and rates
that are combinations of the known and the new time levels; each new level takes a combination of the moments as its equation:
    test R(value U, slope U / h) = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from ..errors import PcpinnError
from .time_scheme import derivatives, gauss_points, radau_points

SECOND = "second-difference"  # takes u_tt in the place of u_t (see problem/second_order.py)
_ZERO = 1e-12  # entries of tables, which are computed
STEPS = ("euler", "crank-nicolson", "bdf2", "radau", "gauss", SECOND)


@dataclass(frozen=True)
class StepScheme:
    """Places are in units of the step, from its start at 0 to its end at 1, which is the last layer.

    Attributes:
        name: of the scheme.
        past: (H,) places of the known time levels, at most 0; the last is the start.
        nodes: (m,) places of the new time levels.
        moments: (q,) where the equation is evaluated.
        value, slope: (q, H + m) values and rates there, from all time levels.
        test: (m, q) equations of the new time levels, from those at the moments.
        derivative: which derivative in time the slopes are.
    """

    name: str
    past: np.ndarray
    nodes: np.ndarray
    moments: np.ndarray
    value: np.ndarray
    slope: np.ndarray
    test: np.ndarray
    derivative: int = 1

    @property
    def history(self) -> int:
        """Number of known time levels H."""
        return len(self.past)

    @property
    def order(self) -> int:
        """Number of new time levels m."""
        return len(self.nodes)

    def interpolation(self, places: np.ndarray) -> np.ndarray:
        """(k, H + m): values at places (k,) from those of all time levels, by the scheme's own polynomial."""
        return self._polynomial(places)[0]

    def rates(self, places: np.ndarray) -> np.ndarray:
        """(k, H + m): the same polynomial's rates of change, per step."""
        return self._polynomial(places)[1]

    def _polynomial(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        layers = np.concatenate([self.past, self.nodes])
        low, length = layers[0], layers[-1] - layers[0]
        values, slopes = derivatives((layers - low) / length, (np.asarray(places) - low) / length)
        return values, slopes / length

    @property
    def looks_back(self) -> bool:
        """Whether equations without a rate take values of the known time levels, too; Radau's, Euler's and BDF2 do not."""
        return bool(np.abs(self.value[:, : self.history]).max() > _ZERO)

    @property
    def backwards(self) -> np.ndarray:
        """(m,): the value at the start from those of the new time levels alone, by the polynomial through them."""
        return derivatives(self.nodes, np.zeros(1))[0][0] if self.order > 1 else np.ones(1)

    @property
    def starter(self) -> StepScheme:
        """The scheme of a first step, where only one time level is known."""
        if self.name == SECOND:  # at rest before: the level before the start is the start
            start, end = np.zeros(1), np.ones(1)
            return StepScheme(SECOND, start, end, end, np.array([[0.0, 1.0]]), np.array([[-1.0, 1.0]]), np.eye(1), 2)
        return self if self.history == 1 else step_scheme("euler")


@lru_cache(maxsize=64)
def step_scheme(name: str, order: int = 1) -> StepScheme:
    """A scheme by name; `order` is the number of time levels of radau (order 2m - 1) and gauss (order 2m).

    Raises:
        PcpinnError: for an unknown name.
    """
    start, end = np.zeros(1), np.ones(1)
    if name in ("radau", "gauss", "euler"):
        nodes = radau_points(1 if name == "euler" else order)
        moments = gauss_points(order)[0] if name == "gauss" else nodes
        value, slope = derivatives(np.concatenate([start, nodes]), moments)
        return StepScheme(name, start, nodes, moments, value, slope, np.eye(len(nodes)))
    if name == "crank-nicolson":
        slope = np.array([[-1.0, 1.0], [-1.0, 1.0]])
        return StepScheme(name, start, end, np.array([0.0, 1.0]), np.eye(2), slope, np.array([[0.5, 0.5]]))
    if name == "bdf2":
        value, slope = np.array([[0.0, 0.0, 1.0]]), np.array([[0.5, -2.0, 1.5]])
        return StepScheme(name, np.array([-1.0, 0.0]), end, end, value, slope, np.eye(1))
    if name == SECOND:
        value, slope = np.array([[0.0, 0.0, 1.0]]), np.array([[1.0, -2.0, 1.0]])
        return StepScheme(name, np.array([-1.0, 0.0]), end, end, value, slope, np.eye(1), 2)
    raise PcpinnError(f"scheme={name!r} does not march", f"use {', '.join(STEPS)}")


@dataclass(frozen=True)
class Layers:
    """The time levels of several consecutive steps of a scheme, as tables: H known ones, then L = steps x m new ones.

    Attributes:
        scheme: of each step; the very first of a march takes its starter.
        times: (steps + 1,) ends of the steps, all of the same length.
        first: whether the march begins here.
    """

    scheme: StepScheme
    times: np.ndarray
    first: bool = False

    @property
    def steps(self) -> int:
        """Number of steps."""
        return len(self.times) - 1

    @property
    def length(self) -> float:
        """Of one step."""
        return float(self.times[-1] - self.times[0]) / self.steps

    @property
    def history(self) -> int:
        """Number of known time levels H."""
        return self.scheme.history

    @property
    def count(self) -> int:
        """Number of new time levels L."""
        return self.steps * self.scheme.order

    @cached_property
    def moments(self) -> np.ndarray:
        """(Q,) times at which the equation is evaluated."""
        return np.concatenate([t + self.length * self._at(k).moments for k, t in enumerate(self.times[:-1])])

    @cached_property
    def layers(self) -> np.ndarray:
        """(L,) times of the new time levels."""
        return (self.times[:-1, None] + self.length * self.scheme.nodes).ravel()

    @cached_property
    def value(self) -> np.ndarray:
        """(Q, H + L)."""
        return self._spread("value")

    @cached_property
    def slope(self) -> np.ndarray:
        """(Q, H + L), per unit of time, or of time squared for second derivatives."""
        return self._spread("slope") / self.length**self.scheme.derivative

    @cached_property
    def test(self) -> np.ndarray:
        """(L, Q)."""
        blocks = [self._at(k).test for k in range(self.steps)]
        result = np.zeros((self.count, len(self.moments)))
        row = column = 0
        for block in blocks:
            result[row : row + block.shape[0], column : column + block.shape[1]] = block
            row, column = row + block.shape[0], column + block.shape[1]
        return result

    @cached_property
    def weights(self) -> np.ndarray:
        """(L,) positive weights of an integral over time, of sum one."""
        ends = np.concatenate([[0.0], self.scheme.nodes])
        return np.tile(np.diff(ends), self.steps) / self.steps

    def moments_of(self, step: int) -> slice:
        """Which moments belong to a step."""
        counts = [len(self._at(k).moments) for k in range(step + 1)]
        return slice(sum(counts[:-1]), sum(counts))

    def _at(self, step: int) -> StepScheme:
        return self.scheme.starter if self.first and step == 0 else self.scheme

    def _spread(self, table: str) -> np.ndarray:
        rows = []
        for k in range(self.steps):
            scheme = self._at(k)
            block = getattr(scheme, table)
            row = np.zeros((len(block), self.history + self.count))
            at = self.history - scheme.history + k * self.scheme.order
            row[:, at : at + block.shape[1]] = block
            rows.append(row)
        return np.concatenate(rows)
