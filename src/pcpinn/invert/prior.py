"""Smoothness priors: Gaussian processes at nodes, conditioned on what is known.

A prior has a kernel, a length and a scale. Length and kernel decide its shape L L^T, which costs an eigenproblem and is kept; the
scale multiplies it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.linalg as la
from scipy.spatial.distance import cdist

from ..errors import PcpinnError

CONSTANT = 100.0  # variance of an unknown mean, in units of the scale's square
_RANK_TOLERANCE = 1e-6  # modes below this part of the largest are left out of the linear algebra
_FLOOR = 2e-3  # what networks may deviate, in units of the first scale, as long as no posterior says more
_JITTER = 1e-8


def squared_exponential(r: np.ndarray) -> np.ndarray:
    """exp(-r^2 / 2): samples are infinitely smooth."""
    return np.exp(-0.5 * r**2)


def matern(r: np.ndarray) -> np.ndarray:
    """Matern of order 5/2: samples have two derivatives."""
    s = np.sqrt(5.0) * r
    return (1 + s + s**2 / 3) * np.exp(-s)


KERNELS: dict[str, Callable[[np.ndarray], np.ndarray]] = {"se": squared_exponential, "matern": matern}


@dataclass(frozen=True)
class Hyper:
    """One prior.

    Attributes:
        kernel, length, scale: of the process.
        modes: functions that vary on their own, each with its variance.
        floor: root mean square by which networks may deviate in directions that the prior excludes; 0 for a default.
    """

    kernel: str
    length: float
    scale: float
    modes: tuple[tuple[int, float], ...] = ()
    floor: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "kernel": self.kernel,
            "length": self.length,
            "scale": self.scale,
            "modes": [list(m) for m in self.modes],
            "floor": self.floor,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Hyper:
        """Inverse of `to_dict`."""
        modes = tuple((int(j), float(v)) for j, v in data["modes"])
        return cls(str(data["kernel"]), float(data["length"]), float(data["scale"]), modes, float(data["floor"]))


@dataclass(frozen=True)
class Shape:
    """The process of scale 1: mean (M,), low-rank factor L (M, r) of the covariance."""

    mean: np.ndarray
    factor: np.ndarray


@dataclass
class FieldPrior:
    """A Gaussian process at nodes.

    Attributes:
        name: for messages and reports.
        nodes: (M, d) in units in which distances mean the same along all axes.
        start: first hyper-parameters.
        fixed: which of kernel, length and scale are given and stay.
        kernels: those to choose from, by evidence.
        known, values: numbers of nodes with known values, and these.
        constant: whether its mean is unknown (else `mean`).
        modes: (M, J) functions of size one that may vary on their own, the smoothest first; None for none.
    """

    name: str
    nodes: np.ndarray
    start: Hyper
    fixed: frozenset[str] = frozenset()
    kernels: tuple[str, ...] = ("se",)
    known: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    values: np.ndarray = field(default_factory=lambda: np.zeros(0))
    constant: bool = False
    mean: float = 0.0
    modes: np.ndarray | None = None
    _shapes: dict[tuple[str, float], Shape] = field(default_factory=dict)

    @property
    def open(self) -> np.ndarray:
        """Numbers of the nodes whose values are not known."""
        return np.setdiff1d(np.arange(len(self.nodes)), self.known)

    def shape(self, hyper: Hyper) -> Shape:
        """Conditioned on the known values, over all nodes."""
        key = (hyper.kernel, round(float(np.log(hyper.length)), 6))
        if key not in self._shapes:
            self._shapes[key] = self._make(hyper)
        return self._shapes[key]

    def _make(self, hyper: Hyper) -> Shape:
        kernel = KERNELS[hyper.kernel]
        K = kernel(cdist(self.nodes, self.nodes) / hyper.length)
        if self.constant:
            K += CONSTANT
        M, known, inner = len(K), self.known, self.open
        mean = np.full(M, self.mean)
        C = K[np.ix_(inner, inner)]
        if len(known):
            Kb = K[np.ix_(known, known)]
            Kb[np.diag_indices_from(Kb)] += _JITTER * Kb[0, 0]
            cross = K[np.ix_(known, inner)]
            try:
                factors = la.cho_factor(Kb)
            except la.LinAlgError as error:
                raise PcpinnError(
                    f"the prior of {self.name!r} is singular with length {hyper.length:g}", "give a shorter length"
                ) from error
            mean[known] = self.values
            mean[inner] = self.mean + cross.T @ la.cho_solve(factors, self.values - self.mean)
            C = C - cross.T @ la.cho_solve(factors, cross)
        values, vectors = la.eigh(C)
        values = np.maximum(values, 0.0)
        kept = values > _RANK_TOLERANCE * min(values[-1], 1.0)
        factor = np.zeros((M, int(kept.sum())))
        factor[inner] = vectors[:, kept] * np.sqrt(values[kept])
        return Shape(mean, factor)

    def factor(self, hyper: Hyper) -> np.ndarray:
        """(M, r): the covariance is this times its transpose."""
        columns = [hyper.scale * self.shape(hyper).factor]
        if hyper.modes and self.modes is not None:
            columns.append(self.modes[:, [j for j, _ in hyper.modes]] * np.sqrt([v for _, v in hyper.modes]))
        return np.concatenate(columns, axis=1)

    def whitening(self, hyper: Hyper) -> np.ndarray:
        """Rows (M', M): ||rows (v - mean)||^2 is minus twice the log density of values v, up to a constant.

        A network is never exactly as smooth as the prior. It may deviate by the floor: if that were much less than what the
        data leave open, hardly a step of training could be taken, because each is a little rough.
        """
        inner = self.open
        L = self.factor(hyper)[inner]
        floor = (hyper.floor or _FLOOR * self.start.scale) ** 2 * len(inner)  # rows are unit vectors over all nodes
        vectors, singular, _ = la.svd(L, full_matrices=True)
        values = np.zeros(len(inner))
        values[: len(singular)] = singular**2
        rows = np.zeros((len(inner), len(self.nodes)))
        rows[:, inner] = (vectors / np.sqrt(values + floor)).T
        return rows

    def neighbours(self, hyper: Hyper, step: float) -> list[Hyper]:
        """Lengths and scales to try next."""
        result = []
        if "length" not in self.fixed:
            result += [replace(hyper, length=hyper.length * f) for f in (np.exp(step), np.exp(-step))]
        if "scale" not in self.fixed:
            result += [replace(hyper, scale=hyper.scale * f) for f in (np.exp(step), np.exp(-step))]
        if not self.fixed & {"length", "scale"}:  # the two trade against each other
            both = ((np.exp(step), np.exp(2 * step)), (np.exp(-step), np.exp(-2 * step)))
            result += [replace(hyper, length=hyper.length * f, scale=hyper.scale * g) for f, g in both]
        return result

    def penalty(self, hyper: Hyper) -> float:
        """Minus log of a broad prior on the hyper-parameters: both within a factor of ten or so of the first ones."""
        distance = (np.log(hyper.length / self.start.length), np.log(hyper.scale / self.start.scale))
        return 0.5 * (distance[0] ** 2 / 1.0**2 + distance[1] ** 2 / 2.0**2)
