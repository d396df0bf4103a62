"""Equations of many parameters at once: residuals and matrices of a batch of samples, on a device.

All samples share mesh, shape functions, constraints and the pattern of the matrix; mu enters through extended points alone.
So one vectorised evaluation of the problem's functions serves the whole batch, and a matrix is one row of entries.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ..discretize.batches import Batch, contracted, scatter
from ..discretize.finite_elements import FiniteElements
from ..discretize.integrand import Integrand
from .equations import CHUNK_ENTRIES, SampledEquations


@dataclass(frozen=True)
class Pattern:
    """Where the entries of a sparse matrix (N, N) stand: rows in order, as in CSR."""

    size: int
    indptr: np.ndarray
    indices: np.ndarray
    device: torch.device

    @cached_property
    def transposition(self) -> Tensor:
        """Which entry stands at the mirrored place of each; the pattern is symmetric."""
        numbers = sp.csr_matrix(
            (np.arange(1, len(self.indices) + 1), self.indices, self.indptr), shape=(self.size,) * 2
        )
        turned = sp.csr_matrix(numbers.T)
        turned.sort_indices()
        return torch.from_numpy(turned.data.astype(np.int64) - 1).to(self.device)

    def stacked(self, count: int) -> tuple[Tensor, Tensor]:
        """Row starts and columns of `count` such matrices along a diagonal."""
        if count not in self._stacks:
            nnz, kind = len(self.indices), np.int32 if count * max(len(self.indices), self.size) < 2**31 else np.int64
            starts = self.indptr[None, :-1].astype(np.int64) + nnz * np.arange(count)[:, None]
            columns = self.indices[None].astype(np.int64) + self.size * np.arange(count)[:, None]
            both = np.append(starts.ravel(), nnz * count), columns.ravel()
            self._stacks.clear()
            self._stacks[count] = tuple(torch.from_numpy(a.astype(kind)).to(self.device) for a in both)  # type: ignore[assignment]
        return self._stacks[count]

    @cached_property
    def _stacks(self) -> dict[int, tuple[Tensor, Tensor]]:
        return {}


@dataclass(frozen=True)
class Matrices:
    """S matrices of one pattern: entries (S, nnz)."""

    pattern: Pattern
    entries: Tensor

    def __len__(self) -> int:
        return len(self.entries)

    @cached_property
    def _tensor(self) -> Tensor:
        starts, columns = self.pattern.stacked(len(self))
        n = len(self) * self.pattern.size
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "CSR support is in beta state"
            return torch.sparse_csr_tensor(starts, columns, self.entries.reshape(-1), (n, n), check_invariants=False)

    def apply(self, v: Tensor) -> Tensor:
        """A_s v_s for v (S, N); one matrix serves all."""
        if len(self) == 1:
            return (self._tensor @ v.T).T.contiguous()
        return (self._tensor @ v.reshape(-1)).reshape(v.shape)

    def to_scipy(self, s: int) -> sp.csr_matrix:
        """One of them."""
        p, s = self.pattern, min(s, len(self) - 1)
        return sp.csr_matrix((self.entries[s].cpu().numpy(), p.indices, p.indptr), shape=(p.size, p.size))

    @property
    def symmetric(self) -> bool:
        """Whether all are, but for rounding."""
        other = self.entries[:, self.pattern.transposition]
        return bool((self.entries - other).abs().max() <= 1e-10 * self.entries.abs().max())


class Assembly(SampledEquations[FiniteElements]):
    """F(u, mu) by finite elements, with assembled matrices; where one serves all, it and right sides are assembled once."""

    def weak(self, v: Tensor, mu: Tensor) -> Tensor:
        """The weak form (S, N) of values that satisfy the constraints."""
        result = torch.zeros_like(v)
        for _, integrand, batch, some in self._some(len(v), 1):
            out = self._out(integrand.evaluate, batch, v[some], mu[some])
            result[some] = scatter(result[some], batch, out, at_once=True)
        return result

    def slopes(self, u: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Points (n, d) in cells, gradients (S, n, C, d) of values u (S, N) there, and weights (n,) of an integral."""
        cells = [batch for _, batch in self.parts if batch.normals is None]
        gradients = [batch.state(u)[..., 1:].unflatten(0, (len(u), -1)) for batch in cells]
        weights = [batch.dx.flatten() for batch in cells]
        return torch.cat([batch.points for batch in cells]), torch.cat(gradients, 1), torch.cat(weights)

    # --- matrices ---------------------------------------------------------------------------------------------------

    def linearise(self, u: Tensor | None, mu: Tensor) -> Matrices:
        """dF/du at u (S, N), or at zero for linear problems: constraints are rows, their columns eliminated."""
        mu = mu.to(self.device)
        if self.one_matrix:
            return self._the_matrix
        return self._assembled(self._zeros(len(mu)) if u is None else self.satisfied(u, mu), mu)

    def _assembled(self, v: Tensor, mu: Tensor) -> Matrices:
        entries = self._layout[2].expand(len(mu), -1).clone()
        for k, integrand, batch, some in self._some(len(mu), self.columns):
            self._add(entries[some], k, batch, self._out(integrand.jacobian, batch, v[some], mu[some]))
        return Matrices(self.pattern, entries)

    def tangents(self, integrand: Integrand, batch: Batch, mu: Tensor) -> Tensor:
        """(S, e, q, C, m, C, 1 + d) derivatives of an integrand by the state, of a linear family, at points of a batch."""
        step = max(1, CHUNK_ENTRIES // (batch.dx.numel() * self.columns**2))
        parts = [self._out(integrand.jacobian, batch, self._zeros(len(m)), m) for m in mu.to(self.device).split(step)]
        return torch.cat(parts)

    def linearise_with(self, u: Tensor | None, mu: Tensor) -> tuple[Matrices, Tensor]:
        """The same and F at u, or at zero, from one evaluation of the problem's functions if u satisfies the constraints."""
        mu = mu.to(self.device)
        if self.one_matrix and u is None:
            return self._the_matrix, -self.right_side(mu)
        if u is None:
            u = self._zeros(len(mu))
        v = self.satisfied(u, mu)
        entries, R = self._layout[2].expand(len(mu), -1).clone(), torch.zeros_like(v)
        for k, integrand, batch, some in self._some(len(mu), self.columns):
            jacobian, value = self._pair(integrand, batch, v[some], mu[some])
            self._add(entries[some], k, batch, jacobian)
            R[some] = scatter(R[some], batch, value, at_once=True)
        return Matrices(self.pattern, entries), self.as_rows(R, u - v)

    def right_side(self, mu: Tensor) -> Tensor:
        """b (S, N) of the linear part."""
        if not self.one_matrix:
            return super().right_side(mu)
        return self._sides[0] + self.family.scaled(mu).to(self._sides) @ self._sides[1:]

    @cached_property
    def _sides(self) -> Tensor:
        """b (K + 1, N) in the middle of all ranges, and what each scaled parameter adds to it."""
        K = self.family.count
        z = torch.cat([torch.zeros(1, K), torch.eye(K)]).double()
        mu = self.family.value(z)
        if self._prescribes_the_same:
            first = super().right_side(mu[:1])
            return torch.cat([first, -(mu[1:] - mu[0]).diagonal()[:, None].to(first) * self._slopes(mu[:1])])
        step = max(1, CHUNK_ENTRIES // (self.size * (K + 1)))
        b = torch.cat([super(Assembly, self).right_side(some) for some in mu.split(step)])
        b[1:] -= b[:1].clone()
        return b

    @property
    def _prescribes_the_same(self) -> bool:
        """Whether prescribed values, affine in the parameters, do not depend on them: then no random ones change these."""
        random = torch.rand(1, self.family.count, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        mu = self.family.value(torch.cat([torch.zeros_like(random), 2 * random - 1])).to(self.device)
        v = self.satisfied(self._zeros(2), mu)
        return torch.equal(v[0], v[1])

    def _slopes(self, mu: Tensor) -> Tensor:
        """(K, N) derivative of F at zero by parameters mu (1, K), where prescribed values do not depend on them.

        Basis functions of a parameter are so evaluated once for each point, and not once for each parameter and point.
        """
        mu, K = mu.to(self.device), self.family.count
        v, result = self.satisfied(self._zeros(1), mu), self._zeros(K)
        for integrand, batch in self.parts:
            cells, points = batch.dx.shape
            step = max(1, CHUNK_ENTRIES // (points * K * min(K, self.columns)))
            for start in range(0, cells, step):
                own = batch.some(slice(start, start + step))
                out = self.called(partial(integrand.by_coefficients, K), *_arguments(own, v, mu))
                result = scatter(result, own, out.unflatten(0, own.dx.shape).movedim(-1, 0), at_once=True)
        return self.as_rows(result, torch.zeros_like(result))

    @cached_property
    def _the_matrix(self) -> Matrices:
        return self._assembled(self._zeros(1), self.family.middle[None].to(self.device))

    @property
    def columns(self) -> int:
        """Numbers in a state, by which integrands are differentiated."""
        return (1 + self.form.mesh.dimension) * self.form.components

    def _zeros(self, count: int) -> Tensor:
        return torch.zeros(count, self.size, dtype=torch.float64, device=self.device)

    def _add(self, entries: Tensor, part: int, batch: Batch, jacobian: Tensor) -> None:
        """Add what a batch of cells contributes to entries (z, nnz)."""
        for i, j, keep, where in self._layout[1][part]:
            local = contracted(batch, i, j, jacobian[:, :, :, i, :, j])  # (z, e, b, b')
            entries.index_add_(1, where, local.flatten(1)[:, keep])

    @property
    def pattern(self) -> Pattern:
        """Of all matrices."""
        return self._layout[0]

    @cached_property
    def _layout(self) -> tuple[Pattern, list[list[tuple[int, int, Tensor, Tensor]]], Tensor]:
        """The pattern; by batch and pair of components, which local entries are kept and where they go; constant entries."""
        n, constraints = self.size, self.equation.constraints
        kept = np.ones(n, dtype=bool)
        kept[constraints.constrained[constraints.master < 0]] = False
        target = np.arange(n)
        slave = constraints.master >= 0
        target[constraints.constrained[slave]] = constraints.master[slave]
        diagonal = np.arange(n) * n + np.arange(n)
        tied = constraints.constrained[slave] * n + constraints.master[slave]
        mirrored = constraints.master[slave] * n + constraints.constrained[slave]
        keys, found = [diagonal, tied, mirrored], []
        C = range(self.form.components)
        for _, batch in self.parts:
            own = []
            for i in C:
                for j in C:
                    rows, columns = (batch.unknowns[k].cpu().numpy() for k in (i, j))
                    pairs = target[rows][:, :, None] * n + target[columns][:, None, :]
                    both = (kept[target[rows]][:, :, None] & kept[target[columns]][:, None, :]).ravel()
                    which = np.flatnonzero(both)
                    own.append((i, j, which, pairs.ravel()[which]))
                    keys.append(np.unique(own[-1][3]))
            found.append(own)
        pattern = np.unique(np.concatenate(keys))
        rows, columns = np.divmod(pattern, n)
        indptr = np.searchsorted(rows, np.arange(n + 1)).astype(np.int32)
        made = Pattern(n, indptr, columns.astype(np.int32), self.device)
        fixed = np.zeros(len(pattern))
        fixed[np.searchsorted(pattern, diagonal[constraints.constrained])] = 1.0
        fixed[np.searchsorted(pattern, tied)] = -1.0

        def moved(a: np.ndarray) -> Tensor:
            return torch.from_numpy(a).to(self.device)

        slots = [[(i, j, moved(w), moved(np.searchsorted(pattern, k))) for i, j, w, k in own] for own in found]
        return made, slots, moved(fixed)

    # --- points -----------------------------------------------------------------------------------------------------

    def _some(self, count: int, factor: int) -> Iterator[tuple[int, Integrand, Batch, slice]]:
        """Batches of cells by number, with as many samples at a time as fit."""
        for k, (integrand, batch) in enumerate(self.parts):
            step = max(1, CHUNK_ENTRIES // (batch.dx.numel() * self.columns * factor))
            for start in range(0, count, step):
                yield k, integrand, batch, slice(start, start + step)

    def _out(self, function: Callable[..., Tensor], batch: Batch, v: Tensor, mu: Tensor) -> Tensor:
        """An integrand or its derivative at the points of all samples: (z, e, q, ...)."""
        out = self.called(function, *_arguments(batch, v, mu))
        return out.unflatten(0, (len(mu), *batch.dx.shape))

    def _pair(self, integrand: Integrand, batch: Batch, v: Tensor, mu: Tensor) -> tuple[Tensor, Tensor]:
        """The derivative of an integrand and its value, likewise."""
        x, n, state = (a.cpu() if self.functions_on_host else a for a in _arguments(batch, v, mu))
        jacobian, value = (a.to(self.device) for a in integrand.both(x, n, state))
        shape = len(mu), *batch.dx.shape
        return jacobian.unflatten(0, shape), value.unflatten(0, shape)


def _arguments(batch: Batch, v: Tensor, mu: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Extended points, normals and states at the points of all samples."""
    x, n = batch.points, batch.outward
    points = torch.cat([mu[:, None, :].expand(-1, len(x), -1), x.expand(len(mu), -1, -1)], dim=2)
    return points.flatten(0, 1), n.repeat(len(mu), 1), batch.state(v)
