"""Preconditioners: one protocol, one autograd wrapper."""

from .diagonal import Identity, Jacobi, RowBalancing
from .factorised import ILU, LU
from .operator import PreconditionedResidual
from .protocol import Preconditioner

__all__ = ["ILU", "LU", "Identity", "Jacobi", "PreconditionedResidual", "Preconditioner", "RowBalancing"]
