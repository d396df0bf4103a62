"""Choosing priors by evidence: Gauss-Newton on the nodal values themselves, the equations as constraints.

It also gives the discrete answer, which the networks are compared with, and the posterior around it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch.func import jacfwd, vmap

from ..discretize.guarded import guard
from ..discretize.linear_solves import Factors
from ..discretize.newton import direct, newton
from ..discretize.probe import probe
from ..problem.unknowns import Coefficient, Parameter
from .averaged import averaged
from .data import huber_weights
from .equations import Equations
from .link import Link
from .observations import Observations
from .posterior import Block, Linearised, Posterior
from .prior import FieldPrior, Hyper

_BROAD = 30.0  # prior standard deviation of a parameter without prior, in units of its first guess
_FLOOR = 0.1  # what networks may deviate from a prior, as part of the posterior's standard deviation
_SIGNIFICANT = 3.0  # standard deviations by which a misfit is more than chance
_NEWTON_STEPS = 8  # of the equations for given coefficients; the next step of Gauss-Newton goes on from there
_SMALLEST = 0.05  # a step takes a coefficient at most this close to its lower bound, as part of its distance from it


@dataclass(frozen=True)
class Choice:
    """What came of it.

    Attributes:
        hypers: of coefficients, then of free groups; None where there is no prior.
        posterior: of blocks in the order of the unknowns, then free groups.
        u, c: nodal values of the discrete answer, (N,) and (M, K).
        linearised: around the answer, until the posterior is averaged.
        missed: (m,) what the mesh predicts wrongly of the data, in units of their noise, if it is known; moves: by how much that
            moves the answer, in standard deviations that do not know of it, by block (root mean square).
        noise_factor: by which given noise is to be multiplied (1 unless it is estimated, or too small to be true).
    """

    hypers: list[Hyper | None]
    posterior: Posterior
    u: np.ndarray
    c: np.ndarray
    noise_factor: float = 1.0
    linearised: Linearised | None = None
    missed: np.ndarray | None = None
    moves: tuple[float, ...] = ()

    @property
    def evidence(self) -> float:
        """Log evidence of the data with this noise."""
        assert self.linearised is not None
        return self.posterior.evidence - len(self.linearised.residual) * float(np.log(self.noise_factor))


class Discrete:
    """The inverse problem for nodal values.

    Args:
        equations: F(u, c).
        data, noise: observations and their standard deviations.
        coefficients: prior of each coefficient by name (None: broad).
        free: priors of groups of free unknowns, with their numbers.
        estimate: whether the noise is to be estimated: one factor for all.
        robust: Huber's weights.
    """

    def __init__(
        self,
        equations: Equations,
        data: Sequence[Observations],
        noise: Sequence[np.ndarray],
        coefficients: dict[str, FieldPrior | None],
        free: Sequence[tuple[FieldPrior, np.ndarray]],
        estimate: bool = False,
        robust: bool = False,
    ) -> None:
        self.equations, self.data, self.free = equations, list(data), list(free)
        self.coefficients, self.estimate, self.robust = coefficients, estimate, robust
        self.noise = np.concatenate(list(noise))
        self.values = np.concatenate([d.values for d in data])
        form = equations.discretisation
        self._value = [
            None if d.observable is not None else probe(form, d.points, d.component_in(equations.family.base))
            for d in data
        ]
        self._state = [
            None
            if d.observable is None
            else [
                [probe(form, d.points, k, axis) for axis in (None, *range(d.points.shape[1]))]
                for k in range(form.components)
            ]
            for d in data
        ]

    @property
    def start(self) -> list[Hyper | None]:
        """First hyper-parameters."""
        first = [None if p is None else p.start for p in self.coefficients.values()]
        numbers: list[Hyper | None] = [
            None for u in self.equations.family.unknowns.values() if isinstance(u, Parameter)
        ]
        return [*first, *numbers, *(p.start for p, _ in self.free)]

    def observe(self, u: np.ndarray) -> tuple[np.ndarray, sp.csr_matrix]:
        """Predicted data (m,) and their derivative (m, N)."""
        predictions, matrices = [], []
        for i, d in enumerate(self.data):
            matrix = self._value[i]
            if matrix is None:
                prediction, matrix = self._observable(i, d, u)
            else:
                prediction = matrix @ u
            predictions.append(prediction)
            matrices.append(matrix)
        return np.concatenate(predictions), sp.csr_matrix(sp.vstack(matrices))

    def _observable(self, i: int, d: Observations, u: np.ndarray) -> tuple[np.ndarray, sp.csr_matrix]:
        tables = self._state[i]
        assert tables is not None
        state = torch.from_numpy(np.stack([[m @ u for m in row] for row in tables]).transpose(2, 0, 1).copy())
        x = torch.from_numpy(d.points)
        at = d.observed(self.equations.family.base)
        prediction = guard(vmap(at), x, state).numpy()
        slopes = guard(vmap(jacfwd(at, argnums=1)), x, state).numpy()  # (m, C, 1 + d)
        total = sp.csr_matrix((len(d), self.equations.size))
        for k, row in enumerate(tables):
            for j, matrix in enumerate(row):
                total = total + sp.diags(slopes[:, k, j]) @ matrix
        return prediction, sp.csr_matrix(total)

    def solve(
        self,
        u: np.ndarray,
        c: np.ndarray,
        steps: int,
        choose: Sequence[int],
        told: Callable[[int], None] = lambda done: None,
    ) -> Choice:
        """Gauss-Newton from nodal values (u, c); hyper-parameters are chosen in the given steps. Each step is told of."""
        u, c, factor = u.copy(), c.copy(), 1.0
        hypers = self.start
        posterior = None
        for step in range(steps):
            linearised, u = self._linearise(u, c, factor)
            if step == 0:
                hypers = self._scaled(linearised)
            if step in choose:
                self._look(c)
                hypers = linearised.choose(hypers)
            posterior = linearised.posterior(hypers)
            factor = self._noise_factor(factor, posterior)
            moved = self._moved(posterior, c)
            done = np.abs(moved - c).max() <= 1e-6 * np.abs(c).max() and step > max(choose, default=0)
            c = moved
            u = u.copy()
            for (_, at), mean in zip(self.free, posterior.means[len(posterior.means) - len(self.free) :], strict=True):
                u[at] = mean
            told(step + 1)
            if done:
                break
        assert posterior is not None
        linearised, u = self._linearise(u, c, factor)
        return Choice(_with_floors(hypers, posterior), linearised.posterior(hypers), u, c, factor, linearised)

    def averaged(self, choice: Choice, missed: np.ndarray | None = None) -> Choice:
        """The same, with a posterior that does not take the priors' parameters as certain, in terms of the coefficients.

        Nor the mesh, where it is known what that predicts wrongly of the data, `missed` (m,): how far this moves the answer is a
        deviation of its own.
        """
        linearised = choice.linearised
        assert linearised is not None
        posterior = averaged(linearised, choice.hypers)
        if missed is not None:
            missed = missed / (self.noise * choice.noise_factor)
            shifts = linearised.moved(choice.hypers, missed)
            moves = tuple(_size(s) / (_size(F) or 1.0) for s, F in zip(shifts, posterior.factors, strict=True))
            u = sum(block.G @ s for block, s in zip(linearised.blocks, shifts, strict=True))
            posterior = replace(
                posterior,
                factors=tuple(np.column_stack([F, s]) for F, s in zip(posterior.factors, shifts, strict=True)),
                u_factor=np.column_stack([posterior.u_factor, u]),
            )
            choice = replace(choice, missed=missed, moves=moves)
        factors, means = list(posterior.factors), list(posterior.means)
        for i, (name, prior) in enumerate(self.coefficients.items()):
            if prior is not None:
                c = choice.c[:, self.equations.family.columns(name).start]
                factors[i] = prior.link.width(c, np.linalg.norm(factors[i], axis=1))[:, None] * factors[i]
                means[i] = prior.link.back(means[i])
        posterior = replace(posterior, factors=tuple(factors), means=tuple(means))
        return replace(choice, posterior=posterior, linearised=None)

    def _scaled(self, linearised: Linearised) -> list[Hyper | None]:
        """First hyper-parameters, with scales by the data: as much as explains what nothing else does.

        The first guess of a coefficient says nothing of how much it varies; it may be zero. No less than explains the noise.
        """
        for i, prior in enumerate(self.coefficients.values()):
            if prior is not None and "scale" not in prior.fixed:
                left = float(np.sqrt(np.mean(linearised.unexplained(i, self.start) ** 2)))
                seen = prior.variation(linearised.blocks[i].J)
                if seen > 0:
                    prior.start = replace(prior.start, scale=max(left, 1.0) / seen)
        return self.start

    def _look(self, c: np.ndarray) -> None:
        for name, prior in self.coefficients.items():
            if prior is not None:
                prior.look(prior.link.to(c[:, self.equations.family.columns(name).start]))

    def _noise_factor(self, factor: float, posterior: Posterior) -> float:
        """Estimated noise, as a multiple of what was given or guessed.

        Given noise counts as too small only if the answer leaves significantly more than it: the mesh's error, outliers, or
        what the model does not know. To fit that as if it were signal would spoil everything else. Huber's loss expects
        outliers, and believes what is given.
        """
        left = max(len(self.values) - posterior.effective, 1.0)
        found = factor * float(np.sqrt(posterior.misfit / left))
        significant = not self.robust and found > 1 + _SIGNIFICANT / np.sqrt(2 * left)
        return found if self.estimate or significant else 1.0

    def _moved(self, posterior: Posterior, c: np.ndarray) -> np.ndarray:
        result = c.copy()
        for at, (name, unknown) in enumerate(self._ordered()):
            columns = self.equations.family.columns(name)
            if isinstance(unknown, Coefficient):
                new, prior = posterior.means[at], self.coefficients[name]
                if prior is not None:
                    new = prior.link.back(prior.link.within_a_step(new, prior.link.to(c[:, columns.start])))
                if unknown.low is not None:
                    new = np.maximum(new, unknown.low + _SMALLEST * (c[:, columns.start] - unknown.low))
                result[:, columns.start] = new
            else:
                for k, column in enumerate(columns):
                    old, value = c[0, column], posterior.means[at][k]
                    low, high = unknown.lower[k], unknown.upper[k]
                    value = max(value, low + _SMALLEST * (old - low)) if np.isfinite(low) else value
                    value = min(value, high - _SMALLEST * (high - old)) if np.isfinite(high) else value
                    result[:, column] = value
        return result

    def _ordered(self) -> list[tuple[str, Coefficient | Parameter]]:
        unknowns = self.equations.family.unknowns.items()
        return [(n, u) for n, u in unknowns if isinstance(u, Coefficient)] + [
            (n, u) for n, u in unknowns if isinstance(u, Parameter)
        ]

    def _linearise(self, u: np.ndarray, c: np.ndarray, factor: float) -> tuple[Linearised, np.ndarray]:
        """Around the solution of the equations for given coefficients and free values; and that solution."""
        equations = self.equations
        u = newton(equations.given(c), u, direct, steps=1 if equations.is_linear else _NEWTON_STEPS, damped=False).u
        tangent = equations.linearise(u, c)
        solve = Factors(tangent.A).apply
        prediction, O = self.observe(u)
        noise = self.noise * factor
        residual = (self.values - prediction) / noise
        weight = np.ones_like(residual)
        if self.robust:
            weight = np.sqrt(huber_weights(residual))
        O = sp.diags(weight / noise) @ O
        blocks = []
        for name, unknown in self._ordered():
            columns = equations.family.columns(name)
            if isinstance(unknown, Coefficient):
                prior, at = self.coefficients[name], c[:, columns.start]
                link = Link() if prior is None else prior.link
                G = -solve(tangent.by_coefficients[columns.start].toarray()) * link.slope(at)
                at = link.to(at)
                spread = None if prior is not None else np.full(len(at), _BROAD * max(abs(unknown.initial), 1e-3))
                blocks.append(Block(prior, O @ G, G, at, spread, np.full(len(at), unknown.initial)))
            else:
                G = -solve(np.stack([np.asarray(tangent.by_coefficients[k].sum(axis=1)).ravel() for k in columns], 1))
                start = np.array(unknown.start)
                spread = np.full(len(start), unknown.spread) if unknown.spread else _BROAD * np.maximum(abs(start), 1.0)
                blocks.append(Block(None, O @ G, G, c[0, list(columns)], spread, start))
        if len(equations.free):
            G = -solve(tangent.by_free.toarray())
            G[equations.free, np.arange(len(equations.free))] += 1.0
            place = {int(n): k for k, n in enumerate(equations.free)}
            for prior, at in self.free:
                own = G[:, [place[int(n)] for n in at]]
                blocks.append(Block(prior, O @ own, own, u[at]))
        return Linearised(weight * residual, blocks, u), u


def _size(F: np.ndarray) -> float:
    """Root mean square over nodes, of a deviation (M,) or a factor (M, r)."""
    return float(np.linalg.norm(F) / np.sqrt(len(F)))


def _with_floors(hypers: Sequence[Hyper | None], posterior: Posterior) -> list[Hyper | None]:
    """The same with floors, where they have none yet: a part of what the data leave open, as root mean square."""
    return [
        h if h is None or h.floor else replace(h, floor=_FLOOR * float(np.sqrt((F**2).sum(axis=1).mean())))
        for h, F in zip(hypers, posterior.factors, strict=True)
    ]


def chosen_hypers(choice: Choice | None) -> list[dict[str, Any] | None] | None:
    """Hyper-parameters as plain data."""
    return None if choice is None else [None if h is None else h.to_dict() for h in choice.hypers]
