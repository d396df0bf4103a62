"""The inverse problem as PDE-constrained optimisation: J(controls) = misfit of u(controls) + weight * roughness.

Controls are nodal values of coefficients, parameters, and values of u on `Free` boundaries. Given them the discrete equations
are solved exactly, and the gradient is that of the discrete J: one solve with the transposed matrix (the adjoint).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from ..discretize.equation import Matrix
from ..discretize.linear_solves import Factors
from ..discretize.newton import Solve, newton
from ..errors import PcpinnError
from ..invert.choice import Discrete
from ..invert.equations import Equations, Tangent
from ..invert.observations import Observations
from ..invert.setup import known_nodes, space_of
from ..problem.unknowns import Coefficient
from .smoothness import Roughness, free_roughness, roughness

_HUBER = 1.345  # standard deviations beyond which a residual counts linearly
_NEWTON_STEPS = 30


@dataclass
class State:
    """What one evaluation found: nodal values, misfit (sum of squared scaled residuals) and both parts of J."""

    z: np.ndarray
    u: np.ndarray
    c: np.ndarray
    misfit: float
    data: float
    roughness: float


class Reduced:
    """J and its gradient as functions of scaled controls z (p,).

    Args:
        equations: F(u, c).
        data, noise: observations and their standard deviations.
        kind: of the penalty on coefficients, tikhonov or tv; free values have squared gradients.
        robust: Huber's loss instead of squares.

    Attributes:
        weight: of the penalty; 0 for none.
        start: (p,) first guess.
        bounds: (p, 2), infinite where there is none.
        last: the last evaluation.
        evaluations: how many so far.
    """

    def __init__(
        self,
        equations: Equations,
        data: Sequence[Observations],
        noise: Sequence[np.ndarray],
        kind: str = "tikhonov",
        robust: bool = False,
    ) -> None:
        self.equations, self.kind, self.robust, self.weight = equations, kind, robust, 0.0
        self._discrete = Discrete(equations, data, noise, {}, [])
        self.values, self.noise = self._discrete.values, self._discrete.noise
        self._unit = float(np.std(self.values)) or 1.0
        self.last: State | None = None
        self.evaluations = 0
        self._u = np.zeros(equations.size)
        self._controls()
        self._penalties: dict[int, Roughness] = {}
        self._free_penalty = sp.csr_matrix((equations.size, equations.size))

    def with_penalty(self) -> Reduced:
        """The same, ready for weights above 0."""
        family, space = self.equations.family, self.equations.discretisation.space
        for name, unknown in family.unknowns.items():
            if isinstance(unknown, Coefficient):
                k = family.columns(name).start
                known = self._base[self._known[k], k]
                unit = float(np.abs(known).mean()) if len(known) else abs(unknown.initial)
                self._penalties[k] = roughness(space, unit or 1.0, self.kind)
        self._free_penalty = free_roughness(self.equations, self._unit)
        return self

    def _controls(self) -> None:
        """Maps from z to c: c[:, k] = base[:, k] + E_k z; and to free values."""
        family, n = self.equations.family, self.equations.nodes_count
        self._base = np.zeros((n, family.count))
        self._known: dict[int, np.ndarray] = {}
        maps: list[sp.csr_matrix] = []
        start: list[np.ndarray] = []
        bounds: list[np.ndarray] = []
        for name, unknown in family.unknowns.items():
            for i, k in enumerate(family.columns(name)):
                if isinstance(unknown, Coefficient):
                    unit = abs(unknown.initial) or 1.0
                    known, values = known_nodes(name, unknown, self.equations)
                    self._known[k], self._base[known, k] = known, values
                    spread = _tied(self.equations, name, unknown)
                    keep = np.ones(n)
                    keep[known] = 0.0
                    E = sp.csr_matrix(sp.diags(keep) @ spread)
                    E = E[:, np.asarray(E.sum(axis=0)).ravel() > 0]
                    low, high, first = (-np.inf if unknown.low is None else unknown.low), np.inf, unknown.initial
                else:
                    unit = abs(unknown.start[i]) or 1.0
                    E = sp.csr_matrix(np.ones((n, 1)))
                    low, high, first = unknown.lower[i], unknown.upper[i], unknown.start[i]
                maps.append(E * unit)
                start.append(np.full(E.shape[1], first / unit))
                bounds.append(np.tile([low / unit, high / unit], (E.shape[1], 1)))
        free = len(self.equations.free)
        ends = np.cumsum([0, *(E.shape[1] for E in maps)])
        self._parts = [slice(int(a), int(b)) for a, b in pairwise(ends)]
        self._maps, self._free = maps, slice(int(ends[-1]), int(ends[-1]) + free)
        self.start = np.concatenate([*start, np.zeros(free)])
        self.bounds = np.concatenate([*bounds, np.tile([-np.inf, np.inf], (free, 1))])

    @property
    def size(self) -> int:
        """Number p of controls."""
        return len(self.start)

    def observe(self, u: np.ndarray) -> np.ndarray:
        """(m,) what the data should be for nodal values u."""
        return self._discrete.observe(u)[0]

    def coefficients(self, z: np.ndarray) -> np.ndarray:
        """(n, K) nodal values of the unknowns."""
        return self._base + np.stack([E @ z[part] for E, part in zip(self._maps, self._parts, strict=True)], axis=1)

    def __call__(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        """J and its gradient."""
        self.evaluations += 1
        c = self.coefficients(z)
        u = self._u.copy()
        u[self.equations.free] = z[self._free] * self._unit
        u, tangent, factors = self._solve(u, c)
        self._u = u
        prediction, O = self._discrete.observe(u)
        r = (prediction - self.values) / self.noise
        slope = np.clip(r, -_HUBER, _HUBER) if self.robust else r
        loss = 0.5 * float(slope @ (2 * r - slope))
        by_u = O.T @ (slope / self.noise)
        by_c = np.zeros_like(c)
        rough = 0.0
        if self.weight:
            pulled = self._free_penalty @ u
            rough += 0.5 * float(u @ pulled)
            by_u = by_u + self.weight * pulled
            for k, penalty in self._penalties.items():
                value, gradient = penalty.value(c[:, k])
                rough += value
                by_c[:, k] = self.weight * gradient
        prior, by_parameters = self._parameter_priors(c)
        adjoint = factors.apply_transpose(by_u)
        gradient = np.empty_like(z)
        for k, (E, part) in enumerate(zip(self._maps, self._parts, strict=True)):
            gradient[part] = E.T @ (by_c[:, k] - tangent.by_coefficients[k].T @ adjoint + by_parameters[:, k])
        free = self.equations.free
        gradient[self._free] = self._unit * (by_u[free] - tangent.by_free.T @ adjoint)
        self.last = State(z.copy(), u, c, float(r @ r), loss, rough)
        return loss + self.weight * rough + prior, gradient

    def _parameter_priors(self, c: np.ndarray) -> tuple[float, np.ndarray]:
        total, by = 0.0, np.zeros_like(c)
        for name, unknown in self.equations.family.unknowns.items():
            if not isinstance(unknown, Coefficient) and unknown.spread:
                for i, k in enumerate(self.equations.family.columns(name)):
                    r = (c[0, k] - unknown.start[i]) / unknown.spread
                    total += 0.5 * float(r**2)
                    by[0, k] += r / unknown.spread
        return total, by

    def _solve(self, u: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, Tangent, Factors]:
        """u that solves the equations exactly, the derivatives there, and factors of A."""
        equations = self.equations
        if equations.is_linear:  # one step, and its factors serve the adjoint, too
            tangent = equations.linearise(u, c, by_c=False)
            factors = _factors(tangent.A)
            u = u - factors.apply(tangent.residual)
            return u, replace(tangent, by_coefficients=equations.by_coefficients(u, c)), factors
        found = newton(equations.given(c), u, _inverse, tolerance=1e-9, steps=_NEWTON_STEPS, damped=False)
        if not found.converged:
            raise PcpinnError(
                "the equations could not be solved for some coefficients", "give the unknowns closer bounds"
            )
        tangent = equations.linearise(found.u, c)
        return found.u, tangent, _factors(tangent.A)


def _inverse(matrix: Matrix[np.ndarray]) -> Solve[np.ndarray]:
    return _factors(matrix.to_scipy()).apply


def _factors(A: sp.csr_matrix) -> Factors:
    refusal = PcpinnError("the linearised matrix is singular", "bound the coefficient away from zero (low=...)")
    return Factors(A, refusal)


def _tied(equations: Equations, name: str, unknown: Coefficient) -> sp.csr_matrix:
    """(n, n'): from values at distinct places to all nodes; a function of space alone has one value over all times."""
    space = space_of(equations)
    if not space.mesh.has_time or unknown.over_time:
        return sp.csr_matrix(sp.identity(space.size))
    size = np.ptp(space.nodes, axis=0).max()
    places = np.round(space.nodes[:, :-1] / size, 9)
    distinct, which = np.unique(places, axis=0, return_inverse=True)
    if len(distinct) > space.size // 2:
        raise PcpinnError(
            f"on this mesh of space and time {name!r} cannot have values that depend on space alone",
            "use time=slabs, or cells= for a structured mesh",
        )
    return sp.csr_matrix(
        (np.ones(space.size), (np.arange(space.size), which.ravel())), shape=(space.size, len(distinct))
    )
