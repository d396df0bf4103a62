"""Preconditioners: one protocol, one residual u -> W P^-1 (A u - b), one autograd wrapper."""

from ..recipes import import_all
from .amg import AMG
from .auto import AutoILU, Tightened, tighten
from .diagonal import Identity, Jacobi, RowBalancing
from .factorised import ILU, LU
from .kept import Kept
from .operator import PreconditionedResidual
from .preconditioned import Preconditioned, misfit
from .protocol import DeviceSolver, Preconditioner
from .quality import Quality, estimate_quality
from .recipe import PRECONDITIONERS, Assembled, Preconditioning
from .refined import Refined
from .schwarz import Schwarz
from .separable import Separable
from .stages import Stages
from .time_order import TimeOrder

import_all(__name__)  # a new file registers itself

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
    "Preconditioned",
    "PreconditionedResidual",
    "Preconditioner",
    "Preconditioning",
    "Quality",
    "Refined",
    "RowBalancing",
    "Schwarz",
    "Separable",
    "Stages",
    "Tightened",
    "TimeOrder",
    "estimate_quality",
    "misfit",
    "tighten",
]
