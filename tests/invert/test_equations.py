"""F(u, c) and its derivatives, against finite differences and a manufactured solution."""

import numpy as np
import pytest

import pcpinn as pc
from pcpinn.invert.equations import Equations
from pcpinn.invert.settings import InverseSettings
from pcpinn.invert.setup import make_equations
from pcpinn.problem.family import Family
from pcpinn.solve.build import make_mesh


def equations(over_time: bool) -> Equations:
    square = pc.Rectangle((0, 0), (1, 1))

    def build(a, k):
        conditions = {
            "left": pc.Free(group="side"),
            "right": pc.Dirichlet(lambda x: a(x) * k[1] + x[1]),
            "top": pc.Neumann(lambda x: a(x) * k[0]),
            "bottom": pc.Robin(k[1], 1.0),
        }
        return pc.Problem(
            square.over(0, 1) if over_time else square,
            density=(lambda x, u: (1 + x[1]) * u.value) if over_time else None,
            flux=lambda x, u: a(x) * u.grad * (1 + u.value**2),
            source=lambda x, u: -k[0] * (1 + x[0]),
            boundary=conditions | ({"initial": pc.Free(group="start")} if over_time else {}),
        )

    family = Family(build, {"a": pc.Coefficient(), "k": pc.Parameter((1.0, 0.5))})
    more = {"time_scheme": "radau", "time_cells": 2, "time_order": 2} if over_time else {}
    settings = InverseSettings(cells=(3, 3), degree=2, **more)
    return make_equations(family, make_mesh(family.base, settings), settings)


@pytest.mark.parametrize("over_time", [False, True])
def test_all_derivatives_are_those_of_differences(over_time):
    F = equations(over_time)
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
    F = equations(True)
    x = F.discretisation.unknown_nodes[F.free]
    assert F.groups == ["side", "start"]
    start = x[F.group_of == 1]
    assert (start[:, 2] == 0).all()
    assert (x[:, 0] < 1).all()  # the right side is known, also at the start
    assert not F.residual(np.ones(F.size), np.ones((F.nodes_count, 3)))[F.free].any()
    assert F.has_equation.sum() == F.size - len(F.free)
