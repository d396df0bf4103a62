"""What errors and corrections of fields are divided by: their sizes, in whatever units; where one vanishes, what fits the others.

Volts may stand beside ions per cubic metre: in one norm of all fields the smaller would not be seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..problem.field import Field
from .equation import Equation, V

NOTHING = 1e-11  # of the largest field, all in units that fit each other: less is what rounding leaves of zero
_LEAST = 1e-5  # the same where a correction is to be small beside its field: rounding must be far less
_ROUNDING = 1e-12  # of a block's entries: what it makes of waves, if it is less, is nothing


def units_of(
    sizes: np.ndarray, ratios: np.ndarray, smooth: Callable[[], np.ndarray], nothing: float = NOTHING
) -> np.ndarray:
    """(F,) the sizes of the fields; for one that is nothing beside the others, the size that its equations give it.

    A relative error of zero means nothing, so that such a field is measured as if it had its part of the equations' terms.

    Args:
        sizes: (F,) L2 norms.
        ratios: (F, F) of units of fields that depend on each other, as from `fitting_ratios`: what rounding is beside them.
        smooth: the same for waves as long as the domain, which do not grow when a mesh is refined; called if a field vanishes.
        nothing: part of the others that counts as zero.
    """
    zero = sizes <= nothing * (ratios * sizes).max(axis=1)
    if not zero.any():
        return sizes
    units = np.where(zero, (smooth() * sizes).max(axis=1), sizes)
    return np.where(units > 0, units, 1.0)


def relative(equation: Equation[V, Any], v: V, u: V) -> float:
    """||v|| / ||u||, the largest over the fields, each by its own norm; nan where both are infinite."""
    with np.errstate(invalid="ignore"):
        return float((equation.sizes(v) / _units(equation, u)).max())


def scaled_norm(equation: Equation[V, Any], v: V, u: V) -> float:
    """||v|| with each field in units of its size in u."""
    with np.errstate(invalid="ignore"):
        return float(np.linalg.norm(equation.sizes(v) / _units(equation, u)))


def _units(equation: Equation[V, Any], u: V) -> np.ndarray:
    sizes = equation.sizes(u)
    if len(sizes) > 1 and np.isfinite(sizes).all():
        sizes = np.maximum(sizes, _LEAST * (equation.ratios(u) * sizes).max(axis=1))
    return np.where(sizes > 0, sizes, 1.0)


def fitting_ratios(norms: np.ndarray) -> np.ndarray:
    """(F, F) d_j / d_k of units d of fields in which the blocks of a matrix (F, F) are about equally large.

    By least squares for logarithms: log e_j + log |A_jk| + log d_k = 0 for all blocks that are not zero, with units e of the
    equations. Fields that no chain of blocks connects have a ratio of zero.
    """
    count = len(norms)
    j, k = np.nonzero(norms)
    table = np.zeros((len(j), 2 * count))
    table[np.arange(len(j)), j] = table[np.arange(len(j)), count + k] = 1.0
    units = np.linalg.lstsq(table, -np.log(norms[j, k]), rcond=None)[0][count:]
    edges = sp.csr_matrix((np.ones(len(j)), (j, count + k)), shape=(2 * count, 2 * count))
    own = connected_components(edges, directed=False)[1][count:]
    return np.where(own[:, None] == own, np.exp(units[:, None] - units), 0.0)


def block_norms(A: sp.csr_matrix, field: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """(F, F) Frobenius norms of the blocks of a matrix, equations by fields.

    Args:
        A: (N, N).
        field: (N,) number of the field that each degree of freedom belongs to.
        rows: (N,) bool, those that count: rows that are conditions do not.
    """
    count, entries = int(field.max()) + 1, A.tocoo()
    own = rows[entries.row] & (entries.data != 0)
    j, k, value = field[entries.row[own]], field[entries.col[own]], np.abs(entries.data[own])
    largest = np.zeros((count, count))
    np.maximum.at(largest, (j, k), value)
    squares = np.bincount(j * count + k, (value / largest[j, k]) ** 2, count**2).reshape(count, count)
    return np.asarray(largest * np.sqrt(squares))


def smooth_norms(A: sp.csr_matrix, field: np.ndarray, rows: np.ndarray, x: np.ndarray) -> np.ndarray:
    """(F, F) how large the blocks of a matrix are between waves as long as the domain: the same on all meshes that resolve these.

    Entries tell of waves as short as cells, for which a derivative is as large as the mesh is fine.

    Args:
        A: (N, N).
        field, rows: as above.
        x: (N, d) where the degrees of freedom are.
    """
    count, entries = int(field.max()) + 1, block_norms(A, field, rows)
    lower, extent = x.min(axis=0), np.ptp(x, axis=0)
    phase = 2 * np.pi * (x - lower) / np.where(extent > 0, extent, 1.0) + 1 + np.arange(x.shape[1])
    waves = np.column_stack([np.ones(len(x)), np.sin(phase), np.cos(phase)])
    result = np.zeros((count, count))
    for j, k in zip(*np.nonzero(entries), strict=True):
        own, other = np.flatnonzero((field == j) & rows), np.flatnonzero(field == k)
        block = A[own][:, other] / entries[j, k]
        among = float(np.linalg.norm(waves[own].T @ (block @ waves[other])))
        result[j, k] = entries[j, k] * among if among > _ROUNDING else 0.0
    return result


def field_of(fields: Sequence[Field], components: np.ndarray) -> np.ndarray:
    """(N,) number of the field of each degree of freedom, from its component (N,)."""
    return np.repeat(np.arange(len(fields)), [f.components for f in fields])[components]
