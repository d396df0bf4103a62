"""The computation behind the reference of poisson3d-cg: its parts, and a coarse member against the shipped file."""

import numpy as np
import pytest
import skfem

from pcpinn.catalog.makers import poisson3d_cg
from pcpinn.catalog.makers.maker import distance
from pcpinn.catalog.poisson3d_cg import BALLS, JUMP
from pcpinn.catalog.reference_file import read_shipped


@pytest.fixture(scope="module")
def mesh():
    return poisson3d_cg.make_mesh(0.3, 1.0)


def test_cubic_shape_functions():
    element = poisson3d_cg.CubicTetrahedron()
    X = element.doflocs.T
    np.testing.assert_allclose([element.lbasis(X, i)[0] for i in range(20)], np.eye(20), atol=1e-12)
    x = np.random.default_rng(0).random((3, 5))
    for i in (0, 5, 17):
        for axis in range(3):
            step = 1e-6 * np.eye(3)[:, [axis]]
            slope = (element.lbasis(x + step, i)[0] - element.lbasis(x - step, i)[0]) / 2e-6
            np.testing.assert_allclose(element.lbasis(x, i)[1][axis], slope, atol=1e-7)


def test_the_mesh_follows_the_spheres_and_the_plane(mesh):
    volume = 1 - sum(4 / 3 * np.pi * r**3 for _, r in BALLS)
    measured = skfem.Functional(lambda w: 1.0 + 0 * w.x[0]).assemble(
        skfem.CellBasis(mesh, skfem.ElementTetP1(), intorder=6)
    )
    straight = skfem.MeshTet1(mesh.doflocs[:, : mesh.nvertices].copy(), mesh.t)
    by_chords = skfem.Functional(lambda w: 1.0 + 0 * w.x[0]).assemble(skfem.CellBasis(straight, skfem.ElementTetP1()))
    assert abs(measured - volume) < 0.2 * abs(by_chords - volume)
    z = straight.p[2, straight.t]
    assert np.all((z <= JUMP + 1e-9).all(axis=0) | (z >= JUMP - 1e-9).all(axis=0))


def test_cubics_are_continuous_and_found(mesh):
    element = poisson3d_cg.CubicTetrahedron()
    dofs = skfem.Dofs(mesh, element)
    basis = skfem.CellBasis(mesh, element, dofs=dofs, intorder=4)
    nodes = basis.doflocs
    x = poisson3d_cg.points()[::7]
    linear = poisson3d_cg._evaluate(mesh, dofs, 1 + nodes[0] - 2 * nodes[1] + 3 * nodes[2], x)
    np.testing.assert_allclose(linear, 1 + x[:, 0] - 2 * x[:, 1] + 3 * x[:, 2], atol=1e-9)


def test_a_coarse_member_is_near_the_shipped_reference():
    shipped, made = read_shipped("poisson3d-cg")
    assert shipped.error < 4e-4
    assert sorted(made["differences"], reverse=True) == made["differences"]
    at = slice(None, None, 11)
    values = poisson3d_cg.solve(0.2, shipped.points[at], 1.0)
    assert distance(values[:, None], shipped.values[at]) < 0.06
