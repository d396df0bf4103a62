"""The linearised inverse problem with the PDE as a constraint: evidence of hyper-parameters, posterior, best achievable error.

With u = u_h(c, u_free) on the equations, data are linear in the unknowns near a guess:
    y ~ y_0 + J_c (c - c_0) + J_f (u_free - u_free_0) + noise.
Unknown functions are expanded in the modes of their priors, so that all unknowns z have prior N(0, I).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg as la

from ..errors import PcpinnError
from .prior import FieldPrior, Hyper

_KEPT = 200  # products of blocks that are remembered
_ROUNDING = 1e-11
_ANY = 1e3  # standard deviations of the data that a constant may be away from its first guess


@dataclass(frozen=True)
class Block:
    """Unknowns with one prior.

    Attributes:
        prior: a `FieldPrior`, or None for plain numbers.
        J: (m, M) derivative of the weighted data.
        G: (N, M) derivative of the discrete solution.
        at: (M,) where this is linearised.
        spread: (M,) prior standard deviation of plain numbers.
        mean: (M,) prior mean of plain numbers.
    """

    prior: FieldPrior | None
    J: np.ndarray
    G: np.ndarray
    at: np.ndarray
    spread: np.ndarray | None = None
    mean: np.ndarray | None = None

    def modes(self, hyper: Hyper | None) -> tuple[np.ndarray, np.ndarray]:
        """Prior mean (M,) and factor (M, r) of the covariance."""
        if self.prior is None or hyper is None:
            assert self.spread is not None
            assert self.mean is not None
            return self.mean, np.diag(self.spread)
        return self.prior.shape(hyper).mean, self.prior.factor(hyper)


@dataclass(frozen=True)
class Posterior:
    """Gaussian, in factored form: the covariance of block i is F_i F_i^T with F_i (M_i, r); that of u is F_u F_u^T.

    Attributes:
        means: posterior mean of each block, in the terms of its prior.
        factors: F_i.
        u_factor: (N, r), of the discrete solution.
        u_mean: (N,).
        evidence: log evidence of the data, up to a constant.
        effective: number of degrees of freedom that the data determine.
        misfit: ||weighted residual||^2 at the mean.
    """

    means: tuple[np.ndarray, ...]
    factors: tuple[np.ndarray, ...]
    u_factor: np.ndarray
    u_mean: np.ndarray
    evidence: float
    effective: float
    misfit: float


class Linearised:
    """Data and unknowns near a guess.

    Args:
        residual: (m,) weighted data minus weighted prediction at the guess.
        blocks: the unknowns.
        u: (N,) discrete solution at the guess.
    """

    def __init__(self, residual: np.ndarray, blocks: Sequence[Block], u: np.ndarray) -> None:
        self.residual, self.blocks, self.u = residual, list(blocks), u
        self._projected: dict[Hashable, tuple[np.ndarray, np.ndarray]] = {}
        self._products: dict[tuple[Hashable, Hashable], np.ndarray] = {}
        self._modes: dict[int, np.ndarray] = {}

    def evidence(self, hypers: Sequence[Hyper | None]) -> float:
        """Log evidence of the data, with broad priors of the hyper-parameters."""
        pieces, e = self._pieces(hypers)
        M = np.block([[self._product(a, b) for b in pieces] for a in pieces])
        M[np.diag_indices_from(M)] += 1.0
        factor = _cholesky(M)
        right = np.concatenate([a.scale * (a.columns.T @ e) for a in pieces])
        value = -0.5 * (e @ e - right @ la.cho_solve(factor, right)) - float(np.log(np.diag(factor[0])).sum())
        for i, (block, hyper) in enumerate(zip(self.blocks, hypers, strict=True)):
            if block.prior is not None and hyper is not None:
                value -= block.prior.penalty(hyper) + len(hyper.modes) * self._mode_cost(i)
        return float(value)

    def _mode_cost(self, i: int) -> float:
        """Log evidence that a mode of its own has to earn.

        With log J, J candidates, noise alone is mistaken for a mode in one of thirty data sets; with twice that, hardly ever.
        """
        return 2 * float(np.log(max(1, self.mode_columns(i).shape[1])))

    def mode_columns(self, i: int) -> np.ndarray:
        """(m, J) what the modes of a block do to the data."""
        if i not in self._modes:
            prior = self.blocks[i].prior
            modes = None if prior is None else prior.modes
            self._modes[i] = self.blocks[i].J @ (np.zeros((len(self.blocks[i].at), 0)) if modes is None else modes)
        return self._modes[i]

    def posterior(self, hypers: Sequence[Hyper | None]) -> Posterior:
        """Mean and covariance."""
        B, e, modes, factor, z = self._solved(hypers)
        means, factors = self._at_nodes(modes, factor, z)
        u_mean, u_factor = self.u.copy(), np.zeros((len(self.u), len(z)))
        for block, mean, F in zip(self.blocks, means, factors, strict=True):
            u_mean += block.G @ (mean - block.at)
            u_factor += block.G @ F
        r = e - B @ z
        dof = _effective(B, factor)
        return Posterior(tuple(means), tuple(factors), u_factor, u_mean, self.evidence(hypers), dof, float(r @ r))

    def moments(self, hypers: Sequence[Hyper | None]) -> tuple[list[np.ndarray], list[np.ndarray], float]:
        """Means and factors of all blocks, and how many degrees of freedom the data determine; without u."""
        B, _, modes, factor, z = self._solved(hypers)
        return *self._at_nodes(modes, factor, z), _effective(B, factor)

    def moved(self, hypers: Sequence[Hyper | None], missed: np.ndarray) -> list[np.ndarray]:
        """By how much the means of all blocks (M,) would move if weighted data (m,) were different by that much."""
        B, _, modes, factor, _ = self._solved(hypers)
        z, cuts = la.cho_solve(factor, B.T @ missed), np.cumsum([L.shape[1] for _, L in modes])[:-1]
        return [L @ part for (_, L), part in zip(modes, np.split(z, cuts), strict=True)]

    def _solved(
        self, hypers: Sequence[Hyper | None]
    ) -> tuple[np.ndarray, np.ndarray, list[tuple[np.ndarray, np.ndarray]], Any, np.ndarray]:
        """What `_assemble` gives, the factors of B^T B + I, and the mean of the unknowns z."""
        B, e, modes = self._assemble(hypers)
        M = B.T @ B
        M[np.diag_indices_from(M)] += 1.0
        factor = _cholesky(M)
        return B, e, modes, factor, la.cho_solve(factor, B.T @ e)

    def _at_nodes(
        self, modes: list[tuple[np.ndarray, np.ndarray]], factor: Any, z: np.ndarray
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        root = la.solve_triangular(factor[0], np.eye(len(z)), lower=True).T  # M^-1 = root root^T
        means, factors, at = [], [], 0
        for mean, L in modes:
            part = slice(at, at + L.shape[1])
            means.append(mean + L @ z[part])
            factors.append(L @ root[part])
            at += L.shape[1]
        return means, factors

    def unexplained(self, i: int, hypers: Sequence[Hyper | None]) -> np.ndarray:
        """(m,) what a constant in block i and all the other blocks leave of the data, as the priors are given."""
        B = [self.blocks[i].J.sum(axis=1, keepdims=True)]
        B[0] = B[0] / (float(np.linalg.norm(B[0])) or 1.0) * _ANY
        for block, hyper in zip(self.blocks, hypers, strict=True):
            if block is not self.blocks[i]:
                B.append(block.J @ block.modes(hyper)[1])
        columns, e = np.concatenate(B, axis=1), self._pieces(hypers)[1]
        M = columns.T @ columns + np.eye(columns.shape[1])
        return e - columns @ la.solve(M, columns.T @ e, assume_a="pos")

    def choose(self, hypers: Sequence[Hyper | None]) -> list[Hyper | None]:
        """Hyper-parameters of (locally) largest evidence, from the given ones and from processes that hardly vary.

        The second start lets single modes explain what they can before a process of many modes does.
        """
        quiet = [
            None if h is None else replace(h, modes=(), scale=h.scale if self._fixed(i) else 1e-2 * h.scale)
            for i, h in enumerate(hypers)
        ]
        found = []
        for start in (list(hypers), quiet):
            best = start
            for step in (0.7, 0.3):
                best = self._modes_of(best)
                best = self._search(best, step)
            found.append(self._modes_of(best))
        return self._best_kernels(max(found, key=self.evidence))

    def _best_kernels(self, hypers: list[Hyper | None]) -> list[Hyper | None]:
        """Each block's kind of process against the others it may have, each with the length and scale that suit it."""
        return max([hypers, *self.of_other_kinds(hypers)], key=self.evidence)

    def of_other_kinds(self, hypers: Sequence[Hyper | None], doubts: bool = False) -> list[list[Hyper | None]]:
        """The same with each other kind of process in one block, each with the length and scale that suit it."""
        return [
            self._search([*hypers[:i], other, *hypers[i + 1 :]], 0.3)
            for i, (block, own) in enumerate(zip(self.blocks, hypers, strict=True))
            if block.prior is not None and own is not None
            for other in block.prior.alternatives(own, doubts)
        ]

    def _fixed(self, i: int) -> bool:
        prior = self.blocks[i].prior
        return prior is None or "scale" in prior.fixed or prior.modes is None

    def _search(self, hypers: list[Hyper | None], step: float) -> list[Hyper | None]:
        """Pattern search in lengths and scales."""
        best, value = hypers, self.evidence(hypers)
        for _ in range(12):
            improved = False
            for i, block in enumerate(self.blocks):
                own = best[i]
                if block.prior is None or own is None:
                    continue
                for candidate in block.prior.neighbours(own, step):
                    trial = [*best[:i], candidate, *best[i + 1 :]]
                    found = self.evidence(trial)
                    if found > value + 1e-2:
                        best, value, improved = trial, found, True
            if not improved:
                break
        return best

    def _modes_of(self, hypers: list[Hyper | None]) -> list[Hyper | None]:
        """Modes that vary on their own, by relevance (sparse Bayesian learning, Tipping and Faul 2003)."""
        places = [(i, j) for i in range(len(self.blocks)) for j in range(self.mode_columns(i).shape[1])]
        if not places:
            return hypers
        plain = [None if h is None else replace(h, modes=()) for h in hypers]
        B, e, _ = self._assemble(plain)
        columns = np.concatenate([B, *(self.mode_columns(i) for i in range(len(self.blocks)))], axis=1)
        cost = [self._mode_cost(i) for i, _ in places]
        held = [{} if h is None else dict(h.modes) for h in hypers]
        start = {n: held[i][j] for n, (i, j) in enumerate(places) if j in held[i]}
        active = relevant(columns.T @ columns, columns.T @ e, B.shape[1], np.array(cost), start)
        return [
            None
            if h is None
            else replace(h, modes=tuple((places[n][1], v) for n, v in sorted(active.items()) if places[n][0] == i))
            for i, h in enumerate(plain)
        ]

    def _assemble(
        self, hypers: Sequence[Hyper | None]
    ) -> tuple[np.ndarray, np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
        """What unknowns of unit variance do to the data (m, r), data less the prior's mean (m,), prior means and factors."""
        pieces, e = self._pieces(hypers)
        modes = [block.modes(hyper) for block, hyper in zip(self.blocks, hypers, strict=True)]
        return np.concatenate([p.columns * p.scale for p in pieces], axis=1), e, modes

    def _pieces(self, hypers: Sequence[Hyper | None]) -> tuple[list[_Piece], np.ndarray]:
        """The same in pieces that other hyper-parameters share."""
        e, pieces = self.residual.copy(), []
        for i, (block, hyper) in enumerate(zip(self.blocks, hypers, strict=True)):
            own: Hyper | None = None if block.prior is None else hyper
            key: Hashable = (i,) if own is None else (i, own.kernel, round(float(np.log(own.length)), 6), own.local)
            if key not in self._projected:
                mean, L = block.modes(own) if own is None else _shape(block, own)
                self._projected[key] = block.J @ L, block.J @ (mean - block.at)
            columns, shift = self._projected[key]
            pieces.append(_Piece(key, columns, np.array([1.0 if own is None else own.scale])))
            if own is not None and own.modes:
                which = tuple(j for j, _ in own.modes)
                size = np.sqrt([v for _, v in own.modes])
                pieces.append(_Piece((i, "modes", which), self.mode_columns(i)[:, which], size))
            e -= shift
        return pieces, e

    def _product(self, a: _Piece, b: _Piece) -> np.ndarray:
        """Columns of a times columns of b. Most trials of a search change one block or its scale alone."""
        key = a.key, b.key
        if key not in self._products:
            if len(self._products) >= _KEPT:
                del self._products[next(iter(self._products))]
            other = self._products.get((b.key, a.key))
            self._products[key] = a.columns.T @ b.columns if other is None else other.T
        return self._products[key] * a.scale[:, None] * b.scale


def _cholesky(M: np.ndarray) -> Any:
    """Factors of a positive matrix.

    Raises:
        PcpinnError: where products of the problem's numbers are beyond what numbers can be.
    """
    if not np.isfinite(M).all():
        raise PcpinnError(
            "the posterior cannot be computed: values of the data or the equations, squared, are not finite",
            "write the problem in units in which its values are neither huge nor tiny",
        )
    return la.cho_factor(M, lower=True)


def _effective(B: np.ndarray, factor: Any) -> float:
    return float(np.trace(la.cho_solve(factor, B.T @ B)))


@dataclass(frozen=True)
class _Piece:
    """Columns (m, r) that a key names, to be multiplied by `scale`, (1,) or (r,)."""

    key: Hashable
    columns: np.ndarray
    scale: np.ndarray


def _shape(block: Block, hyper: Hyper) -> tuple[np.ndarray, np.ndarray]:
    assert block.prior is not None
    return block.prior.shape(hyper).mean, block.prior.unit(hyper)


def relevant(
    gram: np.ndarray, right: np.ndarray, background: int, cost: np.ndarray, start: dict[int, float], steps: int = 100
) -> dict[int, float]:
    """Which columns deserve a variance of their own, and which: greedy ascent of the evidence.

    Args:
        gram, right: products of all columns, and of these with the data.
        background: the first columns have variance one in any case.
        cost: (J,) of log evidence, that each of the other columns has to earn.
        start: variances to begin with.
    """
    active = dict(start)
    J = len(right) - background
    for _ in range(steps):
        at = [*range(background), *(background + j for j in active)]
        M = gram[np.ix_(at, at)] + np.diag([1.0] * background + [1 / v for v in active.values()])
        factor = _cholesky(M)
        R = gram[:, at]
        s = np.diag(gram) - np.einsum("ij,ji->i", R, la.cho_solve(factor, R.T))
        q = right - R @ la.cho_solve(factor, right[at])
        own = np.diag(gram)[background:]
        s, q = np.maximum(s[background:], 0.0), q[background:].copy()
        for j, v in active.items():  # as if the column were not there
            kept = max(1 - v * s[j], _ROUNDING)
            s[j], q[j] = s[j] / kept, q[j] / kept
        new = s > _ROUNDING * own  # else the others span the column, but for rounding
        ratio = np.where(new, q**2 / np.where(new, s, 1.0), 0.0)
        gain = np.where(ratio > 1, 0.5 * (ratio - 1 - np.log(np.maximum(ratio, 1.0))) - cost, -np.inf)
        now = np.zeros(J)
        for j, v in active.items():
            now[j] = 0.5 * (q[j] ** 2 * v / (1 + v * s[j]) - np.log1p(v * s[j])) - cost[j]
        change = np.maximum(gain, 0.0) - now
        best = int(change.argmax())
        if change[best] < 1e-3:
            break
        if gain[best] > 0:
            active[best] = float((q[best] ** 2 - s[best]) / s[best] ** 2)
        else:
            active.pop(best, None)
    return active
