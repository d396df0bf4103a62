"""Meshes that follow a problem's coefficients: cut where these vary inside cells, fitted to jumps; and what stays unseen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..discretize.bursts import burst_moments
from ..discretize.finite_elements import FiniteElements
from ..discretize.jumps import Values
from ..discretize.onto_jumps import OntoJumps
from ..discretize.rough_sources import lost_work, seen_by_many
from ..discretize.space import Space
from ..discretize.unseen import INSIDE, NEARLY_FITTED, coefficients, resolved, spread, unseen_cells
from ..discretize.unseen_walls import Walls, walls_of
from ..discretize.weak_form import WeakForm
from ..mesh.mesh import Mesh
from ..problem.problem import Problem
from .refinement import shape_of

_MOMENTS = 3  # at which coefficients over time are looked at, beside those of bursts


@dataclass(frozen=True)
class Followed:
    """A mesh, and the cells of it in which coefficients vary between points of quadrature all the same.

    Attributes:
        mesh: cut and fitted.
        unseen: (c,) bool.
        values: the coefficients that were looked at; walls: the data of boundaries.
    """

    mesh: Mesh
    unseen: np.ndarray
    values: Values
    walls: Walls

    def hidden_part(self, form: WeakForm, u: np.ndarray | None = None) -> float:
        """What an answer may be wrong by, in parts of it, since coefficients vary unseen: 0 where all is seen.

        Cells count by the work that is done in them where u (N,) is known, else by volume. Each may conduct as little as the
        harmonic mean of its coefficients says, where its points of quadrature see an arithmetic one. What sources do beside that
        is measured, where many points see it.
        """
        at_walls = self.walls.hidden_part(self.mesh)
        if not self.unseen.any():
            return at_walls
        cells, work, lost = np.flatnonzero(self.unseen), work_in_cells(form, u), 0.0
        if u is not None and isinstance(form, FiniteElements) and form.coefficients is None:
            seen = seen_by_many(self.values, form.space, cells)
            lost, cells = lost_work(form, u, cells[seen]), cells[~seen]
        if len(cells):
            lost += float((work[cells] * spread(self.values, self.mesh, cells, form.space.quadrature.X)).sum())
        x = lost / float(work.sum())
        return x / (1 + x) + at_walls


def followed(
    problem: Problem, mesh: Mesh, space: Space, most: float, states: Tensor | None = None, fit: bool = True
) -> Followed:
    """The mesh of a space, cut where coefficients vary between its points of quadrature, and fitted to jumps.

    Args:
        problem: the PDE.
        mesh: of the domain; of space alone, where time is treated apart.
        space: elements on it, whose quadrature is to see the coefficients.
        most: cells that are affordable.
        states: (k, C, 1 + d) of an answer, at which coefficients are looked at.
        fit: move nodes onto jumps, and cut edges there.
    """
    times = _moments(problem, mesh)
    values, walls = coefficients(problem, states, times), walls_of(problem, space.degree, times)
    X = space.quadrature.X
    found = resolved(mesh, values, X, most, shape_of(problem, mesh), problem.periodic_pairs, walls.unseen)
    if not fit or problem.periodic_pairs:  # whose sides must stay alike
        return Followed(found.mesh, found.unseen, values, walls)
    fitted = OntoJumps(lambda x: values(x).reshape(len(x), -1)).fitted(found.mesh)
    if fitted is found.mesh or fitted.cell_count > 2 * most:
        return Followed(found.mesh, found.unseen, values, walls)
    none = np.zeros(fitted.cell_count, dtype=bool)
    return Followed(fitted, unseen_cells(values, fitted, X) if found.unseen.any() else none, values, walls)


def looked_at(problem: Problem, space: Space, states: Tensor | None = None, fitted: bool = False) -> Followed:
    """A mesh as it is, and the cells of it in which coefficients vary unseen.

    Where its sides were moved onto jumps (`fitted`), slivers along bent ones do not count: finer meshes see what they do.
    """
    times, inside = _moments(problem, space.mesh), NEARLY_FITTED if fitted else INSIDE
    values, walls = coefficients(problem, states, times), walls_of(problem, space.degree, times)
    return Followed(space.mesh, unseen_cells(values, space.mesh, space.quadrature.X, inside=inside), values, walls)


def _moments(problem: Problem, mesh: Mesh) -> list[float]:
    """Times at which points of a mesh of space alone are looked at, also where the problem takes time for a coordinate."""
    if mesh.dimension == problem.domain.dimension:
        return []
    start, end = (float(b[-1]) for b in problem.domain.bounds)  # type: ignore[attr-defined]
    every = start + (end - start) * (np.arange(_MOMENTS) + 0.437) / _MOMENTS
    return [*every.tolist(), *(burst_moments(problem, mesh) if problem.over_time else [])]


def work_in_cells(form: WeakForm, u: np.ndarray | None) -> np.ndarray:
    """(c,) integrals over cells of |source u + flux . grad u|; volumes where it is not known."""
    volumes = form.space.quadrature.dx.sum(axis=1)
    if u is None or not isinstance(form, FiniteElements):
        return volumes
    parts = []
    for batch in form.cells():
        state = batch.state(torch.from_numpy(u))
        done = (form.inside.evaluate(batch.points, batch.outward, state) * state).sum(dim=(1, 2)).abs()
        parts.append((done.reshape(batch.dx.shape) * batch.dx).sum(dim=1))
    work = torch.cat(parts).numpy()
    return work if work.sum() > 0 else volumes
