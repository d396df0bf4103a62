"""Essential conditions: which degrees of freedom they fix, to what, and what they refuse."""

import numpy as np
import pytest
import torch
from cases import BOXES, grid

from pcpinn import Dirichlet, Field, Initial, Interval, Neumann, Periodic, Pin, Problem, Rectangle
from pcpinn.discretize.finite_differences import FiniteDifferences
from pcpinn.discretize.finite_elements import FiniteElements
from pcpinn.errors import PcpinnError
from pcpinn.mesh.generate import generate_mesh

SQUARE, TIME = Rectangle((0, 0), (1, 1)), Interval(0, 1).over(0, 1)
KINDS = {
    "fem1": lambda p, m: FiniteElements(p, m, 1),
    "fem2": lambda p, m: FiniteElements(p, m, 2),
    "fdm": FiniteDifferences,
}


def grad(x, *fields):
    return tuple(f.grad for f in fields)


def rest(given, domain=SQUARE):
    """Neumann(0) where nothing else is said."""
    partners = {c.partner for c in given.values() if isinstance(c, Periodic)}
    return given | {name: Neumann(0) for name in domain.boundary_names if name not in given and name not in partners}


def constraints(sides, kind="fem2", n=3, domain=SQUARE, mesh=None, **more):
    problem = Problem(domain, grad, boundary=sides, **more)
    discretisation = KINDS[kind](problem, mesh or grid(domain, n))
    return discretisation.constraints, discretisation


@pytest.mark.parametrize("kind", KINDS)
def test_dirichlet_fixes_the_nodes_of_its_side(kind):
    found, disc = constraints(rest({"left": Dirichlet(lambda x: 3 + x[1])}), kind)
    x = disc.unknown_nodes
    np.testing.assert_array_equal(found.constrained, np.flatnonzero(x[:, 0] == 0))
    np.testing.assert_allclose(found.value, 3 + x[found.constrained, 1])
    assert np.all(found.master == -1)
    assert len(found.free) + len(found.constrained) == disc.size
    np.testing.assert_array_equal(found.tested_at, np.arange(disc.size))


@pytest.mark.parametrize("kind", KINDS)
def test_the_later_side_wins_at_a_corner(kind):
    found, disc = constraints(rest({"left": Dirichlet(1.0), "bottom": Dirichlet(2.0)}), kind)
    corner = np.flatnonzero((disc.unknown_nodes == 0).all(1))
    assert found.value[found.constrained == corner] == 2.0


@pytest.mark.parametrize("kind", KINDS)
def test_periodic_nodes_follow_their_translates(kind):
    found, disc = constraints(rest({"left": Periodic("right")}), kind)
    x = disc.unknown_nodes
    np.testing.assert_array_equal(found.constrained, np.flatnonzero(x[:, 0] == 0))
    np.testing.assert_allclose(
        x[found.master] - x[found.constrained], np.tile([1.0, 0.0], (len(found.master), 1)), atol=1e-12
    )


@pytest.mark.parametrize("kind", KINDS)
def test_corners_of_a_torus_are_one_unknown(kind):
    found, disc = constraints({"left": Periodic("right"), "bottom": Periodic("top")}, kind)
    x = disc.unknown_nodes
    corners = np.flatnonzero(((x == 0) | (x == 1)).all(1))
    slaves = np.isin(found.constrained, corners)
    assert slaves.sum() == 3
    np.testing.assert_array_equal(x[found.master[slaves]], np.ones((3, 2)))
    assert not np.isin(found.master, found.constrained).any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", [("left", "top"), ("top", "left")])
def test_dirichlet_wins_over_periodic_on_both_ends(kind, order):
    both = {"left": Periodic("right"), "top": Dirichlet(lambda x: 5 + x[0] * (1 - x[0]))}
    found, disc = constraints(rest({name: both[name] for name in order}), kind)
    x = disc.unknown_nodes
    top = np.isin(found.constrained, np.flatnonzero(x[:, 1] == 1))
    assert np.all(found.master[top] == -1)
    np.testing.assert_allclose(found.value[top], 5 + x[found.constrained[top], 0] * (1 - x[found.constrained[top], 0]))
    assert np.all(found.master[~top] >= 0)


@pytest.mark.parametrize("side", [0.0, 1.0])
def test_a_pin_on_a_periodic_node_holds_for_its_translate(side):
    found, disc = constraints(rest({"left": Periodic("right")}), pins=[Pin((side, 0.5), 4.0)], n=2)
    x = disc.unknown_nodes[found.constrained[found.master == -1]]
    np.testing.assert_allclose(x[np.argsort(x[:, 0])], [[0, 0.5], [1, 0.5]])
    assert np.all(found.value[found.master == -1] == 4.0)
    assert not np.isin(found.master, found.constrained).any()


def test_a_pin_takes_the_nearest_node_of_its_field_and_component():
    fields = (Field("v", components=2, degree=2), Field("p", degree=1))
    pins = [Pin((0.4, 0.1), 7.0, "p"), Pin((0.9, 0.6), 8.0, "v", component=1)]
    found, disc = constraints(
        {name: {"p": Neumann(0)} for name in SQUARE.boundary_names}, n=2, fields=fields, pins=pins
    )
    at = {
        int(disc.unknown_components[i]): (disc.unknown_nodes[i].tolist(), v)
        for i, v in zip(found.constrained, found.value, strict=True)
    }
    assert at == {2: ([0.5, 0.0], 7.0), 1: ([1.0, 0.5], 8.0)}


