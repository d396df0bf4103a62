"""Which degrees of freedom a process holds, and what it needs of others: rows of a matrix, halos of a vector."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ..errors import PcpinnError
from ..team import Team
from .torch_sparse import csr_tensor


class Shards:
    """All degrees of freedom, part after part; each member of the team holds some parts that follow each other.

    Args:
        part_of: (N,) which part a degree of freedom belongs to.
        parts: how many parts there are.
        team: the processes.

    Attributes:
        order: (N,) the degrees of freedom in the order of parts.
        counts: how many each member holds.
        here: (n,) those of this member, by their numbers in the whole.
        parts: numbers of the parts of this member.
    """

    def __init__(self, part_of: np.ndarray, parts: int, team: Team) -> None:
        if team.size > parts:
            raise PcpinnError(
                f"{team.size} processes cannot share {parts} parts of a mesh", f"set parts={team.size} or more"
            )
        self.team = team
        self.order = np.argsort(part_of, kind="stable")
        self._position = np.argsort(self.order)
        ends = np.concatenate([[0], np.cumsum(np.bincount(part_of, minlength=parts))])
        firsts = [parts * k // team.size for k in range(team.size + 1)]
        self._starts = ends[firsts]
        self.counts = np.diff(self._starts).tolist()
        self.parts = range(firsts[team.rank], firsts[team.rank + 1])
        self._ends = ends
        self.here = self.order[self._starts[team.rank] : self._starts[team.rank + 1]]

    @property
    def size(self) -> int:
        """Degrees of freedom held here, n."""
        return len(self.here)

    def of_part(self, part: int) -> slice:
        """Where a part of this member stands among its own."""
        start = int(self._starts[self.team.rank])
        return slice(int(self._ends[part]) - start, int(self._ends[part + 1]) - start)

    def whole(self, x: Tensor) -> Tensor:
        """(n, ...) of each member -> (N, ...) in the order of the whole, on all of them."""
        return self.team.gather(x, self.counts)[torch.from_numpy(self._position).to(x.device)]

    def halo(self, wanted: np.ndarray) -> Halo:
        """What is needed to see the degrees of freedom `wanted` (by numbers in the whole) beside one's own."""
        start, end = self._starts[self.team.rank], self._starts[self.team.rank + 1]
        position = np.unique(self._position[wanted])
        position = position[(position < start) | (position >= end)]
        return Halo(self, position)


class Halo:
    """Values at degrees of freedom of other members, after one's own.

    Attributes:
        size: one's own and the others', n + g.
    """

    def __init__(self, shards: Shards, position: np.ndarray) -> None:
        self._shards, self._team = shards, shards.team
        team, starts = self._team, shards._starts
        owner = np.searchsorted(starts, position, side="right") - 1
        self._receive = np.bincount(owner, minlength=team.size).tolist()
        asked = torch.from_numpy(np.asarray(self._receive, dtype=np.int64))
        ones = [1] * team.size
        self._send: list[int] = team.swap(asked, ones, ones).tolist() if not team.alone else [0]
        numbers = torch.from_numpy(position)
        self._to_send = team.swap(numbers, self._receive, self._send) - int(starts[team.rank])
        self._sending: dict[torch.device, Tensor] = {}
        self._place = np.full(len(shards.order), -1, dtype=np.int64)
        self._place[shards.here] = np.arange(shards.size)
        self._place[shards.order[position]] = shards.size + np.arange(len(position))
        self.size = shards.size + len(position)

    def place(self, wanted: np.ndarray) -> np.ndarray:
        """Where degrees of freedom, by their numbers in the whole, stand in what `extend` gives."""
        return self._place[wanted]

    def _sent_from(self, device: torch.device) -> Tensor:
        if device not in self._sending:
            self._sending[device] = self._to_send.to(device)
        return self._sending[device]

    def extend(self, x: Tensor) -> Tensor:
        """(n, ...) -> (n + g, ...)."""
        if self._team.alone:
            return x
        return torch.cat([x, self._team.swap(x[self._sent_from(x.device)], self._send, self._receive)])

    def collect(self, y: Tensor) -> Tensor:
        """The transpose of `extend`: (n + g, ...) -> (n, ...), contributions added in the order of members."""
        if self._team.alone:
            return y
        n = self._shards.size
        received = self._team.swap(y[n:], self._receive, self._send)
        result, to = y[:n].clone(), self._sent_from(y.device)
        start = 0
        for count in self._send:  # a member never sends one number twice: each addition has one order
            result.index_add_(0, to[start : start + count], received[start : start + count])
            start += count
        return result


class RowMatrix:
    """The rows of a sparse matrix that this member holds, as tensors on a device.

    Args:
        A: (N, N), all of it; the other rows are forgotten.
        shards: who holds what.
    """

    def __init__(
        self, A: sp.csr_matrix, shards: Shards, dtype: torch.dtype = torch.float64, device: torch.device | str = "cpu"
    ) -> None:
        rows = sp.csr_matrix(A[shards.here])
        self._halo = shards.halo(rows.indices)
        columns = self._halo.place(rows.indices)
        local = sp.csr_matrix((rows.data, columns, rows.indptr), shape=(shards.size, self._halo.size))
        self._A, self._At = (csr_tensor(sp.csr_matrix(M), dtype, device) for M in (local, local.T))

    def apply(self, r: Tensor) -> Tensor:
        """A r for r (n,) or (n, k)."""
        return self._A @ self._halo.extend(r)

    def apply_transpose(self, r: Tensor) -> Tensor:
        """A^T r for r (n,) or (n, k)."""
        return self._halo.collect(self._At @ r)
