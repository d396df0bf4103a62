"""The computation behind the reference of heat2d-cg: its parts, and coarse members against the shipped file."""

import numpy as np
import pytest
import skfem

from pcpinn.catalog.heat2d_cg import LARGE, SMALL, plate
from pcpinn.catalog.makers import heat2d_cg
from pcpinn.catalog.makers.maker import distance
from pcpinn.catalog.reference_file import shipped_reference
from pcpinn.mesh.netgen_mesher import mesh_shape


def test_the_holes():
    assert (len(LARGE), len(SMALL)) == (11, 6)
    mirrored = {(-x, y, r) for x, y, r in LARGE + SMALL} | {(x, -y, r) for x, y, r in LARGE + SMALL}
    assert mirrored == set(LARGE + SMALL)


def test_time_steps_grow_from_the_start():
    times, kept = heat2d_cg.time_steps(np.linspace(0, 1, 5), 2, 3)
    np.testing.assert_allclose(times[:9], 0.25 * np.array([0, 1 / 16, 1 / 8, 3 / 16, 1 / 4, 3 / 8, 1 / 2, 3 / 4, 1]))
    assert {k: times[i] for i, k in kept.items()} == pytest.approx({1: 0.25, 2: 0.5, 3: 0.75, 4: 1.0})


@pytest.fixture(scope="module")
def mesh():
    return mesh_shape(plate(), 2.0, curved=True, curvature=2.0).skfem


def test_rims_have_their_lengths(mesh):
    boundaries = heat2d_cg._boundaries(mesh)
    lengths = [
        skfem.Functional(lambda w: 1.0 + 0 * w.x[0]).assemble(skfem.FacetBasis(mesh, skfem.ElementTriP1(), facets=f))
        for f, _ in boundaries
    ]
    assert lengths == pytest.approx([22 * np.pi, 4.8 * np.pi, 80.0], rel=3e-3)
    assert [outside for _, outside in boundaries] == [5.0, 1.0, 0.1]


def test_evaluation_finds_the_right_cells(mesh):
    basis = skfem.Basis(mesh, skfem.ElementTriP3())
    x = heat2d_cg.places()
    u = basis.project(lambda p: 1 + p[0] - 2 * p[1])
    np.testing.assert_allclose(heat2d_cg._evaluation(basis, x) @ u, 1 + x[:, 0] - 2 * x[:, 1], atol=1e-8)


def test_coarse_members_approach_the_shipped_reference(monkeypatch):
    monkeypatch.setattr(heat2d_cg, "_CHOICES", ((2, 2.0, 1), (2, 1.0, 1)))
    monkeypatch.setattr(heat2d_cg, "_DOUBLINGS", 4)
    shipped = shipped_reference("heat2d-cg")
    coarse, fine = (distance(heat2d_cg.values(k), shipped.values) for k in (0, 1))
    assert fine < 1e-2
    assert coarse > 3 * fine
