"""A symmetric positive matrix of tens of thousands of rows: its lower half alone, in block columns, factorised where it stands.

Half the memory of a square matrix, and a quarter of a square one beside its Cholesky factor; half the work of a product T^T T.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..team import Team

_COLUMNS = 2048  # of a panel; products of this size keep a GPU busy


class Panels:
    """H (p, p), lower half: panel k holds columns k b to (k + 1) b from the diagonal downwards.

    Args:
        size: p.
        like: a tensor of the wanted type and device.
        columns: b.
    """

    def __init__(self, size: int, like: Tensor, columns: int = _COLUMNS) -> None:
        self.size = size
        self._at = [slice(k, min(size, k + columns)) for k in range(0, size, columns)]
        self._panels = [like.new_zeros(size - at.start, at.stop - at.start) for at in self._at]

    def add_gram(self, table: Tensor) -> None:
        """H += T^T T for rows T (m, p)."""
        for at, panel in zip(self._at, self._panels, strict=True):
            panel.addmm_(table[:, at.start :].T, table[:, at])

    def add_diagonal(self, value: float) -> None:
        """H += value I."""
        for panel in self._panels:
            panel.diagonal().add_(value)

    @property
    def trace(self) -> float:
        """The sum of the diagonal."""
        return sum(float(panel.diagonal().sum()) for panel in self._panels)

    @property
    def finite(self) -> bool:
        """Whether all entries are."""
        return all(bool(torch.isfinite(panel.sum())) for panel in self._panels)

    def sum_over(self, team: Team) -> None:
        """Add up what the members of a team have."""
        self._panels = [team.sum(panel) for panel in self._panels]

    def factorise(self) -> bool:
        """H = L L^T, in place of H; False where H is not positive definite, and H is then lost."""
        for k, (at, panel) in enumerate(zip(self._at, self._panels, strict=True)):
            b = at.stop - at.start
            L, info = torch.linalg.cholesky_ex(panel[:b])
            if int(info):
                return False
            panel[:b] = L
            if len(panel) > b:
                panel[b:] = torch.linalg.solve_triangular(L.T, panel[b:], upper=True, left=False)
            for own, later in zip(self._at[k + 1 :], self._panels[k + 1 :], strict=True):
                below = panel[own.start - at.start :]
                later.addmm_(below, below[: own.stop - own.start].T, alpha=-1.0)
        return True

    def solve(self, right: Tensor) -> Tensor:
        """L^-T L^-1 right, for right (p, k) and after `factorise`."""
        x = right.clone()
        for at, panel in zip(self._at, self._panels, strict=True):
            b = at.stop - at.start
            x[at] = torch.linalg.solve_triangular(panel[:b], x[at], upper=False)
            x[at.stop :] -= panel[b:] @ x[at]
        for at, panel in zip(reversed(self._at), reversed(self._panels), strict=True):
            b = at.stop - at.start
            x[at] = torch.linalg.solve_triangular(panel[:b].T, x[at] - panel[b:].T @ x[at.stop :], upper=True)
        return x


def panel_bytes(size: int, columns: int = _COLUMNS) -> float:
    """Of `Panels` in float64, with what their factorisation takes on the way."""
    b = min(size, columns)
    return 8.0 * (size * (size + b) / 2 + 3 * size * b)
