"""Preconditioners: one protocol, one residual u -> W P^-1 (A u - b), one autograd wrapper."""

from .amg import AMG
from .auto import AutoILU, Tightened, tighten
from .diagonal import Identity, Jacobi, RowBalancing
from .factorised import ILU, LU
from .kept import Kept
from .operator import PreconditionedResidual
from .preconditioned import Preconditioned, misfit
from .protocol import DeviceSolver, Preconditioner
from .quality import Quality, estimate_quality
from .refined import Refined
from .separable import Separable
from .time_order import TimeOrder

__all__ = [
    "AMG",
    "ILU",
    "LU",
    "AutoILU",
    "DeviceSolver",
    "Identity",
    "Jacobi",
    "Kept",
    "Preconditioned",
    "PreconditionedResidual",
    "Preconditioner",
    "Quality",
    "Refined",
    "RowBalancing",
    "Separable",
    "Tightened",
    "TimeOrder",
    "estimate_quality",
    "misfit",
    "tighten",
]
