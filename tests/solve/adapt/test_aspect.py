"""Cells as stretched as the solution is."""

import importlib

import numpy as np
import pytest
import torch

import pcpinn as pc
from pcpinn.mesh.generate import generate_mesh
from pcpinn.solve.adapt.level import Elements
from pcpinn.solve.adapt.marches import space_of
from pcpinn.solve.adapt.stepping import march_discrete

aspect = importlib.import_module("pcpinn.solve.adapt.aspect")


def heat(shape, start):
    """u_t = 0.001 Laplace u, zero on all sides."""
    return pc.Problem(
        shape.over(0, 0.1),
        density=lambda x, u: u.value,
        flux=lambda x, u: 1e-3 * u.grad,
        boundary={"sides": pc.Dirichlet(0.0), "initial": pc.Initial(start)},
    )


def marched(problem, mesh):
    """A few discrete steps."""
    times = np.linspace(0, 0.1, 3)
    return march_discrete(space_of(problem, mesh, Elements(3, "lagrange", 8), times), "radau", 2, times)


@pytest.mark.parametrize(("waves", "wanted"), [((12, 1), (8, 16)), ((1, 12), (1 / 16, 1 / 8)), ((2, 2), None)])
def test_a_box_is_meshed_as_the_solution_varies(waves, wanted):
    """About as many cells as before, more of them along the axis with the shorter waves."""
    shape = pc.Rectangle((0, 0), (1, 1), name="sides")
    problem = heat(shape, lambda x: torch.sin(np.pi * waves[0] * x[0]) * torch.sin(np.pi * waves[1] * x[1]))
    mesh = generate_mesh(shape, cells=(16, 16))
    found = aspect.stretched_mesh(problem, mesh, marched(problem, mesh))
    if wanted is None:
        assert found is None
        return
    counts = [len(np.unique(found.nodes[:, axis].round(9))) - 1 for axis in (0, 1)]
    assert wanted[0] <= counts[0] / counts[1] <= wanted[1]
    assert 0.6 < found.cell_count / mesh.cell_count < 1.6
    assert found.boundary_names == mesh.boundary_names


def test_other_shapes_stay_as_they_are():
    """Only boxes can be meshed with long cells."""
    shape = pc.Disk((0.5, 0.5), 0.5, name="sides")
    problem = heat(shape, lambda x: torch.sin(12 * np.pi * x[0]))
    mesh = generate_mesh(shape, size=0.15)
    assert aspect.stretched_mesh(problem, mesh, marched(problem, mesh)) is None


@pytest.mark.parametrize("dimension", [2, 3])
def test_axes_along_which_nothing_varies_have_two_cells(dimension):
    """Rounding is all that varies there; the other axis does not get millions."""
    shape = (pc.Rectangle if dimension == 2 else pc.Box)((0,) * dimension, (1,) * dimension)
    walls = {"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)}
    free = {name: pc.Neumann(0.0) for name in ("bottom", "top", "front", "back")[: 2 * dimension - 2]}
    problem = pc.Problem(
        shape.over(0, 0.1),
        density=lambda x, u: u.value,
        flux=lambda x, u: 0.1 * u.grad,
        boundary={**walls, **free, "initial": pc.Initial(lambda x: torch.sin(np.pi * x[0]))},
    )
    mesh = generate_mesh(shape, cells=(8, 8, 8)[:dimension])
    found = aspect.stretched_mesh(problem, mesh, marched(problem, mesh))
    counts = [len(np.unique(found.nodes[:, axis].round(9))) - 1 for axis in range(dimension)]
    assert counts[1:] == [2] * (dimension - 1)
    assert found.cell_count <= 1.6 * mesh.cell_count
