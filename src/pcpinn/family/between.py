"""Places between nodes: a trunk that fits functions at nodes alone may be anything there, where units are steeper than cells."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
import torch

from ..discretize.slabs import TimeSlabs
from ..mesh.points import interior_points
from ..precondition.torch_sparse import csr_tensor
from .discretise import AnySystem
from .superposed import Part, grouped, units
from .superposition import Superposition


class Between:
    """Random places in the domain, and what discrete functions are there.

    Args:
        system: of whose discretisation.
        count: places.
        seed: of what is drawn.

    Attributes:
        points: (n, d).
    """

    def __init__(self, system: AnySystem, count: int, seed: int = 0) -> None:
        self._system = system
        self.points = interior_points(system.form.mesh, count, np.random.default_rng(seed))
        self._rows = [csr_tensor(rows, torch.float64, system.device) for rows in self._interpolation()]

    def parts(self, answers: Superposition, first: int = 0) -> list[Part]:
        """What is to be fitted there, in the same groups as at nodes; the places are numbered from `first` on."""
        system, unit = self._system, units(self._system, answers)
        points = torch.arange(first, first + len(self.points), device=system.device)
        result = []
        for components, rows, _ in grouped(system):
            scale = unit[rows[:, 0].to(system.device)]
            found = torch.stack(
                [(self._rows[c] @ answers.v.T).T / s for c, s in zip(components, scale, strict=True)], 1
            )
            result.append(Part(components, points, torch.ones_like(found[0, 0]), found, scale))
        return result

    def _interpolation(self) -> Iterator[sp.csr_matrix]:
        """(n, N) for each component: from values at nodes to values at the places."""
        form, space = self._system.form, self._system.form.space
        over_time = isinstance(form, TimeSlabs)
        in_time = form.scheme.interpolation(self.points[:, -1]) if isinstance(form, TimeSlabs) else None
        known: dict[int, sp.csr_matrix] = {}
        for scalar, start in zip(space.scalar, space.offsets, strict=False):
            if id(scalar) not in known:
                known[id(scalar)] = scalar.interpolation(self.points[:, :-1] if over_time else self.points).tocsr()
            rows = known[id(scalar)].copy()
            rows = sp.csr_matrix((rows.data, rows.indices + start, rows.indptr), (len(self.points), space.size))
            yield rows if in_time is None else _products(in_time, rows)


def _products(A: sp.csr_matrix, B: sp.csr_matrix) -> sp.csr_matrix:
    """(n, a b) the Kronecker product of each row of A (n, a) with the same row of B (n, b)."""
    each = np.diff(A.indptr)
    row = np.repeat(np.arange(len(each)), each)
    right = B[row]
    times = np.diff(right.indptr)
    columns = np.repeat(A.indices.astype(np.int64), times) * B.shape[1] + right.indices
    entries = np.repeat(A.data, times) * right.data
    return sp.csr_matrix((entries, (np.repeat(row, times), columns)), (A.shape[0], A.shape[1] * B.shape[1]))
