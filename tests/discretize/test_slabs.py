"""Finite elements in space times polynomials in time: orders of convergence, conditions, refusals."""

import numpy as np
import pytest
import torch
from over_time import timed
from torch.func import grad

from pcpinn import (
    Dirichlet,
    Disk,
    Field,
    Initial,
    Interval,
    Neumann,
    PcpinnError,
    Periodic,
    Problem,
    Rectangle,
    Robin,
)
from pcpinn.discretize.finite_elements import FiniteElements
from pcpinn.discretize.slabs import TimeSlabs
from pcpinn.discretize.system import linear_system
from pcpinn.discretize.time_scheme import slab_times
from pcpinn.mesh.generate import generate_mesh
from pcpinn.mesh.slab_mesh import SlabMesh

pytestmark = pytest.mark.filterwarnings("ignore:no condition on")


def u(x):
    return torch.sin(2 * x[0]) * torch.cos(3 * x[1]) + x[0] * x[1]


def along(f, k):
    return lambda x: grad(f)(x)[k]


def mesh(slabs, end=1.0, cells=12):
    return SlabMesh(generate_mesh(Interval(0.0, 1.0), cells=(cells,)), slab_times(0.0, end, slabs))


def heat(wobble):
    """A coefficient that depends on time or not, a Dirichlet and a Robin side."""

    def a(x):
        return 1 + x[0] + wobble * torch.sin(3 * x[1])

    def flux(x):
        return a(x) * grad(u)(x)[0]

    return Problem(
        Interval(0.0, 1.0).over(0.0, 1.0),
        density=lambda x, v: v.value,
        flux=lambda x, t, v: timed(a)(x, t) * v.grad,
        source=lambda x, t, v: -timed(lambda p: grad(u)(p)[1] - grad(flux)(p)[0])(x, t),
        boundary={
            "left": Dirichlet(timed(u)),
            "right": Robin(2.0, timed(lambda p: flux(p) + 2 * u(p))),
            "initial": Initial(timed(u)),
        },
    )


def wave():
    """u_t = v, (1 + x) v_t = u_xx + f."""

    def f(x):
        return (1 + x[0]) * grad(along(u, 1))(x)[1] - grad(along(u, 0))(x)[0]

    return Problem(
        Interval(0.0, 1.0).over(0.0, 1.0),
        fields=(Field("u"), Field("v")),
        density=lambda x, a, b: (a.value, (1 + x[0]) * b.value),
        flux=lambda x, a, b: (None, a.grad),
        source=lambda x, t, a, b: (-b.value, -timed(f)(x, t)),
        boundary={
            "left": {"u": Dirichlet(timed(u)), "v": Dirichlet(timed(along(u, 1)))},
            "right": {"v": Neumann(timed(along(u, 0)))},
            "initial": {"u": Initial(timed(u)), "v": Initial(timed(along(u, 1)))},
        },
    )


def elliptic():
    def f(x):
        return -grad(along(u, 0))(x)[0] - grad(along(u, 1))(x)[1]

    return Problem(
        Interval(0.0, 1.0).over(0.0, 1.0, coordinate=True),
        flux=lambda x, v: v.grad,
        source=lambda x, v: -f(x),
        boundary={
            "left": Dirichlet(u),
            "right": Neumann(along(u, 0)),
            "initial": Dirichlet(u),
            "final": Robin(1.0, lambda x: grad(u)(x)[1] + u(x)),
        },
    )


def errors(problem, scheme, order, slabs):
    """Of u everywhere, and at the last layer."""
    d = TimeSlabs(problem, mesh(slabs), scheme, order, 4)
    system = linear_system(d)
    exact = torch.vmap(u)(torch.from_numpy(d.unknown_nodes)).numpy()
    e = np.where(d.unknown_components == 0, system.solution - exact, 0.0)
    return system.norm(e), np.abs(e[-d.layer_size :]).max()


@pytest.mark.parametrize(
    ("problem", "scheme", "order", "everywhere", "at_the_end"),
    [
        (heat(0.0), "radau", 1, 0.8, 0.8),
        (heat(0.0), "radau", 2, 2.8, 2.8),
        (heat(0.0), "radau", 3, 3.8, 4.4),
        (heat(0.5), "radau", 2, 2.8, 2.8),
        (wave(), "gauss", 1, 1.9, 1.9),
        (wave(), "gauss", 2, 2.9, 3.8),
        (elliptic(), "galerkin", 1, 1.9, 1.9),
        (elliptic(), "galerkin", 2, 3.8, 3.5),
    ],
)
def test_order_of_convergence(problem, scheme, order, everywhere, at_the_end):
    coarse, fine = errors(problem, scheme, order, 4), errors(problem, scheme, order, 8)
    assert np.log2(coarse[0] / fine[0]) > everywhere
    assert np.log2(coarse[1] / fine[1]) > at_the_end


