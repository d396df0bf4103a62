"""What surrounds an inverse loss for a while: priors as rows, and P with what follows from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..precondition import Preconditioner
from ..precondition.maps import HostSolver
from .equations import Equations, Tangent


@dataclass
class PriorRows:
    """||rows (v - mean)||^2 for values v at nodes of a coefficient (by name), or of u at some unknowns."""

    rows: Tensor
    mean: Tensor
    coefficient: str | None = None
    unknowns: Tensor | None = None


@dataclass
class Frame:
    """What stays as it is between two refreshes: P, and derivatives through it for Gauss-Newton's matrix.

    Attributes:
        preconditioner, state: P.
        by_free, by_coefficients: dense dU/du_free (N, f), dU/dc (N, M) each, of the discrete solution U; None for first-order
            optimisers.
        age: iterations since.
    """

    preconditioner: Preconditioner
    state: Any
    by_free: Tensor | None = None
    by_coefficients: list[Tensor] = field(default_factory=list)
    age: int = 0

    @property
    def solver(self) -> HostSolver:
        """P^-1 on tensors."""
        return HostSolver(self.preconditioner, self.state)

    def add_derivatives(self, tangent: Tangent, equations: Equations, device: torch.device) -> None:
        """Those that Gauss-Newton wants."""
        P, state = self.preconditioner, self.state
        by_free = -P.apply(state, tangent.by_free.toarray()) * equations.has_equation[:, None]
        by_free[equations.free, np.arange(len(equations.free))] += 1.0
        self.by_free = torch.from_numpy(by_free).to(device)
        self.by_coefficients = [
            torch.from_numpy(-P.apply(state, S.toarray())).to(device) for S in tangent.by_coefficients
        ]
