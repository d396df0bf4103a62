"""Sources that vary inside tetrahedra, between the points of their rule: what rules of many points find there.

Cells of solids are large, and a smooth source may turn in them. Where many points see all that it does, what the cell's own rule
loses is measured instead of bounded.
"""

from __future__ import annotations

import numpy as np
import torch

from ..mesh.mesh import Mesh
from .batches import cell_batches
from .jumps import Values
from .quadrature import quadrature_of
from .space import Space
from .unseen import TURN, at_places, lines_through, ranges, unseen_cells
from .weak_form import WeakForm

_ORDERS = (10, 14)  # of rules with 216 and 512 points
_CELLS = 2000  # at once
_CORNERS = 0.25  # of the range of values at a rule's points: by so much they may go on towards corners


def seen_by_many(values: Values, space: Space, cells: np.ndarray) -> np.ndarray:
    """(m,) bool: cells whose flux varies as its rule sees it, and whose source has no values beyond those at many points.

    Points of neighbours count, too.

    Args:
        values: source and flux, as of `unseen.coefficients`.
        space: with the rule that cells have.
        cells: (m,) numbers of those in which source or flux vary unseen.
    """

    def flux(x: np.ndarray) -> np.ndarray:
        found = values(x).copy()
        found[..., 0] = 0.0
        return found

    mesh = space.mesh
    result = ~unseen_cells(flux, mesh, space.quadrature.X, cells)
    X, _ = quadrature_of(space.scalar[0].element, _ORDERS[-1])
    lines = lines_through(mesh.dimension, len(cells), 0).reshape(mesh.dimension, -1)
    low, high = ranges(values, mesh, space.quadrature.X, cells)  # a jump may cut off a corner, and neighbours see it
    for start in range(0, len(cells), _CELLS):
        part = slice(start, start + _CELLS)
        own, along = (
            values(at_places(mesh, cells[part], p)).reshape(len(cells[part]), p.shape[1], -1) for p in (X, lines)
        )
        above = along.max(axis=1) - np.maximum(own.max(axis=1), high[part])
        below = np.minimum(own.min(axis=1), low[part]) - along.min(axis=1)
        least = _CORNERS * np.ptp(own, axis=1) + TURN * np.abs(along).max(axis=1)
        result[part] &= (np.maximum(above, below) <= least).all(axis=1)
    return result


def lost_work(form: WeakForm, u: np.ndarray, cells: np.ndarray) -> float:
    """What rules of many points find of source u + flux . grad u in these cells, beside what the form's own rule finds.

    The sum of the differences, and the root of the sum of their squares: the one for what is lost everywhere alike, the other
    for what is lost here and there. The larger of two rules.
    """
    found = []
    for order in _ORDERS:
        parts = [
            _work(form, u, cells[k : k + _CELLS], order) - _work(form, u, cells[k : k + _CELLS], None)
            for k in range(0, len(cells), _CELLS)
        ]
        d = np.concatenate([np.zeros(0), *parts])
        found.append(float(abs(d.sum()) + np.sqrt((d**2).sum())))
    return max(found)


def _work(form: WeakForm, u: np.ndarray, cells: np.ndarray, order: int | None) -> np.ndarray:
    """(m,) integrals of source u + flux . grad u over cells, by a rule of this order; by the form's own for None."""
    whole = form.space
    order = order or whole.quadrature_order
    # The nodes keep their order, and with it the functions of each cell.
    own = Space(Mesh(whole.mesh.nodes, whole.mesh.cells[cells]), whole.fields, whole.degree, order, whole.element)
    v = np.zeros(own.size)
    for k, (few, all_) in enumerate(zip(own.scalar, whole.scalar, strict=True)):
        v[own.offsets[k] + few.cell_nodes] = u[whole.offsets[k] + all_.cell_nodes[cells]]
    parts = []
    for batch in cell_batches(own):
        state = batch.state(torch.from_numpy(v))
        done = (form.inside.evaluate(batch.points, batch.outward, state) * state).sum(dim=(1, 2))
        parts.append((done.reshape(batch.dx.shape) * batch.dx).sum(dim=1))
    return np.asarray(torch.cat(parts).numpy())
