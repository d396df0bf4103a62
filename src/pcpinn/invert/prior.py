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
from .link import Link

CONSTANT = 100.0  # variance of an unknown mean, in units of the scale's square
_RANK_TOLERANCE = {"exponential": 1e-4}  # modes below this part of the largest are left out of the linear algebra
_USUAL_TOLERANCE = 1e-6
_FLOOR = 2e-3  # what networks may deviate, in units of the first scale, as long as no posterior says more
_JITTER = 1e-8
LOCAL = 3.0  # a process that varies more where the answer is large: by this, per root mean square of the answer
_NEAR = 0.3  # parts of the first length over which that is averaged
_LONGER = 0.2  # by which a local process may be longer than the first one, as a logarithm
_LOCAL_COST = 3.0  # log evidence that it has to earn, since it has seen the answer
_NEVER_STILL = 1.6  # power of small scales in their density per logarithm: 1 is flat in scales, 2 in their squares
_DOUBT = 0.2  # log evidence that rough processes have ahead


def squared_exponential(r: np.ndarray) -> np.ndarray:
    """exp(-r^2 / 2): samples are infinitely smooth."""
    return np.exp(-0.5 * r**2)


def matern(r: np.ndarray) -> np.ndarray:
    """Matern of order 5/2: samples have two derivatives."""
    s = np.sqrt(5.0) * r
    return (1 + s + s**2 / 3) * np.exp(-s)


def exponential(r: np.ndarray) -> np.ndarray:
    """exp(-r), Matern of order 1/2: samples are continuous and no more, and may all but jump."""
    return np.exp(-r)


KERNELS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "se": squared_exponential,
    "matern": matern,
    "exponential": exponential,
}
SMOOTH = ("se", "matern")  # answers are chosen among
ROUGH = ("exponential",)  # and these are doubts: hardly any data exclude that a coefficient is so rough


@dataclass(frozen=True)
class Hyper:
    """One prior.

    Attributes:
        kernel, length, scale: of the process.
        modes: functions that vary on their own, each with its variance.
        local: how much more it varies where the answer is far from its mean; 0 for the same everywhere.
        floor: root mean square by which networks may deviate in directions that the prior excludes; 0 for a default.
    """

    kernel: str
    length: float
    scale: float
    modes: tuple[tuple[int, float], ...] = ()
    floor: float = 0.0
    local: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "kernel": self.kernel,
            "length": self.length,
            "scale": self.scale,
            "modes": [list(m) for m in self.modes],
            "floor": self.floor,
            "local": self.local,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Hyper:
        """Inverse of `to_dict`."""
        modes = tuple((int(j), float(v)) for j, v in data["modes"])
        length, scale, floor, local = (float(data[k]) for k in ("length", "scale", "floor", "local"))
        return cls(str(data["kernel"]), length, scale, modes, floor, local)


@dataclass(frozen=True)
class Shape:
    """The process of scale 1: mean (M,), what an unknown constant does (M, 1) or (M, 0), low-rank factor (M, r) of the rest."""

    mean: np.ndarray
    constant: np.ndarray
    factor: np.ndarray