def test_coefficients_that_change_with_time_are_noticed():
    assert TimeSlabs(heat(0.0), mesh(2), "radau", 2)._steady
    assert not TimeSlabs(heat(0.5), mesh(2), "radau", 2)._steady


def test_a_change_with_time_in_a_corner_is_noticed_too():
    """A sample of points may miss it; the matrix must not."""

    def a(x, t):
        return 1 + torch.where((x[0] > 0.98) & (t > 0.5), 5.0, 0.0)

    problem = Problem(
        Interval(0.0, 1.0).over(0.0, 1.0),
        density=lambda x, v: v.value,
        flux=lambda x, t, v: a(x, t) * v.grad,
        boundary={"left": Dirichlet(0.0), "right": Neumann(1.0), "initial": Initial(0.0)},
    )
    d = TimeSlabs(problem, mesh(4, cells=400), "radau", 2)
    d.__dict__["_steady"] = True  # what a sample that missed it would say
    assert d.kronecker is None


def test_matrix_is_the_derivative_of_the_residual():
    for problem, scheme in ((heat(0.5), "radau"), (wave(), "gauss"), (elliptic(), "galerkin")):
        d = TimeSlabs(problem, mesh(2, cells=3), scheme, 2, 2)
        generator = torch.Generator().manual_seed(0)
        a, b = (torch.randn(d.size, generator=generator, dtype=torch.float64) for _ in range(2))
        change = (d.residual(a + b) - d.residual(a)).numpy()
        np.testing.assert_allclose(d.matrix(a) @ b.numpy(), change, atol=1e-10)


def test_galerkin_is_the_weak_form_of_simplices_too():
    """Both forms tested with the same bilinear function give the same number."""
    problem = elliptic()
    slab = mesh(3, cells=4)
    d = TimeSlabs(problem, slab, "galerkin", 1, 1)
    fe = FiniteElements(problem, slab.simplices, 1)
    v = {id(s): s.unknown_nodes @ [1.0, 2.0] for s in (d, fe)}
    one, other = (v[id(s)] @ (s.matrix(torch.zeros(s.size, dtype=torch.float64)) @ v[id(s)]) for s in (d, fe))
    assert one == pytest.approx(other, rel=1e-10)


def test_interpolation_between_layers_and_nodes():
    d = TimeSlabs(heat(0.0), mesh(3), "radau", 3, 3)
    values = d.unknown_nodes[:, 0] ** 3 * d.unknown_nodes[:, 1] ** 2
    x = np.random.default_rng(0).uniform(size=(50, 2))
    np.testing.assert_allclose(d.interpolate(values, x)[:, 0], x[:, 0] ** 3 * x[:, 1] ** 2, atol=1e-12)


def test_curved_sides_stay_curved():
    disk = Disk((0.0, 0.0), 1.0, name="rim")
    problem = Problem(
        disk.over(0.0, 1.0),
        density=lambda x, v: v.value,
        flux=lambda x, v: v.grad,
        boundary={"rim": Dirichlet(0.0), "initial": Initial(1.0)},
    )
    space = generate_mesh(disk, size=0.5)
    d = TimeSlabs(problem, SlabMesh(space, slab_times(0.0, 1.0, 2)), "radau", 1, 2)
    assert d.weights.sum() == pytest.approx(np.pi, rel=2e-3)  # the polygon of the same cells misses 5 %


def test_periodic_sides():
    """u_t + u_x = 0 carries a wave around."""
    problem = Problem(
        Interval(0.0, 1.0).over(0.0, 1.0),
        density=lambda x, v: v.value,
        source=lambda x, v: v.grad[0],
        boundary={"left": Periodic("right"), "initial": Initial(lambda x: torch.sin(2 * torch.pi * x[0]))},
    )
    d = TimeSlabs(problem, mesh(8, cells=8), "gauss", 3, 4)
    x = d.unknown_nodes
    error = linear_system(d).solution - np.sin(2 * np.pi * (x[:, 0] - x[:, 1]))
    assert np.abs(error).max() < 2e-4


SIDES = {"left": Dirichlet(0.0), "right": Dirichlet(0.0)}


@pytest.mark.parametrize("scheme", ["radau", "gauss"])
def test_time_as_a_coordinate_is_not_stepped_through(scheme):
    with pytest.raises(PcpinnError, match="steps through time, which is a coordinate") as caught:
        TimeSlabs(elliptic(), mesh(2), scheme, 2)
    assert "galerkin" in caught.value.remedy


