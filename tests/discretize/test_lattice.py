"""Coefficients on pixels: their lattice is found, and the jumps on it; other jumps and smooth coefficients have none."""

import numpy as np
import pytest
import torch

import pcpinn as pc
from pcpinn.catalog.prepared import read_prepared, write_prepared
from pcpinn.catalog.task import catalog_task
from pcpinn.discretize.lattice import lattice_of
from pcpinn.mesh.along_lattice import mesh_along
from pcpinn.solve.adapt.level import Elements
from pcpinn.solve.adapt.limits import Limits
from pcpinn.solve.adapt.unseen import along_pixels, pixels_of
from pcpinn.solve.method import METHODS
from pcpinn.solve.settings import resolve

PIXELS = np.random.default_rng(3).integers(0, 2, (12, 8))


def pixels(x, lower=(-1.0, 0.0), upper=(2.0, 1.0)):
    table = torch.from_numpy(1.0 + 9.0 * PIXELS)
    i, j = (
        ((x[k] - lower[k]) / (upper[k] - lower[k]) * n).floor().long().clamp(0, n - 1)
        for k, n in enumerate(PIXELS.shape)
    )
    flat = i * PIXELS.shape[1] + j
    return table.reshape(-1).index_select(0, flat.reshape(-1)).reshape(x[0].shape)


def problem(coefficient, domain=None):
    domain = domain or pc.Rectangle((-1, 0), (2, 1))
    sides = {name: pc.Dirichlet(0.0) for name in domain.boundary_names}
    return pc.Problem(domain, flux=lambda x, u: coefficient(x) * u.grad, source=lambda x, u: -1.0, boundary=sides)


def test_a_coefficient_on_pixels_is_found_with_all_its_jumps():
    lattice = lattice_of(problem(pixels))
    assert lattice is not None
    x, y = lattice.lines
    assert x == pytest.approx(np.linspace(-1, 2, 13), abs=1e-7)
    assert y == pytest.approx(np.linspace(0, 1, 9), abs=1e-7)
    across_x, across_y = (np.argwhere(np.diff(PIXELS, axis=k)) for k in range(2))
    wanted = {(i + 1.0, j + 0.5) for i, j in across_x} | {(i + 0.5, j + 1.0) for i, j in across_y}
    assert {tuple(edge) for edge in lattice.edges.tolist()} == wanted


@pytest.mark.parametrize(
    "coefficient",
    [
        lambda x: 1 + 0.5 * torch.sin(7 * x[0]) * x[1],
        lambda x: 1 + torch.tanh(200 * x[0]),
        lambda x: 1 + 9.0 * (x[0] ** 2 + x[1] ** 2 < 0.25),
        lambda x: 1 + 9.0 * (x[0] > 0.3) + 100.0 * (x[1] > 1 / 3),
        lambda x: 1 + 9.0 * (x[0] + 0.3 * x[1] > 0.3),
    ],
    ids=["smooth", "steep", "circle", "few planes", "slanted"],
)
def test_other_coefficients_have_no_lattice(coefficient):
    assert lattice_of(problem(coefficient)) is None


def test_other_shapes_have_no_lattice():
    assert lattice_of(problem(pixels, pc.Disk((0.5, 0.5), 0.4))) is None


def test_cells_keep_to_the_pixels():
    lattice = lattice_of(problem(pixels))
    mesh = mesh_along(lattice.shape, lattice.lines, lattice.edges, 4, 10_000)
    corners = mesh.nodes[mesh.vertices]
    weights = np.random.default_rng(0).dirichlet(np.ones(3), 20)
    inside = np.einsum("pk,ckd->cpd", weights, corners)
    values = pixels(torch.from_numpy(inside.reshape(-1, 2).T)).reshape(len(corners), -1)
    assert bool((values == values[:, :1]).all())
    sides = corners[:, 1:] - corners[:, :1]
    assert np.abs(np.linalg.det(sides)).sum() / 2 == pytest.approx(3.0)


def test_fewer_cells_than_the_pixels_need_are_kept_to():
    lattice = lattice_of(problem(pixels))
    free = mesh_along(lattice.shape, lattice.lines, lattice.edges, 2, 10_000)
    mesh = mesh_along(lattice.shape, lattice.lines, lattice.edges, 2, free.cell_count / 2)
    assert mesh.cell_count <= free.cell_count / 2


def over_time(coefficient):
    domain = pc.Rectangle((-1, 0), (2, 1))
    sides = {name: pc.Dirichlet(0.0) for name in domain.boundary_names}
    given = {"flux": lambda x, u: coefficient(x) * u.grad, "source": lambda x, u: -1.0, "boundary": sides}
    sides["initial"] = pc.Initial(0.0)
    return pc.Problem(domain.over(0, 1), density=lambda x, u: u.value, **given)


def test_first_meshes_of_marches_follow_pixels():
    elements, limits, settings = Elements(3, "lagrange", 8), Limits(100.0), resolve(METHODS.find("pcpinn"), True, {})
    assert pixels_of(over_time(lambda x: 1 + x[0] ** 2), settings) is None
    assert pixels_of(problem(pixels), settings) is None
    lattice = pixels_of(over_time(pixels), settings)
    even, mesh = along_pixels(over_time(pixels), lattice, elements, limits)
    assert set(np.round(lattice.lines[0], 6)) <= set(np.round(mesh.nodes[:, 0], 6))
    assert mesh.cell_count >= even.cell_count


def test_a_prepared_march_makes_such_a_mesh_where_it_is_solved(tmp_path):
    task = catalog_task("heat2d-vc", "accuracy", {}, reference=False)
    write_prepared(task, tmp_path / "a.pcpinn")
    assert read_prepared(tmp_path / "a.pcpinn", {}).mesh is None
    write_prepared(catalog_task("heat2d-vc", "quick", {}, reference=False), tmp_path / "b.pcpinn")
    assert read_prepared(tmp_path / "b.pcpinn", {}).mesh is not None
