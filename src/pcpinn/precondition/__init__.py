"""Preconditioners: one protocol, one autograd wrapper, one file each."""

from .amg import AMG
from .auto import AutoILU, Tightened, tighten
from .diagonal import Identity, Jacobi, RowBalancing
from .factorised import ILU, LU
from .kept import Kept
from .operator import PreconditionedResidual
from .protocol import DeviceSolver, Preconditioner
from .quality import Quality, estimate_quality
from .recipe import PRECONDITIONERS, Assembled, Preconditioning
from .refined import Refined
from .separable import Separable
from .stages import Stages
from .time_order import TimeOrder

__all__ = [
    "AMG",
    "ILU",
    "LU",
    "PRECONDITIONERS",
    "Assembled",
    "AutoILU",
    "DeviceSolver",
    "Identity",
    "Jacobi",
    "Kept",
    "PreconditionedResidual",
    "Preconditioner",
    "Preconditioning",
    "Quality",
    "Refined",
    "RowBalancing",
    "Separable",
    "Stages",
    "Tightened",
    "TimeOrder",
    "estimate_quality",
    "tighten",
]
