"""Singular matrices: found without factorising where that is cheap, and explained."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..errors import PcpinnError
from ..problem.problem import Problem
from .discretisation import Discretisation

_ROUNDING = 1e-13  # of the entries of a row: what assembly leaves of a sum that is zero


class Degenerate(PcpinnError):
    """A derivative that is singular in an obvious way, or has no value: of a nonlinear problem perhaps at this iterate alone."""


def refuse_singular(A: sp.csr_matrix, discretisation: Discretisation) -> None:
    """Find the usual kernels without factorising: empty rows, and a component whose constant is never fixed."""
    if (np.diff(A.indptr) == 0).any():
        raise singular()
    scale = abs(A) @ np.ones(A.shape[1])
    for component in range(discretisation.components):
        constant = (discretisation.unknown_components == component).astype(float)
        if (np.abs(A @ constant) <= _ROUNDING * scale).all():
            name = _field_of(discretisation.problem, component)
            raise singular(f"field {name!r} is fixed only up to a constant")


def singular(why: str = "no unique solution") -> Degenerate:
    """The error that says so, and what is usually missing."""
    return Degenerate(
        f"the matrix is singular: {why}",
        "a pure Neumann problem needs a Dirichlet or Robin condition somewhere, or pins=[Pin(at=(x, y), value=0)]; "
        "a field that appears in no equation needs one",
    )


def _field_of(problem: Problem, component: int) -> str:
    return [f.name for f in problem.unknowns for _ in range(f.components)][component]
