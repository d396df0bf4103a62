"""Fluxes that jump along edges are integrated exactly, on straight and on curved walls."""

import numpy as np
import pytest
import torch

import pcpinn as pc
from pcpinn.discretize.edge_pieces import broken_edges
from pcpinn.discretize.finite_elements import FiniteElements
from pcpinn.discretize.window import MarchSpace
from pcpinn.mesh.generate import generate_mesh

START, END = 0.3437, 0.3931  # of the side, and as angles of the rim


def on_part(s):
    return torch.where((s > START) & (s < END), 2.0 + s, 0.0)


def square(condition):
    return pc.Problem(
        pc.Rectangle((0, 0), (1, 1)),
        flux=lambda x, u: u.grad,
        boundary={"top": condition, **dict.fromkeys(("left", "right", "bottom"), pc.Dirichlet(0.0))},
    )


def disc():
    condition = pc.Natural(lambda x, n, u: on_part(torch.atan2(x[1], x[0])))
    return pc.Problem(pc.Disk((0, 0), 1.0, name="rim"), flux=lambda x, u: u.grad, boundary={"rim": condition})


def load(problem, size, function):
    """The integral of the flux times a function of points, as the weak form has it."""
    form = FiniteElements(problem, generate_mesh(problem.domain, size=size), degree=3)
    r = form.residual(torch.zeros(form.size, dtype=torch.float64)).numpy()
    return -r @ function(form.unknown_nodes), form


@pytest.mark.parametrize("size", [0.5, 0.13, 0.05])
def test_on_a_straight_side(size):
    found, form = load(square(pc.Neumann(lambda x: on_part(x[0]))), size, lambda x: x[:, 0] * x[:, 1])
    assert found == pytest.approx(END**2 - START**2 + (END**3 - START**3) / 3, rel=1e-9)
    assert set(broken_edges(form.problem, form.mesh)) == {"top"}


@pytest.mark.parametrize("size", [0.5, 0.13])
def test_on_a_curved_side(size):
    found, form = load(disc(), size, lambda x: np.ones(len(x)))
    exact = 2 * (END - START) + (END**2 - START**2) / 2
    tolerance = 0.1 * size**4  # of the rim, whose edges are parabolas
    assert found == pytest.approx(exact, rel=tolerance)
    assert len(broken_edges(form.problem, form.mesh)["rim"].rows) in (1, 2)


def test_a_coefficient_that_jumps_is_found_and_smooth_data_are_not():
    def broken(condition):
        problem = square(condition)
        return broken_edges(problem, generate_mesh(problem.domain, size=0.2))

    assert set(broken(pc.Robin(lambda x: 1 + on_part(x[0]), 1.0))) == {"top"}
    assert not broken(pc.Neumann(lambda x: torch.sin(9 * x[0])))
    assert not broken(pc.Neumann(1.0))


def test_over_time():
    """Also where the flux is switched on late, and where time is a coordinate of the mesh."""
    switched = pc.Neumann(lambda x, t: torch.where(t > 0.6, on_part(x[0]), 0.0 * x[0]))
    problem = pc.Problem(
        pc.Rectangle((0, 0), (1, 1)).over(0, 1),
        density=lambda x, u: u.value,
        flux=lambda x, u: u.grad,
        boundary={
            "top": switched,
            "initial": pc.Initial(0.0),
            **dict.fromkeys(("left", "right", "bottom"), pc.Dirichlet(0.0)),
        },
    )
    mesh = generate_mesh(pc.Rectangle((0, 0), (1, 1)), size=0.3)
    form = MarchSpace(problem, mesh, (0.0, 1.0), 3).form
    x = form.space.unknown_nodes
    zero = torch.zeros((2, form.size), dtype=torch.float64)
    early, late = form.residual(np.array([0.3, 0.9]), zero, zero).numpy()
    exact = END**2 - START**2 + (END**3 - START**3) / 3
    assert -late @ (x[:, 0] * x[:, 1]) == pytest.approx(exact, rel=1e-9)
    assert np.abs(early).max() < 1e-14
    assert set(broken_edges(problem, mesh)) == {"top"}

    rod = pc.Problem(
        pc.Interval(0, 1).over(0, 1, coordinate=True),
        flux=lambda x, u: torch.stack([u.grad[0], -u.value]),
        boundary={
            "right": pc.Neumann(lambda x: on_part(x[1])),
            "left": pc.Dirichlet(0.0),
            "initial": pc.Dirichlet(0.0),
        },
    )
    assert set(broken_edges(rod, generate_mesh(rod.domain, size=0.2))) == {"right"}


def test_problems_on_extended_points_are_left_alone():
    """Families take the coefficients out of a form to see its facets as they are."""
    family = pc.Family(lambda k: square(pc.Natural(lambda x, n, u: k * on_part(x[0]) * x[1])), k=pc.Range(1.0, 2.0))
    mesh = generate_mesh(pc.Rectangle((0, 0), (1, 1)), size=0.3)
    start = torch.ones((len(mesh.nodes), 1), dtype=torch.float64)
    form = FiniteElements(family.extended, mesh, 1, None, start).with_coefficients(None)
    assert len(list(form.parts())) == 2
