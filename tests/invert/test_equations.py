"""F(u, c) and its derivatives, against finite differences and a manufactured solution."""

import numpy as np
import pytest
from cases import chosen

import pcpinn as pc
from pcpinn.invert.equations import Equations
from pcpinn.invert.setup import make_equations
from pcpinn.problem.family import Family
from pcpinn.solve.build import make_mesh


def equations(way: str) -> Equations:
    """A nonlinear problem, steady or over time in slabs or simplices."""
    over_time, moving = way != "steady", way == "moving"
    square = pc.Rectangle((0, 0), (1, 1))

    def build(a, k):
        if moving:
            a, given = (lambda x: given(x, 0.0)), a
        conditions = {
            "left": pc.Free(group="side"),
            "right": pc.Dirichlet(lambda x: a(x) * k[1] + x[1]),
            "top": pc.Neumann(lambda x: a(x) * k[0]),
            "bottom": pc.Robin(k[1], 1.0),
        }
        return pc.Problem(
            square.over(0, 1) if over_time else square,
            density=(lambda x, u: (1 + k[1] * x[1]) * u.value) if over_time else None,
            flux=lambda x, u: a(x) * u.grad * (1 + u.value**2),
            source=lambda x, u: -k[0] * (1 + x[0]),
            boundary=conditions | ({"initial": pc.Free(group="start")} if over_time else {}),
        )

    family = Family(build, {"a": pc.Coefficient(over_time=moving), "k": pc.Parameter((1.0, 0.5))})
    more = {"steady": {}, "slabs": {"time": "slabs", "steps": 2, "order": 2}}
    settings = chosen(way != "steady", method="infer", cells=(3, 3), degree=2, **more.get(way, {"steps": 2}))
    return make_equations(family, make_mesh(family.base, settings), settings)


@pytest.mark.parametrize("way", ["steady", "slabs", "simplices", "moving"])
def test_all_derivatives_are_those_of_differences(way):
    F = equations(way)
    random = np.random.default_rng(0)
    u = random.normal(size=F.size)
    c = np.column_stack([1 + random.random(F.nodes_count), np.full(F.nodes_count, 1.2), np.full(F.nodes_count, 0.7)])
    tangent = F.linearise(u, c)
    np.testing.assert_allclose(tangent.residual, F.residual(u, c))
    h = 1e-6

    def difference(du, dc):
        return (F.residual(u + h * du, c + h * dc) - F.residual(u - h * du, c - h * dc)) / (2 * h)

    move = random.normal(size=F.size)
    free = np.zeros(F.size)
    free[F.free] = move[F.free]
    inner = move - free
    by_u = tangent.A @ inner
    by_u[F.free] = 0.0
    np.testing.assert_allclose(difference(inner, 0 * c), by_u, atol=1e-6)
    np.testing.assert_allclose(difference(free, 0 * c), tangent.by_free @ move[F.free], atol=1e-6)
    for k in range(3):
        dc = np.zeros_like(c)
        dc[:, k] = random.normal(size=len(c))
        np.testing.assert_allclose(difference(0 * u, dc), tangent.by_coefficients[k] @ dc[:, k], atol=1e-6)


def test_free_unknowns_are_those_that_nothing_prescribes():
    F = equations("slabs")
    x = F.discretisation.unknown_nodes[F.free]
    assert F.groups == ["side", "start"]
    start = x[F.group_of == 1]
    assert (start[:, 2] == 0).all()
    assert (x[:, 0] < 1).all()  # the right side is known, also at the start
    assert not F.residual(np.ones(F.size), np.ones((F.nodes_count, 3)))[F.free].any()
    assert F.has_equation.sum() == F.size - len(F.free)


def test_a_density_that_holds_a_moving_coefficient_is_refused():
    """Nodal values say nothing of its time derivative."""

    def build(a):
        return pc.Problem(
            pc.Interval(0, 1).over(0, 1),
            density=lambda x, t, u: a(x, t) * u.value,
            flux=lambda x, u: u.grad,
            boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0), "initial": pc.Initial(1.0)},
        )

    family = Family(build, {"a": pc.Coefficient(over_time=True)})
    settings = chosen(True, method="infer", cells=(3,), steps=3)
    with pytest.raises(pc.PcpinnError, match="the density depends on coefficient 'a'"):
        make_equations(family, make_mesh(family.base, settings), settings)
