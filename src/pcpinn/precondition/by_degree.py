"""Coarser matrices by lower degrees on the same mesh, for multigrid on solids: pyamg goes on from linear elements."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..discretize.finite_elements import FiniteElements
from ..discretize.space import Space
from ..discretize.system import Discretisation
from ..discretize.transfer import prolongation
from ..problem.field import Field
from .coarsening import Levels, coarsenings

_BELOW = {2: (1,), 3: (2, 1), 4: (2, 1)}  # degrees of the coarser levels
_NOTHING = 1e-10  # of a shape function, whose largest value is 1


def lower_degrees(discretisation: Discretisation) -> tuple[sp.csr_matrix, ...]:
    """Prolongations from lower degrees, the highest first; none but for one field on tetrahedra."""
    if not isinstance(discretisation, FiniteElements) or discretisation.components > 1:
        return ()
    space = discretisation.space
    degree, mesh = space.scalar[0].degree, space.mesh
    if mesh.dimension != 3 or degree not in _BELOW:
        return ()
    found = []
    for lower in _BELOW[degree]:
        coarser = Space(mesh, (Field("u"),), lower, element=space.element)
        found.append(prolongation(coarser, space))
        space = coarser
    return tuple(found)


def levels_by_degree(A: sp.csr_matrix, degrees: tuple[sp.csr_matrix, ...], free: np.ndarray) -> Levels | None:
    """Matrices and prolongations, finest first; None where linear elements cannot be coarsened further.

    Args:
        A: (N, N) symmetric in its free part.
        degrees: as of `lower_degrees`.
        free: numbers of the degrees of freedom without conditions.
    """
    own = sp.csr_matrix(A[free][:, free])
    levels: Levels = []
    for whole in degrees:
        held = np.ones(whole.shape[0], dtype=bool)
        held[free] = False
        touched = abs(whole[held]).max(axis=0).toarray().ravel() if held.any() else np.zeros(whole.shape[1])
        kept = np.flatnonzero(touched < _NOTHING)  # functions that vanish where conditions are
        if not len(kept):
            return None
        P = sp.csr_matrix(whole[free][:, kept])
        levels.append((own, P))
        own, free = sp.csr_matrix(P.T @ own @ P), kept
    for _, further in coarsenings(own, "quick"):
        return [*levels, *further]
    return None
