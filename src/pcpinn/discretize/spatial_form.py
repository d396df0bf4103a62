"""The weak form in space at one moment: residual and matrices, on a device, with a pattern of entries that is found once.

A march evaluates the same form thousands of times: shape functions stay on the device, and assembling a matrix is one indexed
sum per pair of components, without sorting.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ..errors import PcpinnError
from ..mesh.mesh import Mesh
from ..mesh.slab_mesh import ENDS
from ..problem.problem import Problem
from ..problem.timed import timed_fluxes, timed_functions
from .batches import Batch, at_moments, contracted, on_device, scatter
from .integrand import Integrand, jets_in_cells, jets_on_boundary
from .pointwise import BoundaryFlux
from .space import Space
from .weak_form import WeakForm

_SAMPLES = 64
_SAME = 1e-11  # of the largest: numbers that differ by less are the same
_CHUNK_ENTRIES = 4_000_000  # numbers in the largest temporary of matrices
_CHUNK_VALUES = 16_000_000  # and of residuals, which read the shape functions once for all moments at a time


@dataclass(frozen=True)
class _Place:
    """Where the local matrices of a batch go: (test component, trial component, positions (e, b, b')) in the pattern."""

    batch: Batch
    integrand: Integrand
    positions: list[tuple[int, int, Tensor]]


class SpatialForm(WeakForm):
    """R(t, u, u_t) of a problem over time, for degrees of freedom at the nodes of space, (n,).

    Args:
        problem: of first order in time, on a domain with time.
        mesh: of space.
        degree, quadrature, element: of the elements.
        device: where to compute. Functions of the problem that hold tensors of their own are called on the CPU.
    """

    not_facets = ENDS

    def __init__(
        self,
        problem: Problem,
        mesh: Mesh,
        degree: int,
        quadrature: int | None = None,
        device: torch.device | str = "cpu",
        element: str = "lagrange",
    ) -> None:
        space = Space(mesh, problem.unknowns, degree, quadrature, element)
        super().__init__(problem, space, partial(jets_in_cells, strong=True), jets_on_boundary)
        self.mesh, self.size = mesh, space.size
        self.identified = np.arange(self.size)
        self.device = torch.device(device)
        self._places: list[_Place] = []
        self._functions_on_host = False

    def prepare(self, identified: np.ndarray, extra: tuple[np.ndarray, np.ndarray], times: np.ndarray) -> None:
        """Find the pattern and what is constant. `extra` (rows, columns) are entries that the pattern has to have as well.

        Args:
            times: some moments, to see what changes.
        """
        self.identified = identified
        batches = list(self.parts())
        self._functions_on_host = self.device.type != "cpu" and not self._run_on_device(batches)
        self._find_pattern(batches, extra, times)
        self._find_constants(times)

    # --- evaluation -------------------------------------------------------------------------------------------------

    def residual(self, times: np.ndarray, U: Tensor, rates: Tensor) -> Tensor:
        """R (Q, n) at moments (Q,), values and rates (Q, n); rows of periodic nodes are added to those they repeat."""
        result = torch.zeros(len(times), self.size, dtype=torch.float64, device=self.device)
        for place, some in self._parts(times, _CHUNK_VALUES, 2 * self.components):
            out = self._out(place, place.integrand.evaluate, times[some], U[some], rates[some])  # (z, e, q, C, m)
            result[some] = scatter(result[some], place.batch, out, at_once=True)
        return result

    def load(self, times: np.ndarray) -> Tensor:
        """R (Q, n) at moments (Q,) of a field that is zero: of a linear problem, all that is not a matrix; steady ones once."""
        if self._steady_load is not None:
            return self._steady_load.expand(len(times), -1)
        result = torch.zeros(len(times), self.size, dtype=torch.float64, device=self.device)
        for place, some in self._parts(times, _CHUNK_VALUES, 2 * self.components):
            out = self._out(place, place.integrand.evaluate, times[some])
            result[some] = scatter(result[some], place.batch, out, at_once=True)
        return result

    def matrices(self, times: np.ndarray, U: Tensor, rates: Tensor) -> list[tuple[Tensor, Tensor]]:
        """dR/du and dR/du_t at each moment as entries (nnz,) of the pattern; those that never change are computed once."""
        if self._constant is not None:
            return [self._constant] * len(times)
        by_value, by_rate = self._assemble(times, U, rates, self._mass is None)
        return [(k, by_rate[z] if self._mass is None else self._mass) for z, k in enumerate(by_value)]

    @property
    def constant(self) -> bool:
        """Whether matrices depend on neither time nor the state: a linear problem with steady coefficients."""
        return self._constant is not None

    def forget_constants(self) -> None:
        """A state was met at which the equation is not the linear one of the states that were looked at."""
        self._constant: tuple[Tensor, Tensor] | None = None
        self._steady_load: Tensor | None = None
        self._mass: Tensor | None = None

    @property
    def constant_mass(self) -> bool:
        """Whether dR/du_t depends on neither time nor the state."""
        return self._mass is not None

    def to_scipy(self, entries: Tensor) -> sp.csr_matrix:
        """Entries (nnz,) as a matrix (n, n)."""
        return sp.csr_matrix((entries.cpu().numpy(), self.indices, self.indptr), shape=(self.size, self.size))

    def to_torch(self, entries: Tensor, transpose: bool = False) -> Tensor:
        """Entries (nnz,), real or complex, as a sparse tensor (n, n) on their device."""
        rows, columns, order = self._tensors[1 if transpose else 0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "CSR support is in beta state"
            return torch.sparse_csr_tensor(
                rows,
                columns,
                entries if order is None else entries[order],
                size=(self.size, self.size),
                check_invariants=False,
            )

    @cached_property
    def _tensors(self) -> tuple[tuple[Tensor, Tensor, Tensor | None], tuple[Tensor, Tensor, Tensor | None]]:
        """The pattern and its transpose on the device: row starts, columns, and which entry each entry is."""

        def moved(array: np.ndarray, dtype: type = np.int32) -> Tensor:
            return torch.from_numpy(array.astype(dtype)).to(self.device)

        rows, columns, order = self._transposition
        plain = moved(self.indptr), moved(self.indices), None
        return plain, (moved(rows), moved(columns), moved(order, np.int64))

    @cached_property
    def _transposition(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of the pattern: indptr, indices, and which entry each entry of the transpose is."""
        numbers = sp.csr_matrix(
            (np.arange(1, len(self.indices) + 1), self.indices, self.indptr), shape=(self.size, self.size)
        )
        turned = sp.csr_matrix(numbers.T)
        turned.sort_indices()
        return turned.indptr, turned.indices, turned.data - 1

    # --- set-up -----------------------------------------------------------------------------------------------------

    def _run_on_device(self, batches: list[tuple[Integrand, Batch]]) -> bool:
        """Whether the problem's functions work there: constants that they hold may be tensors of the CPU."""
        try:
            zero = torch.zeros(self.size, dtype=torch.float64, device=self.device)
            for integrand, batch in batches:
                few = _first(batch, self.device)
                integrand.jacobian(*few.at(0.0), few.jet(zero, zero))
        except PcpinnError:
            return False
        return True

    def _find_pattern(
        self, batches: list[tuple[Integrand, Batch]], extra: tuple[np.ndarray, np.ndarray], times: np.ndarray
    ) -> None:
        coupled = [self._coupling(integrand, batch, times) for integrand, batch in batches]
        diagonal = np.arange(self.size)
        keys = [diagonal * self.size + diagonal, extra[0] * self.size + extra[1]]
        found: list[list[tuple[int, int, np.ndarray]]] = []
        for (_, batch), pairs in zip(batches, coupled, strict=True):
            own = []
            for i, j in pairs:
                rows = self.identified[batch.unknowns[i].numpy()]
                columns = self.identified[batch.unknowns[j].numpy()]
                own.append((i, j, rows[:, :, None] * self.size + columns[:, None, :]))
                keys.append(_distinct(own[-1][2].ravel()))
            found.append(own)
        pattern = _distinct(np.concatenate(keys))
        rows, columns = np.divmod(pattern, self.size)
        self.rows, self.indices = rows, columns.astype(np.int32)
        self.indptr = np.searchsorted(rows, np.arange(self.size + 1)).astype(np.int32)
        self.diagonal = np.searchsorted(pattern, diagonal * self.size + diagonal)
        self.extra = np.searchsorted(pattern, extra[0] * self.size + extra[1])
        for (integrand, batch), own in zip(batches, found, strict=True):
            positions = [(i, j, torch.from_numpy(np.searchsorted(pattern, k)).to(self.device)) for i, j, k in own]
            self._places.append(_Place(on_device(batch, self.device, self.identified), integrand, positions))

    def _coupling(self, integrand: Integrand, batch: Batch, times: np.ndarray) -> list[tuple[int, int]]:
        """Pairs of components whose equations and values meet, at random states and some times."""
        few = _first(batch, torch.device("cpu"))
        generator = torch.Generator().manual_seed(0)
        seen = torch.zeros(self.components, self.components, dtype=torch.bool)
        for t in times:
            u, rate = (torch.randn(self.size, generator=generator, dtype=torch.float64) for _ in range(2))
            jacobian = integrand.jacobian(*few.at(t), few.jet(u, rate))
            seen |= (jacobian != 0).permute(1, 3, 0, 2, 4, 5).flatten(2).any(2)
        return [(int(i), int(j)) for i, j in seen.nonzero()]

    def _find_constants(self, times: np.ndarray) -> None:
        """Compare derivatives at different moments and states."""
        self.forget_constants()
        generator = torch.Generator().manual_seed(1)
        states = [
            [torch.randn(1, self.size, generator=generator, dtype=torch.float64).to(self.device) for _ in range(2)]
            for _ in times
        ]
        off, size = torch.zeros(2, 2, dtype=torch.float64)  # each by value and by rate
        for place in self._places:
            first: Tensor | None = None
            for t, state in zip(times, states, strict=True):  # (1, e, q, C, m, C, 2, 1 + d)
                by = self._out(place, place.integrand.jacobian, np.array([t]), *state)
                first = by if first is None else first
                for k in range(2):
                    off[k] = torch.maximum(off[k], (by[..., k, :] - first[..., k, :]).abs().max().cpu())
                    size[k] = torch.maximum(size[k], by[..., k, :].abs().max().cpu())
        same = off <= _SAME * size
        if same[1]:
            by_value, by_rate = self._assemble(times[:1], states[0][0], states[0][1], True)
            self._mass = by_rate[0]
            if same[0]:
                self._constant = by_value[0], by_rate[0]
                if not (timed_functions(self.problem) or timed_fluxes(self.problem)):
                    self._steady_load = self.load(times[:1])[0]

    def _assemble(self, times: np.ndarray, U: Tensor, rates: Tensor, with_rate: bool) -> tuple[Tensor, Tensor]:
        shape = (len(times), len(self.indices))
        parts = [torch.zeros(shape, dtype=torch.float64, device=self.device) for _ in range(2 if with_rate else 1)]
        for place, some in self._parts(times, _CHUNK_ENTRIES, self.components**2 * (1 + self.mesh.dimension)):
            by = self._out(place, place.integrand.jacobian, times[some], U[some], rates[some])
            for k, part in enumerate(parts):  # of by, (z, e, q, C, m, C, 2, 1 + d)
                for i, j, positions in place.positions:
                    local = contracted(place.batch, i, j, by[:, :, :, i, :, j, k])
                    part[some].index_add_(1, positions.reshape(-1), local.flatten(1))
        return parts[0], parts[-1]

    def _parts(self, times: np.ndarray, most: int, width: int) -> Iterator[tuple[_Place, slice]]:
        """Batches of cells, with so many moments at a time that there are at most so many numbers, `width` jets at a point."""
        for place in self._places:
            entries = place.batch.dx.numel() * width * (1 + self.mesh.dimension)
            step = max(1, most // entries)
            for start in range(0, len(times), step):
                yield place, slice(start, start + step)

    def _out(
        self,
        place: _Place,
        function: Callable[..., Tensor],
        times: np.ndarray,
        U: Tensor | None = None,
        rates: Tensor | None = None,
    ) -> Tensor:
        """The integrand of a batch or its derivative at moments (z,): (z, e, q, ...), computed where its own tensors are.

        Without U of a field that is zero.
        """
        points, normals = place.batch.at(*times)
        if U is None or rates is None:
            jet = points.new_zeros(len(points), self.components, 2, 1 + self.mesh.dimension)
        else:
            jet = place.batch.jet(U, rates)
        args = points, normals, jet
        host = self._functions_on_host
        out = function(*(a.cpu() for a in args)).to(self.device) if host else function(*args)
        return out.unflatten(0, (len(times), *place.batch.dx.shape))

    def boundary_samples(self, t: float) -> Iterator[tuple[BoundaryFlux, Tensor, Tensor]]:
        """Each boundary with natural conditions: its flux, some points at a moment and the normals there."""
        for flux, batch in self.facets():
            yield flux, *batch.at(t)

    def sample_points(self, t: float, count: int = _SAMPLES) -> Tensor:
        """Some points (m, d) of space at a moment."""
        return at_moments(torch.from_numpy(self.samples(count)), [t])


def _first(batch: Batch, device: torch.device, cells: int = 8) -> Batch:
    """A few cells of a batch, spread over it."""
    few = torch.linspace(0, len(batch.dx) - 1, min(cells, len(batch.dx))).long()
    return replace(
        batch,
        x=batch.x[few].to(device),
        dx=batch.dx[few].to(device),
        shapes=[s[few].to(device) for s in batch.shapes],
        unknowns=[u[few].to(device) for u in batch.unknowns],
        normals=None if batch.normals is None else batch.normals[few].to(device),
    )


def _distinct(keys: np.ndarray) -> np.ndarray:
    """Sorted, each once: by sorting, a few times faster than by numpy's table of hashes where most are there several times."""
    ordered = np.sort(keys)
    return np.asarray(ordered[np.diff(ordered, prepend=-1) > 0])
