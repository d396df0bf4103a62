"""Truth for families: solutions at parameters that no training saw, by direct solves on a finer discretisation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import PcpinnError
from ..files import read_tensors, write_tensors
from ..mesh.slab_mesh import AnyMesh
from ..progress import Progress
from ..solve.build import make_mesh
from .direct import direct_solutions, distance
from .discretise import AnySystem, make_finer, make_system
from .family import Family
from .run import family_settings

_SEED = 2_026_111  # of the parameters: no training draws with it
_CHECKED = 2  # solutions that are compared with still finer ones
_AT_A_TIME = 16  # solutions between two times that they are kept
_FACTS = ("error", "how")


@dataclass(frozen=True)
class Unseen:
    """Solutions at Q parameters, as values of degrees of freedom at points.

    Attributes:
        mu: (Q, K) parameters.
        points: (M, d) places.
        point_of, component_of, field_of: (N,) place, component and field of each value.
        weights: (N,) of a discrete L2 norm.
        values: (Q, N).
        counted: which fields count.
        error: relative L2 error of these solutions, the largest found by still finer ones.
        how: the discretisation in words.
    """

    mu: np.ndarray
    points: np.ndarray
    point_of: np.ndarray
    component_of: np.ndarray
    field_of: np.ndarray
    weights: np.ndarray
    values: np.ndarray
    counted: np.ndarray
    error: float
    how: str

    def errors(self, found: np.ndarray) -> np.ndarray:
        """(Q, F) relative L2 errors, by field, of values (Q, M, C) at the points; fields that do not count are left out."""
        own = found[:, self.point_of, self.component_of]
        off, size = self._sizes(own - self.values), self._sizes(self.values)
        unit = np.maximum(size, 1e-14 * size.max(axis=1, keepdims=True))
        return (off / np.where(unit > 0, unit, 1.0))[:, self.counted]

    def _sizes(self, u: np.ndarray) -> np.ndarray:
        fields = int(self.field_of.max()) + 1
        squares = [(u**2 * self.weights * (self.field_of == k)).sum(axis=1) for k in range(fields)]
        return np.sqrt(np.stack(squares, axis=1))

    def save(self, path: Path) -> None:
        """Write it."""
        arrays = {k: np.ascontiguousarray(v) for k, v in vars(self).items() if k not in _FACTS}
        write_tensors(path, arrays, {k: getattr(self, k) for k in _FACTS})


def read_unseen(path: Path) -> Unseen:
    """Inverse of `save`.

    Raises:
        PcpinnError: for a file that is not one.
    """
    arrays, facts = read_tensors(path)
    try:
        return Unseen(**arrays, error=float(facts["error"]), how=str(facts["how"]))
    except (KeyError, TypeError, ValueError) as error:
        raise PcpinnError(f"{path} does not hold solutions of a family", "remove it: it is made again") from error


def solve_unseen(
    family: Family,
    fine: Mapping[str, Any],
    queries: int,
    mesh: AnyMesh | None = None,
    kept: Path | None = None,
    progress: Progress | None = None,
) -> Unseen:
    """Direct solutions at `queries` parameters of the family's distribution.

    Args:
        family: the problems.
        fine: mesh, degree and time steps: settings of `pcpinn.solve`.
        queries: Q.
        mesh: that these settings mean, if it is there already.
        kept: a file for the solutions that are done, in case that it is interrupted; removed at the end.
        progress: told that it begins.
    """
    base = family.base
    settings = family_settings(family, None, fine)
    mesh, device = mesh or make_mesh(base, settings), torch.device("cpu")
    system = make_system(family, mesh, settings, device)
    mu = family.sample(queries, seed=_SEED)
    u = _solutions(system, mu, kept, progress or Progress())
    finer, how = make_finer(family, mesh, settings, device)
    nodes = system.nodes
    fields = base.unknowns
    error = distance(system, finer, mu[:_CHECKED], u)
    if kept is not None:
        kept.unlink(missing_ok=True)
    counted = [k for k, f in enumerate(fields) if not f.auxiliary] or list(range(len(fields)))
    return Unseen(
        mu=mu.numpy(),
        points=nodes.points,
        point_of=nodes.point_of,
        component_of=nodes.component_of,
        field_of=system.field_of.numpy(),
        weights=system.weights.numpy(),
        values=u,
        counted=np.array(counted),
        error=error,
        how=f"{system.form.name}, {system.size} degrees of freedom; its error by {how}",
    )


def _solutions(system: AnySystem, mu: Tensor, kept: Path | None, progress: Progress) -> np.ndarray:
    """(Q, N) some at a time; what a file has of them already is not solved again."""
    u = _read_kept(kept, mu.numpy(), system.size)
    progress.stage("solutions to compare with")
    for some in mu[len(u) :].split(_AT_A_TIME):
        u = np.concatenate([u, direct_solutions(system, some)])
        if kept is not None:
            kept.parent.mkdir(parents=True, exist_ok=True)
            write_tensors(kept, {"mu": mu[: len(u)].numpy(), "u": u}, {})
    return u


def _read_kept(path: Path | None, mu: np.ndarray, size: int) -> np.ndarray:
    """(q, N) of the first of these parameters; none where the file is not there, or is of others."""
    nothing = np.zeros((0, size))
    if path is None or not path.exists():
        return nothing
    try:
        arrays, _ = read_tensors(path)
        at, u = arrays["mu"], arrays["u"]
    except (PcpinnError, KeyError):
        return nothing
    fits = at.shape == (len(u), mu.shape[1]) and u.shape[1:] == (size,) and len(u) <= len(mu)
    return u if fits and np.array_equal(at, mu[: len(u)]) else nothing
