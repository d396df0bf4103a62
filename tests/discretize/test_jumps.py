"""Jumps of coefficients: planes across the axes, told from curves and from steep changes."""

import numpy as np
import pytest
import torch

import pcpinn as pc
from pcpinn.discretize.jumps import slope_jumps
from pcpinn.mesh.crossed import uncrossed
from pcpinn.mesh.generate import generate_mesh
from pcpinn.solve.adapt.wish import first_mesh
from pcpinn.solve.linear import settings_of


def planes(problem):
    return slope_jumps(problem)[1]


def problem(coefficient, domain=None):
    domain = domain or pc.Rectangle((-1, 0), (2, 1), name="w")
    sides = {name: pc.Dirichlet(0.0) for name in domain.boundary_names}
    return pc.Problem(domain, flux=lambda x, u: coefficient(x) * u.grad, source=lambda x, u: -1.0, boundary=sides)


def blocks(x):
    return 1 + 9.0 * (x[0] > 0.3) + 100.0 * (x[1] > 1 / 3)


def test_planes_are_found_to_rounding():
    x, y = planes(problem(blocks))
    assert x == pytest.approx([0.3], abs=1e-10)
    assert y == pytest.approx([1 / 3], abs=1e-10)


@pytest.mark.parametrize(
    "coefficient",
    [lambda x: 1 + 9.0 * (x[0] ** 2 + x[1] ** 2 < 0.25), lambda x: 1 + torch.tanh(200 * x[0])],
    ids=["circle", "steep"],
)
def test_curves_and_steep_changes_are_no_planes(coefficient):
    assert planes(problem(coefficient)) == ((), ())


def test_along_an_interval_every_jump_is_one():
    (x,) = planes(problem(lambda x: 1 + 9.0 * (x[0] > 0.7), pc.Interval(0, 1)))
    assert x == pytest.approx([0.7], abs=1e-10)


def test_the_first_mesh_of_a_box_follows_planes():
    mine = problem(blocks)
    found = planes(mine)
    mesh = first_mesh(mine, settings_of("pcpinn", mine, None, {}), None, found)
    assert uncrossed(mesh, found) == found
    blind = generate_mesh(mine.domain, size=0.25)
    assert uncrossed(blind, found) == ()
    assert mesh.cell_count < 2 * blind.cell_count


def test_a_mesh_of_ones_own_that_follows_a_plane_is_seen():
    mesh = generate_mesh(pc.Rectangle((0, 0), (1, 1)), cells=(4, 4))
    assert uncrossed(mesh, ((0.25, 0.3), (0.1,))) == ((0.25,), ())
    assert np.isfinite(mesh.nodes).all()


def over_time(coefficient):
    return pc.Problem(
        pc.Rectangle((-1, 0), (2, 1), name="w").over(0, 2),
        density=lambda x, u: u.value,
        flux=lambda x, t, u: coefficient(x, t) * u.grad,
        boundary={"w": pc.Dirichlet(0.0), "initial": pc.Initial(1.0)},
    )


def test_over_time_jumps_count_that_stay():
    there, (x, y) = slope_jumps(over_time(lambda x, t: blocks(x) * (1 + t)))
    assert there
    assert x == pytest.approx([0.3], abs=1e-10)
    assert y == pytest.approx([1 / 3], abs=1e-10)
    assert slope_jumps(over_time(lambda x, t: 1 + 9.0 * (x[0] > 0.3 * t))) == (False, ((), ()))


def carried(source, density=lambda x, u: u.value, **more):
    ends = {"left": pc.Dirichlet(0.0), "right": pc.Neumann(0.0), "initial": pc.Initial(0.0)}
    return pc.Problem(pc.Interval(0, 1).over(0, 1), density=density, source=source, boundary=ends, **more)


def test_without_diffusion_every_coefficient_counts():
    def speed(x):
        return torch.where(x[0] < 0.4, 1.0, 3.0)

    assert planes(carried(lambda x, u: speed(x) * u.grad[0]))[0] == pytest.approx((0.4,))
    assert planes(carried(lambda x, u: u.grad[0], lambda x, u: speed(x) * u.value))[0] == pytest.approx((0.4,))
    heat = carried(lambda x, u: speed(x) * u.grad[0], flux=lambda x, u: u.grad)
    assert slope_jumps(heat) == (False, ((),))  # curvature jumps, slopes do not


def test_only_equations_without_diffusion():
    """Voltage and current: that of the voltage has diffusion here, that of the current has not."""

    def jump(x, at):
        return torch.where(x[0] < at, 1.0, 2.0)

    line = pc.Problem(
        pc.Interval(0, 1).over(0, 1),
        fields=("v", "i"),
        density=lambda x, v, i: (jump(x, 0.2) * v.value, jump(x, 0.7) * i.value),
        flux=lambda x, v, i: (v.grad, None),
        source=lambda x, v, i: (i.grad[0], v.grad[0]),
        boundary={"initial": {"v": pc.Initial(0.0), "i": pc.Initial(0.0)}},
    )
    assert planes(line)[0] == pytest.approx((0.7,))