def test_periodic_in_time_is_refused():
    problem = Problem(
        Interval(0.0, 1.0).over(0.0, 1.0, coordinate=True),
        flux=lambda x, v: v.grad,
        boundary=SIDES | {"initial": Periodic("final")},
    )
    with pytest.raises(PcpinnError, match="periodic in time"):
        TimeSlabs(problem, mesh(2), "galerkin", 2)


@pytest.mark.parametrize("scheme", ["radau", "gauss", "galerkin"])
def test_second_order_in_time_is_refused(scheme):
    problem = Problem(
        Interval(0.0, 1.0).over(0.0, 1.0),
        density=lambda x, v: v.dt,
        flux=lambda x, v: v.grad,
        boundary=SIDES | {"initial": Initial(0.0, rate=0.0)},
    )
    with pytest.raises(PcpinnError, match="second order in time") as caught:
        TimeSlabs(problem, mesh(2), scheme, 2)
    assert "u_t = v, v_t = ..." in caught.value.remedy


def test_fields_without_a_rate_need_initial_values_in_slabs():
    """Their values at the start are unknowns of the first slab, which no equation gives."""

    def problem(**start):
        return Problem(
            Interval(0.0, 1.0).over(0.0, 1.0),
            fields=(Field("u"), Field("w")),
            density=lambda x, u, w: (u.value, None),
            flux=lambda x, u, w: (-w.grad, u.grad),
            source=lambda x, u, w: (None, w.value),
            boundary={name: {"u": Dirichlet(0.0), "w": Dirichlet(0.0)} for name in SIDES} | {"initial": start},
        )

    u0 = Initial(lambda x: torch.sin(torch.pi * x[0]))
    with pytest.raises(PcpinnError, match="'w' has no initial value") as caught:
        TimeSlabs(problem(u=u0), mesh(2), "radau", 2)
    assert "march" in caught.value.remedy
    w0 = Initial(lambda x: -(torch.pi**2) * torch.sin(torch.pi * x[0]))
    d = TimeSlabs(problem(u=u0, w=w0), mesh(16), "radau", 2, 3)
    error = linear_system(d).solution - np.where(d.unknown_components, -(np.pi**2), 1) * np.sin(
        np.pi * d.unknown_nodes[:, 0]
    ) * np.exp(-(np.pi**4) * d.unknown_nodes[:, 1])
    assert np.abs(error[-d.layer_size :]).max() < 1e-3


@pytest.mark.parametrize("scheme", ["radau", "gauss"])
def test_a_density_of_gradients(scheme):
    """(u + u_x)_t = u_xx + f."""

    def exact(p):
        return torch.sin(torch.pi * p[0]) * torch.exp(-p[1])

    def f(p):  # d/dt (u + u_x) - u_xx
        return -exact(p) - grad(exact)(p)[0] + torch.pi**2 * exact(p)

    problem = Problem(
        Interval(0.0, 1.0).over(0.0, 1.0),
        density=lambda x, v: v.value + v.grad[0],
        flux=lambda x, v: v.grad,
        source=lambda x, t, v: -timed(f)(x, t),
        boundary=SIDES | {"initial": Initial(timed(exact))},
    )
    d = TimeSlabs(problem, mesh(4), scheme, 3, 4)
    expected = torch.vmap(exact)(torch.from_numpy(d.unknown_nodes)).numpy()
    assert np.abs(linear_system(d).solution - expected).max() < 1e-4
    with pytest.raises(PcpinnError, match="depends on a gradient"):
        TimeSlabs(problem, mesh(4), "galerkin", 3, 4)


def test_bad_slabs_are_refused():
    space = generate_mesh(Interval(0.0, 1.0), cells=(2,))
    for times in ([0.0], [0.0, 0.0], [1.0, 0.0], [0.0, np.nan]):
        with pytest.raises(PcpinnError, match="ascending"):
            SlabMesh(space, np.array(times))
    with pytest.raises(PcpinnError, match="space alone"):
        SlabMesh(generate_mesh(Interval(0.0, 1.0).over(0.0, 1.0), cells=(2,)), np.array([0.0, 1.0]))
    with pytest.raises(PcpinnError, match="order"):
        TimeSlabs(heat(0.0), mesh(2), "radau", 13)


def test_rectangle_over_time_has_named_sides():
    slab = SlabMesh(generate_mesh(Rectangle((0, 0), (1, 1)), cells=(2, 2)), slab_times(0.0, 1.0, 3))
    assert slab.boundary_names == ("bottom", "final", "initial", "left", "right", "top")
    assert slab.cell_count == 24
    assert len(slab.simplices.cells) == 72
    assert slab.simplices.has_time


def test_the_end_of_time_needs_no_condition(recwarn):
    TimeSlabs(wave(), mesh(2), "gauss", 2)
    assert not [w for w in recwarn if "final" in str(w.message)]
