"""Pins: graded meshes where errors come from elsewhere, even ones where the pin itself shows them."""

import numpy as np

from pcpinn.catalog import ns2d_c
from pcpinn.mesh.generate import generate_mesh
from pcpinn.progress import Progress
from pcpinn.solve.adapt.level import Elements
from pcpinn.solve.adapt.limits import Limits
from pcpinn.solve.adapt.pins import cells_at_pins, marked_but_for_pins
from pcpinn.solve.adapt.space import adapt

PROBLEM = ns2d_c.problem()  # its pressure is pinned at (0, 0) and singular at (0, 1) and (1, 1)


def test_cells_at_a_pin_are_not_marked_and_loud_ones_mark_all():
    mesh = generate_mesh(PROBLEM.domain, cells=(4, 4))
    at = cells_at_pins(mesh, PROBLEM)
    assert 1 <= at.sum() <= 2
    assert np.allclose(mesh.nodes[mesh.vertices[at]].min(axis=1), 0)
    even = np.ones(mesh.cell_count)
    chosen = marked_but_for_pins(even, mesh, PROBLEM, 0.7)
    assert 0 < chosen.sum() < mesh.cell_count
    assert not chosen[at].any()
    assert marked_but_for_pins(even + 1e3 * at, mesh, PROBLEM, 0.7).all()


def test_a_driven_cavity_is_refined_at_the_ends_of_its_lid():
    mesh = generate_mesh(PROBLEM.domain, size=0.25)
    found = adapt(PROBLEM, mesh, Elements(3, "lagrange", 8), 2e-2, Limits(60), Progress())
    assert found.limited_by is None
    assert found.level.coarse.size < 3000  # more than 25 000 if refined evenly
    corners = found.level.mesh.nodes[found.level.mesh.vertices]
    smallest = corners[np.ptp(corners, axis=1).max(axis=1).argmin()].mean(axis=0)
    assert min(np.linalg.norm(smallest - end) for end in ((0, 1), (1, 1))) < 0.1
