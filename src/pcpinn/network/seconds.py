"""Which second derivatives a jet carries."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

Pairs = tuple[tuple[int, int], ...]
"""Axes (i, j), i <= j, of second derivatives, in order."""


@dataclass(frozen=True)
class Seconds:
    """Second derivatives of pairs of axes, a row of the jet for each; or one weighted sum of them, which is one row.

    A sum goes through layers like each of its parts, since a second derivative enters what follows linearly; the squares of
    slopes that an activation adds are added up with the same weights.

    Attributes:
        pairs: the axes.
        weights: of the pairs in their sum, or None where each has a row of its own.
    """

    pairs: Pairs = ()
    weights: tuple[float, ...] | None = None

    @classmethod
    def all(cls, d: int) -> Seconds:
        """Every second derivative in d dimensions."""
        return cls(all_pairs(d))

    @property
    def summed(self) -> bool:
        """Whether they are one row."""
        return self.weights is not None

    @property
    def rows(self) -> int:
        """How many rows of the jet they take."""
        return len(self.pairs) if self.weights is None else 1

    @property
    def terms(self) -> list[tuple[int, int, int, float]]:
        """(row, i, j, weight) of each pair."""
        if self.weights is None:
            return [(k, i, j, 1.0) for k, (i, j) in enumerate(self.pairs)]
        return [(0, i, j, c) for (i, j), c in zip(self.pairs, self.weights, strict=True)]

    def in_units(self, half_width: Tensor) -> Seconds:
        """The same sum, of derivatives by coordinates in units of half_width (d,)."""
        if self.weights is None:
            return self
        h = half_width.double().tolist()
        return replace(self, weights=tuple(c / (h[i] * h[j]) for _, i, j, c in self.terms))

    def products(self, slopes: Tensor) -> Tensor:
        """Of slopes (..., d, n, w) along both axes: (..., rows, n, w)."""
        if self.weights is not None:
            total = torch.zeros_like(slopes.narrow(-3, 0, 1))
            for _, i, j, c in self.terms:
                total.addcmul_(slopes.narrow(-3, i, 1), slopes.narrow(-3, j, 1), value=c)
            return total
        axes = self.straight
        if axes is not None:
            return slopes.narrow(-3, axes.start, len(self.pairs)) ** 2
        return torch.stack([slopes.select(-3, i) * slopes.select(-3, j) for i, j in self.pairs], dim=-3)

    @property
    def straight(self) -> slice | None:
        """The axes, where pairs are (i, i) of neighbouring ones with rows of their own: they are taken without a loop."""
        if not self.pairs or self.weights is not None:
            return None
        first = self.pairs[0][0]
        alike = all(p == (first + k,) * 2 for k, p in enumerate(self.pairs))
        return slice(first, first + len(self.pairs)) if alike else None


def all_pairs(d: int) -> Pairs:
    """Those of every second derivative in d dimensions."""
    return tuple((i, j) for i in range(d) for j in range(i, d))