def test_fields_keep_their_own_conditions():
    sides = {
        "left": {"u": Dirichlet(1.0)},
        "right": {"p": Dirichlet(2.0)},
        "top": {"u": Neumann(0)},
        "bottom": {"u": Neumann(0)},
    }
    found, disc = constraints(sides, fields=("u", Field("p", degree=1)))
    x, component = disc.unknown_nodes[found.constrained], disc.unknown_components[found.constrained]
    assert np.all(np.where(component == 0, x[:, 0] == 0, x[:, 0] == 1))
    np.testing.assert_array_equal(found.value, 1.0 + component)


def test_expansion():
    """T u + g satisfies the constraints whatever u, and leaves alone a u that does."""
    found, disc = constraints(rest({"left": Periodic("right"), "top": Dirichlet(2.0)}))
    T, g = found.expansion()
    u = T @ np.random.default_rng(0).normal(size=disc.size) + g
    slaves = found.master >= 0
    np.testing.assert_array_equal(u[found.constrained[slaves]], u[found.master[slaves]])
    assert np.all(u[found.constrained[~slaves]] == 2.0)
    np.testing.assert_array_equal(T @ u + g, u)


@pytest.mark.parametrize("kind", KINDS)
def test_second_order_in_time_is_tested_at_the_start_instead_of_the_end(kind):
    sides = {"left": Dirichlet(), "right": Dirichlet(), "initial": Initial(1.0, rate=2.0)}
    mesh = generate_mesh(TIME, cells=4, steps=4)
    found, disc = constraints(sides, kind, domain=TIME, mesh=mesh, density=lambda x, u: u.dt)
    x = disc.unknown_nodes
    moved = found.tested_at != np.arange(disc.size)
    np.testing.assert_array_equal(moved, x[:, 1] == 1)
    np.testing.assert_allclose(x[found.tested_at[moved]], x[moved] - [0, 1], atol=1e-12)
    inner = (x[found.constrained, 0] % 1 > 0) & (x[found.constrained, 1] == 0)
    assert np.all(found.value[inner] == 1.0)
    assert inner.any()


@pytest.mark.parametrize("kind", KINDS)
def test_a_pin_holds_at_all_times(kind):
    """A pin is given in space; the nodes above the one nearest to it take its value."""
    mesh = generate_mesh(TIME, cells=4, steps=3)
    sides = {"left": Neumann(0), "right": Neumann(0), "initial": Initial(0.0)}
    found, disc = constraints(
        sides, kind, domain=TIME, mesh=mesh, density=lambda x, u: u.value, pins=[Pin((0.45,), value=3.0)]
    )
    x = disc.unknown_nodes
    pinned = found.constrained[found.value == 3.0]
    np.testing.assert_array_equal(pinned, np.flatnonzero(x[:, 0] == 0.5))
    assert len(pinned) >= 4


@pytest.mark.parametrize(
    ("sides", "pins", "message"),
    [
        ({"left": Dirichlet(float("nan"))}, (), "Dirichlet value on 'left' is not finite"),
        ({"left": Dirichlet(lambda x: torch.log(x[0] - 1))}, (), r"not finite at x = \[0.0, "),
        ({"left": Periodic("top")}, (), "boundaries 'left' and 'top' do not match"),
        ({"left": Periodic("right"), "right": Periodic("left")}, (), "in a circle"),
        ({"left": Periodic("left")}, (), "in a circle"),
        ({"left": Neumann(0)}, [Pin((0.5,))], r"pin at \(0.5,\) has 1 coordinates"),
        ({"left": Neumann(0)}, [Pin((0.5, 0.5), component=3)], "component"),
    ],
)  # fmt: skip
def test_bad_conditions_are_refused(sides, pins, message):
    partners = {c.partner for c in sides.values() if isinstance(c, Periodic)}
    sides = {name: Neumann(0) for name in set(SQUARE.boundary_names) - partners} | sides
    with pytest.raises(PcpinnError, match=message) as caught:
        constraints(sides, mesh=grid(SQUARE, 3), pins=pins)
    assert caught.value.remedy


def test_sides_with_other_nodes_do_not_match():
    """A rectangle meshed 3 x 4: 'left' has 5 vertices, 'bottom' 4; and equal numbers at other places."""
    mesh = generate_mesh(SQUARE, cells=(3, 4))
    sides = {"left": Periodic("bottom"), "right": Neumann(0), "top": Neumann(0)}
    with pytest.raises(PcpinnError, match=r"do not match \(9 and 7 nodes\)") as caught:
        constraints(sides, mesh=mesh)
    assert "cells=" in caught.value.remedy
    mesh = grid(SQUARE, 4)
    moved = mesh.nodes.copy()
    on_left = (moved[:, 0] == 0) & (moved[:, 1] == 0.5)
    moved[on_left, 1] = 0.55
    with pytest.raises(PcpinnError, match=r"do not match \(9 and 9 nodes\)"):
        constraints(rest({"left": Periodic("right")}), mesh=type(mesh)(moved, mesh.cells, mesh.boundaries))


def test_boxes_of_all_dimensions():
    for dimension, domain in BOXES.items():
        found, disc = constraints(rest({"left": Dirichlet(1.0)}, domain), domain=domain, n=2)
        np.testing.assert_array_equal(found.constrained, np.flatnonzero(disc.unknown_nodes[:, 0] == 0))
        assert disc.mesh.dimension == dimension
