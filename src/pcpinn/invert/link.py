"""In which terms a coefficient has a normal prior: its values, or the logarithms of their distance from its lower bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_WIDEST = 1.0  # standard deviation of a logarithm beyond which widths are those of this one
_LARGEST = 1.5  # change of a logarithm in one step


@dataclass(frozen=True)
class Link:
    """g(c): c itself, or log(c - low).

    Attributes:
        low: the bound; None for the values themselves.
    """

    low: float | None = None

    @property
    def name(self) -> str:
        """For reports."""
        return "values" if self.low is None else "logarithms"

    def to(self, c: np.ndarray) -> np.ndarray:
        """g."""
        return c if self.low is None else np.log(c - self.low)

    def back(self, g: np.ndarray) -> np.ndarray:
        """c."""
        return g if self.low is None else self.low + np.exp(g)

    def slope(self, c: np.ndarray) -> np.ndarray:
        """dc/dg."""
        return np.ones_like(c) if self.low is None else c - self.low

    def within_a_step(self, g: np.ndarray, before: np.ndarray) -> np.ndarray:
        """g, no further from what it was than one step may lead."""
        return g if self.low is None else np.clip(g, before - _LARGEST, before + _LARGEST)

    def width(self, c: np.ndarray, std: np.ndarray) -> np.ndarray:
        """Root mean square distance from c by unit of standard deviation of g; more than the slope, as exp bends."""
        if self.low is None:
            return np.ones_like(c)
        s = np.clip(std, 1e-3, _WIDEST)
        return (c - self.low) * np.sqrt(np.exp(2 * s**2) - 2 * np.exp(0.5 * s**2) + 1) / s