@dataclass
class FieldPrior:
    """A Gaussian process at nodes.

    Attributes:
        name: for messages and reports.
        nodes: (M, d) in units in which distances mean the same along all axes.
        start: first hyper-parameters.
        fixed: which of kernel, length and scale are given and stay.
        kernels: those to choose from, by evidence; doubts: those that are never chosen, but count where answers are doubted.
        known, values: numbers of nodes with known values, and these.
        constant: whether its mean is unknown (else `mean`).
        modes: (M, J) functions of size one that may vary on their own, the smoothest first; None for none.
        size: (M,) distance of the last answer from its mean, in units of its root mean square; None before there is one.
        link: what of the field is normal; known values and mean are given in these terms.
    """

    name: str
    nodes: np.ndarray
    start: Hyper
    fixed: frozenset[str] = frozenset()
    kernels: tuple[str, ...] = ("se",)
    doubts: tuple[str, ...] = ()
    known: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    values: np.ndarray = field(default_factory=lambda: np.zeros(0))
    constant: bool = False
    mean: float = 0.0
    modes: np.ndarray | None = None
    link: Link = field(default_factory=Link)
    size: np.ndarray | None = None
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
        M, known, inner = len(K), self.known, self.open
        mean, constant = np.full(M, self.mean), np.full((M, int(self.constant)), np.sqrt(CONSTANT))
        C = K[np.ix_(inner, inner)]
        if len(known):
            Kb = K[np.ix_(known, known)]
            Kb[np.diag_indices_from(Kb)] += _JITTER * (1 + self.constant * CONSTANT)
            cross = K[np.ix_(known, inner)]
            try:
                factors = la.cho_factor(Kb)
            except la.LinAlgError as error:
                raise PcpinnError(
                    f"the prior of {self.name!r} is singular with length {hyper.length:g}", "give a shorter length"
                ) from error
            ones = la.cho_solve(factors, np.ones(len(known)))
            variance = 1 / (1 / CONSTANT + ones.sum())  # of the constant, once the values are known
            level = self.mean + self.constant * variance * float(ones @ (self.values - self.mean))
            mean[known] = self.values
            mean[inner] = level + cross.T @ la.cho_solve(factors, self.values - level)
            constant[known] = 0.0
            constant[inner] = np.sqrt(variance) * (1 - cross.T @ ones)[:, None]
            C = C - cross.T @ la.cho_solve(factors, cross)
        values, vectors = la.eigh(C)
        values = np.maximum(values, 0.0)
        kept = values > _RANK_TOLERANCE.get(hyper.kernel, _USUAL_TOLERANCE) * min(values[-1], 1.0)
        factor = np.zeros((M, int(kept.sum())))
        factor[inner] = vectors[:, kept] * np.sqrt(values[kept])
        return Shape(mean, constant, factor)

    def look(self, g: np.ndarray) -> None:
        """Remember where an answer (M,) is far from its mean: there a process may vary more (`Hyper.local`)."""
        near = squared_exponential(cdist(self.nodes, self.nodes) / (_NEAR * self.start.length))
        away = np.sqrt(near @ (g - np.mean(g)) ** 2 / near.sum(axis=1))
        self.size = away / (float(np.sqrt(np.mean(away**2))) or 1.0)

    def unit(self, hyper: Hyper) -> np.ndarray:
        """(M, r) factor of scale 1, without modes."""
        shape = self.shape(hyper)
        if not hyper.local or self.size is None:
            return np.concatenate([shape.constant, shape.factor], axis=1)
        more = np.sqrt(1 + (hyper.local * self.size) ** 2)
        return np.concatenate([shape.constant, more[:, None] * shape.factor], axis=1)

    def factor(self, hyper: Hyper) -> np.ndarray:
        """(M, r): the covariance is this times its transpose."""
        columns = [hyper.scale * self.unit(hyper)]
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

    def alternatives(self, hyper: Hyper, doubts: bool = False) -> list[Hyper]:
        """Other kinds of process: with each kernel, varying more where the answer is large or not, without modes of their own."""
        amounts = (0.0,) if self.size is None or "scale" in self.fixed else (0.0, LOCAL)
        kinds = [replace(hyper, kernel=k, local=a) for k in self.kernels for a in amounts]
        kinds += [replace(hyper, kernel=k, modes=()) for k in self.kernels if hyper.modes]
        if doubts:
            kinds += [replace(hyper, kernel=k, modes=(), local=0.0) for k in self.doubts]
        return [h for h in kinds if h != hyper]

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

    def variation(self, J: np.ndarray) -> float:
        """Root mean square of J v over rows of J, for v of the first length and of scale 1, its mean apart."""
        K = KERNELS[self.start.kernel](cdist(self.nodes, self.nodes) / self.start.length)
        return float(np.sqrt(np.maximum(np.einsum("ij,ij->i", J @ K, J), 0.0).mean()))

    def penalty(self, hyper: Hyper) -> float:
        """Minus log of a broad prior on the hyper-parameters, per logarithm of each.

        Lengths within a factor of ten or so of the first one. Scales are nearly flat in their squares up to the first one, with a
        heavy tail above: where data show no variation at all, scales that they would just not show are the likeliest, and not
        those that leave nothing to vary (Morris and Tang 2011). A local process that is longer than the first one would take its
        shape from the answer it has seen.
        """
        length, scale = np.log(hyper.length / self.start.length), np.log(hyper.scale / self.start.scale)
        ahead = _DOUBT * (hyper.kernel in ROUGH)
        local = _LOCAL_COST + 0.5 * (max(length, 0.0) / _LONGER) ** 2 if hyper.local else 0.0
        return float(0.5 * length**2 + np.logaddexp(scale, -_NEVER_STILL * scale) - np.log(2) + local - ahead)
