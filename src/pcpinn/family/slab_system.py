"""Equations over slabs of time for many parameters at once: products with dF/du by directional derivatives, no matrix kept.

With U (S, L, n) the values at time levels, F = test R(trial_0 U, trial_1 U): see discretize/slabs.py. The samples are treated as
more moments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ..discretize.batches import Batch, scatter
from ..discretize.discrete_equation import DiscreteEquation
from ..discretize.integrand import Integrand
from ..discretize.slabs import TimeSlabs
from .equations import CHUNK_ENTRIES, SampledEquations
from .family import Family

_KEPT = 20_000_000  # entries of derivatives at points


@dataclass(frozen=True)
class _Piece:
    """Some of the samples and moments of an integral: `some` of S times `moments`, sample by sample."""

    integrand: Integrand
    batch: Batch
    some: slice
    moments: int


@dataclass(frozen=True)
class Derivative:
    """dF/du of S samples at values u (S, N); None stands for zero."""

    system: SlabSystem
    u: Tensor | None
    mu: Tensor

    symmetric = False

    def apply(self, v: Tensor) -> Tensor:
        """A_s v_s for v (S, N)."""
        if self.system.linear:  # a difference costs less than half of a derivative
            return self.system.as_rows(*self.system.apart(v, self.mu, self._at_rest))
        if self._tables is not None:
            return self.system.by_tables(self._tables, v)
        return self.system.along(self._values, v, self.mu)

    @property
    def _values(self) -> Tensor:
        return self.mu.new_zeros(len(self.mu), self.system.size) if self.u is None else self.u

    @cached_property
    def _tables(self) -> list[Tensor] | None:
        """Derivatives at each point, made once for all products, if they are few."""
        return self.system.tables(self._values, self.mu)

    @cached_property
    def _at_rest(self) -> Tensor:
        """The weak form of zero."""
        return self.system.weak(self.mu.new_zeros(len(self.mu), self.system.size), self.mu)

    def to_scipy(self, s: int) -> sp.csr_matrix:
        """One of them, assembled."""
        equation = DiscreteEquation(self.system.discretisation(self.mu[s]), linear=self.system.linear)
        zero = np.zeros(self.system.size)
        return equation.linearise(zero if self.u is None else self.u[s].cpu().numpy()).A


class SlabSystem(SampledEquations[TimeSlabs]):
    """F(u, mu) over slabs of time, of scheme radau or gauss."""

    def __init__(self, family: Family, form: TimeSlabs, device: torch.device) -> None:
        self._trial = [torch.from_numpy(t.toarray()).to(device) for t in form.scheme.trial]  # (Q, L)
        self._test = torch.from_numpy(form.scheme.test.toarray()).to(device)  # (L, Q)
        super().__init__(family, form, device)

    def linearise(self, u: Tensor | None, mu: Tensor) -> Derivative:
        """dF/du at u (S, N), or at zero."""
        return Derivative(self, u, mu.to(self.device))

    def linearise_with(self, u: Tensor | None, mu: Tensor) -> tuple[Derivative, Tensor]:
        """dF/du and F at u (S, N), or at zero."""
        return self.linearise(u, mu), -self.right_side(mu) if u is None else self.residual(u, mu)

    def along(self, u: Tensor, v: Tensor, mu: Tensor) -> Tensor:
        """dF/du v at u: constraints are rows, their columns do not count elsewhere."""
        inner, at = self._inner(v), self.satisfied(u, mu)
        return self.as_rows(torch.func.jvp(lambda w: self.weak(w, mu), (at,), (inner,))[1], v - inner)

    def apart(self, v: Tensor, mu: Tensor, at_rest: Tensor) -> tuple[Tensor, Tensor]:
        """For a linear family: what v adds to the weak form of zero, and what constraints miss of it."""
        inner = self._inner(v)
        return self.weak(inner, mu) - at_rest, v - inner

    def _inner(self, v: Tensor) -> Tensor:
        """v with zero where values are prescribed, and those of their masters in periodic partners."""
        inner = v.clone()
        inner[:, self.constrained] = torch.where(self.master >= 0, v[:, self.master], 0.0)
        return inner

    def weak(self, v: Tensor, mu: Tensor) -> Tensor:
        """R (S, N) of values that satisfy the constraints, differentiable in them."""
        return self._integrated(v, lambda at, jet: self.called(at.integrand.evaluate, *self._places_of(at, mu), jet))

    def tables(self, u: Tensor, mu: Tensor) -> list[Tensor] | None:
        """Derivatives of the integrands by the states of u (S, N), piece by piece; None where they would be too many to keep."""
        entries = sum(batch.dx.numel() for _, batch in self.parts) * len(u) * len(self._trial[0])
        if entries * 2 * (self.form.components * (2 + self.form.mesh.space.dimension)) ** 2 > _KEPT:
            return None
        found: list[Tensor] = []

        def derived(at: _Piece, jet: Tensor) -> Tensor:
            derivative = self.called(at.integrand.jacobian, *self._places_of(at, mu), jet)
            found.append(derivative.flatten(3).flatten(1, 2))
            return derivative[..., 0, 0, 0]

        self._integrated(self.satisfied(u, mu), derived)
        return found

    def by_tables(self, tables: list[Tensor], v: Tensor) -> Tensor:
        """dF/du v (S, N), as `along`, by derivatives that were kept."""
        inner, kept = self._inner(v), iter(tables)

        def product(at: _Piece, jet: Tensor) -> Tensor:
            rows = (next(kept) * jet.flatten(1)[:, None]).sum(2)
            return rows.unflatten(1, (self.form.components, -1))

        return self.as_rows(self._integrated(inner, product), v - inner)

    def slopes(self, u: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Points (n, d) in cells at all moments, gradients (S, n, C, d) of values u (S, N) there, and weights (n,)."""
        now, rate = (t.flatten(0, 1) for t in self._at_moments(u))
        moments, found = self._moments, []
        for _, batch in self.parts:
            if batch.normals is None:
                jet = batch.jet(now, rate).unflatten(0, (len(u), len(moments), -1))
                gradients = torch.cat([jet[..., 0, 1:], jet[..., 1, :1]], -1)  # in space, then in time
                x = batch.points.expand(len(moments), -1, -1)
                t = moments[:, None, None].expand(-1, x.shape[1], 1)
                dx = batch.dx.flatten() * self._lengths[:, None]
                found.append((torch.cat([x, t], 2).flatten(0, 1), gradients.flatten(1, 2), dx.flatten()))
        points, slopes, weights = zip(*found, strict=True)
        return torch.cat(points), torch.cat(slopes, 1), torch.cat(weights)

    @cached_property
    def _moments(self) -> Tensor:
        """(Q,) at which the equation is evaluated."""
        return torch.from_numpy(np.array(self.form.scheme.moments)).to(self.device)

    @cached_property
    def _lengths(self) -> Tensor:
        """(Q,) each moment's part of the slab that it is in."""
        lengths = np.diff(self.form.scheme.times)
        each = len(self.form.scheme.moments) // len(lengths)
        return torch.from_numpy(np.repeat(lengths / each, each)).to(self.device)

    def _at_moments(self, v: Tensor) -> list[Tensor]:
        """Values and rates (S, Q, n) of v (S, N) at the moments."""
        table = v.unflatten(1, (-1, self.form.layer_size))  # (S, L, n)
        return [torch.einsum("ql,sln->sqn", t, table) for t in self._trial]

    def _integrated(self, v: Tensor, integrand: Callable[[_Piece, Tensor], Tensor]) -> Tensor:
        """(S, N) what comes of testing a function of pieces and the states of v (S, N) there, (n, C, 2, 1 + d) -> (n, C, m)."""
        now, rate = self._at_moments(v)
        S, Q = now.shape[:2]
        now, rate = now.flatten(0, 1), rate.flatten(0, 1)
        tested = v.new_zeros(S * Q, self.form.layer_size)
        for function, batch in self.parts:
            state = 2 * (1 + self.form.mesh.space.dimension) * self.form.components
            step = max(1, CHUNK_ENTRIES // (batch.dx.numel() * state))
            rows = []
            for k in range(0, S * Q, step):
                at = _Piece(function, batch, slice(k, min(k + step, S * Q)), Q)
                out = integrand(at, batch.jet(now[at.some], rate[at.some]))
                whole = out.unflatten(0, (-1, *batch.dx.shape))
                rows.append(scatter(torch.zeros_like(now[at.some]), batch, whole, at_once=True))
            tested = tested + torch.cat(rows)
        return torch.einsum("lq,sqn->sln", self._test, tested.unflatten(0, (S, Q))).flatten(1)

    def _places_of(self, at: _Piece, mu: Tensor) -> tuple[Tensor, Tensor]:
        """Extended points (n, K + d + 1) of a piece, and normals (n, d + 1)."""
        x, n = at.batch.points, at.batch.outward
        moments = self._moments.repeat(len(mu))
        m, t = mu.repeat_interleave(at.moments, 0)[at.some], moments[at.some]
        parts = [m[:, None].expand(-1, len(x), -1), x.expand(len(m), -1, -1), t[:, None, None].expand(-1, len(x), 1)]
        normals = torch.cat([n, torch.zeros_like(n[:, :1])], 1).repeat(len(m), 1)
        return torch.cat(parts, dim=2).flatten(0, 1), normals
