"""The levels of algebraic multigrid, by pyamg."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import numpy as np
import scipy.sparse as sp

from ..errors import PcpinnError
from .multigrid import Hierarchy, Level

Levels = list[tuple[sp.csr_matrix, sp.csr_matrix | None]]  # matrices and prolongations, finest first

OTHERWISE = "use preconditioner=auto-ilu"
_COARSE, _COARSE_LIMIT = 500, 4000  # degrees of freedom at which coarsening stops, and with which it may end
_SMOOTHED = 1 / 5  # the smoother damps this upper part of the spectrum, the coarser levels the rest


class NoMultigrid(PcpinnError):
    """The package that coarsens is not there."""


def make_hierarchy(levels: Levels) -> Hierarchy:
    """Levels with their smoothers, and the inverse of the coarsest matrix, symmetric to the last digit."""
    coarsest = levels[-1][0].toarray()
    values, vectors = np.linalg.eigh((coarsest + coarsest.T) / 2)
    if len(values) and not values[0] > 1e-14 * values[-1]:
        raise not_positive(f"a coarse matrix has eigenvalues from {values[0]:.2g} to {values[-1]:.2g}")
    scaled = vectors / np.sqrt(values)
    kept = tuple(Level(M, P, _smoothed(M)) for M, P in levels if P is not None)
    return Hierarchy(kept, scaled @ scaled.T)


def _smoothed(M: sp.csr_matrix) -> tuple[float, float]:
    """The upper part of the spectrum of diag(M)^-1 M, by power iteration with a margin."""
    d = 1 / np.sqrt(M.diagonal())
    x = np.random.default_rng(0).normal(size=M.shape[0])
    size = 1.0
    for _ in range(20):
        x = d * (M @ (d * (x / np.linalg.norm(x))))
        size = float(np.linalg.norm(x))
    return 1.1 * size * _SMOOTHED, 1.1 * size


def coarsenings(free: sp.csr_matrix, wanted: str = "best") -> Iterator[tuple[str, Levels]]:
    """Matrices and prolongations, finest first, by each of pyamg's methods that gets small enough.

    Args:
        free: symmetric, positive definite.
        wanted: "best" for the two that give the best levels, "quick" for the one that is set up fastest.
    """
    if free.shape[0] <= _COARSE:
        yield "none", [(free, None)]
        return
    pyamg = _import_pyamg()
    free = sp.csr_matrix((free.data, free.indices.astype(np.int32), free.indptr.astype(np.int32)), shape=free.shape)
    options = {"max_coarse": _COARSE, "max_levels": 25}
    makers = {
        "best": {
            "smoothed-aggregation": lambda: pyamg.smoothed_aggregation_solver(free, strength="evolution", **options),
            "ruge-stuben": lambda: pyamg.ruge_stuben_solver(free, **options),
        },
        "quick": {"smoothed-aggregation": lambda: pyamg.smoothed_aggregation_solver(free, **options)},
    }
    for name, make in makers[wanted].items():
        with _undisturbed():
            found = make().levels
        if len(found) > 1 and found[-1].A.shape[0] <= _COARSE_LIMIT:
            last = len(found) - 1
            yield name, [(sp.csr_matrix(v.A), sp.csr_matrix(v.P) if i < last else None) for i, v in enumerate(found)]


@contextmanager
def _undisturbed() -> Iterator[None]:
    """pyamg draws from numpy's global random numbers: let it draw the same ones each time, and put them back."""
    before = np.random.get_state()  # noqa: NPY002
    np.random.seed(0)  # noqa: NPY002
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        np.random.set_state(before)  # noqa: NPY002


def _import_pyamg() -> ModuleType:
    try:
        import pyamg
    except ImportError as error:
        raise NoMultigrid(
            "preconditioner=amg needs the package pyamg, which is not installed",
            "run: pip install 'pyamg>=5'; or use preconditioner=ilu",
        ) from error
    return pyamg


def not_positive(why: str) -> PcpinnError:
    """The refusal of an indefinite matrix."""
    return PcpinnError(f"algebraic multigrid needs a positive definite matrix, and this one is not: {why}", OTHERWISE)
