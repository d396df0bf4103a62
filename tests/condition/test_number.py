"""Condition numbers against theory."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from known_norms import (
    convection,
    heat,
    heat_norm,
    helmholtz,
    helmholtz_norm,
    poisson,
    wave,
    wave_norm,
)

from pcpinn import (
    Box,
    Dirichlet,
    Field,
    Initial,
    Interval,
    Neumann,
    Periodic,
    Pin,
    Problem,
    Rectangle,
    condition_number,
)
from pcpinn.catalog import find_entry
from pcpinn.errors import PcpinnError
from pcpinn.precondition import ILU, Jacobi

DISCRETE = [("fem", {"degree": 1}), ("fem", {"degree": 2}), ("fdm", {})]


@pytest.mark.parametrize("P", [0.5, 1.0, 3.0])
@pytest.mark.parametrize(
    ("method", "settings", "within"),
    [
        ("fem", {"cells": 20, "degree": 2}, 2e-6),
        ("fem", {"cells": 100, "degree": 1}, 2e-4),
        ("fdm", {"cells": 100}, 1e-4),
        ("neural", {"cells": 20}, 1e-5),
    ],
)
def test_four_over_p_squared(P, method, settings, within):
    found = condition_number(poisson(P), method, **settings)
    assert found.inverse_norm == pytest.approx(4 / P**2, rel=within)
    # u = sin(P x) / P^2, so that ||f|| / ||u|| = P^2
    assert found.ratio_f_u == pytest.approx(P**2, rel=3e-3)
    assert found.condition == pytest.approx(4, rel=3e-3)
    assert found.method == method
    assert found.relative
    assert found.linear


def test_the_worst_direction_is_half_a_wave():
    for method in ("fem", "fdm", "neural"):
        worst = condition_number(poisson(2.0), method, cells=40).worst
        x = worst.points[:, 0]
        np.testing.assert_allclose(worst.values[:, 0], np.sin(x) * np.sqrt(2 / np.pi), atol=2e-3)
        np.testing.assert_allclose(worst.function(np.array([[1.0]])), np.sin(1.0) * np.sqrt(2 / np.pi), atol=2e-3)


@pytest.mark.parametrize(("method", "settings"), DISCRETE)
@pytest.mark.parametrize(
    ("problem", "exact", "cells", "order"),
    [
        (poisson(1.0), 4.0, (10, 20, 40), 2),
        (helmholtz(), helmholtz_norm(), ((8, 8), (16, 16), (32, 32)), 2),
        (convection(2.0), 4 / np.pi, (16, 32, 64), 1),
        (wave(), wave_norm(), (8, 16, 32), 2),
        (heat(), heat_norm(), (8, 16, 32), 2),
    ],
    ids=["poisson", "helmholtz", "convection", "wave", "heat"],
)
def test_converges_under_refinement(problem, exact, cells, order, method, settings):
    errors = []
    for n in cells:
        more = {"steps": 2 * n} if "initial" in problem.domain.boundary_names else {}
        errors.append(abs(condition_number(problem, method, cells=n, **more, **settings).inverse_norm / exact - 1))
    if settings.get("degree") == 2:
        assert errors[-1] < 2e-4
    assert errors[-1] < 0.02
    assert errors[0] > 2.0 ** (2 * (order - 0.5)) * errors[-1] or errors[-1] < 1e-6


@pytest.mark.parametrize("scheme", ["radau", "gauss"])
@pytest.mark.parametrize("order", [1, 3])
def test_slabs_of_time(scheme, order):
    """Solved slab by slab; the value is that of the simplices."""
    n = 16 if order == 3 else 120
    found = condition_number(heat(), cells=16, steps=n, time="slabs", scheme=scheme, order=order)
    assert found.how == "slab by slab"
    assert found.inverse_norm == pytest.approx(heat_norm(), rel=2e-5 if order == 3 else 4e-3)


def test_both_ends_of_time():
    """-u_tt - u_xx = 1 on the unit square, by Galerkin's method in time."""
    square = Interval(0, 1).over(0, 1, coordinate=True)
    problem = Problem(
        square,
        flux=lambda x, u: u.grad,
        source=lambda x, u: -1.0,
        boundary=dict.fromkeys(square.boundary_names, Dirichlet(0.0)),
    )
    found = condition_number(problem, cells=8, steps=8, time="slabs", scheme="galerkin", order=2)
    assert found.inverse_norm == pytest.approx(1 / (2 * np.pi**2), rel=1e-4)


def test_three_dimensions_by_factors_and_by_multigrid(monkeypatch):
    box = Box((0, 0, 0), (1, 1, 1))
    problem = Problem(
        box, lambda x, u: u.grad, lambda x, u: -1.0, boundary=dict.fromkeys(box.boundary_names, Dirichlet(0.0))
    )
    values = {}
    for most in (10**6, 10):
        monkeypatch.setattr("pcpinn.condition.inverse.FACTORISED", {3: most})
        for method in ("fem", "fdm"):
            found = condition_number(problem, method, cells=(6, 6, 6), degree=2)
            values[method, found.how] = found.inverse_norm
            assert found.inverse_norm == pytest.approx(1 / (3 * np.pi**2), rel=0.1)
    for method in ("fem", "fdm"):
        assert values[method, "multigrid"] == pytest.approx(values[method, "sparse factors"], rel=1e-5)


@pytest.mark.parametrize("method", ["fem", "fdm", "neural"])
def test_the_scale_of_the_right_hand_side_has_no_say(method):
    one, many = (condition_number(poisson(1.0, f), method, cells=20) for f in (1.0, 1e6))
    assert many.condition == pytest.approx(one.condition, rel=1e-9)
    assert many.inverse_norm == pytest.approx(one.inverse_norm, rel=1e-9)
    assert many.norm_u == pytest.approx(1e6 * one.norm_u, rel=1e-9)


def test_the_scale_of_the_equation():
    """Twice the operator: half the inverse, the same relative condition."""

    def scaled(a):
        return Problem(
            Interval(0, 1, name="ends"),
            flux=lambda x, u: a * u.grad,
            source=lambda x, u: -a * torch.sin(3 * x[0]),
            boundary={"ends": Dirichlet(0.0)},
        )

    one, two = (condition_number(scaled(a), cells=20) for a in (1.0, 2.0))
    assert two.inverse_norm == pytest.approx(one.inverse_norm / 2)
    assert two.condition == pytest.approx(one.condition)


CUBIC = Problem(
    Interval(0, np.pi, name="ends"),
    flux=lambda x, u: u.grad,
    source=lambda x, u: u.value**3 - torch.sin(x[0]) - torch.sin(x[0]) ** 3,
    boundary={"ends": Dirichlet(0.0)},
)


def test_nonlinear_problems_are_linearised_at_the_solution():
    """-v'' + 3 sin(x)^2 v, by a spectral method of its own."""
    n = 60
    k = np.arange(1, n + 1)
    x = (np.arange(4000) + 0.5) * np.pi / 4000
    modes = np.sin(np.outer(k, x)) * np.sqrt(2 / np.pi)
    A = np.diag(k**2.0) + (modes * 3 * np.sin(x) ** 2) @ modes.T * np.pi / 4000
    exact = 1 / np.linalg.eigvalsh(A)[0]
    for method, settings in (("fem", {"cells": 30}), ("fdm", {"cells": 100}), ("neural", {"cells": 30})):
        found = condition_number(CUBIC, method, **settings)
        assert not found.linear
        assert found.inverse_norm == pytest.approx(exact, rel=1e-3)
        assert found.norm_u == pytest.approx(np.sqrt(np.pi / 2), rel=1e-3)


def test_nonlinear_problems_over_time_are_solved_in_steps():
    burgers = Problem(
        Interval(-1, 1).over(0, 0.5),
        density=lambda x, u: u.value,
        flux=lambda x, u: 0.1 * u.grad,
        source=lambda x, u: u.value * u.grad[0],
        boundary={
            "left": Dirichlet(0.0),
            "right": Dirichlet(0.0),
            "initial": Initial(lambda x: -torch.sin(torch.pi * x[0])),
        },
    )
    whole = condition_number(burgers, cells=20, steps=12, degree=2)
    for scheme, order in (("radau", 2), ("euler", 1), ("crank-nicolson", 1)):
        steps = condition_number(burgers, cells=20, steps=16, scheme=scheme, order=order, time="march", window=4)
        assert steps.inverse_norm == pytest.approx(whole.inverse_norm, rel=0.02)
        assert not steps.relative


@pytest.mark.parametrize(("method", "settings"), [*DISCRETE, ("neural", {})])
def test_periodic(method, settings):
    problem = Problem(
        Interval(0, 1), lambda x, u: u.grad, lambda x, u: 4 * u.value - 1.0, boundary={"left": Periodic("right")}
    )
    found = condition_number(problem, method, cells=20, **settings)
    assert found.inverse_norm == pytest.approx(0.25, rel=1e-5)
    assert found.condition == pytest.approx(1.0, rel=1e-5)


@pytest.mark.parametrize(("method", "settings"), DISCRETE)
def test_a_pin_that_chooses_a_constant_is_no_part_of_the_problem(method, settings):
    """-u'' with insulated ends: the first mode is cos(pi x), wherever the pin sits."""
    for at in (0.0, 0.3):
        problem = Problem(
            Interval(0, 1),
            lambda x, u: u.grad,
            lambda x, u: -torch.cos(np.pi * x[0]),
            boundary={"left": Neumann(0.0), "right": Neumann(0.0)},
            pins=[Pin((at,))],
        )
        found = condition_number(problem, method, cells=60, **settings)
        assert found.inverse_norm == pytest.approx(1 / np.pi**2, rel=1e-3)


def test_a_pin_that_fixes_a_value_stays():
    """u' = f with u pinned at the left end, instead of a Dirichlet condition there."""
    problem = Problem(
        Interval(0, 2),
        source=lambda x, u: u.grad[0] - 1.0,
        boundary={"left": Neumann(0.0), "right": Neumann(0.0)},
        pins=[Pin((0.0,))],
    )
    assert condition_number(problem, cells=40).inverse_norm == pytest.approx(4 / np.pi, rel=1e-2)


def stokes(n, pin=(0.0, 0.0)):
    square = Rectangle((0, 0), (1, 1))
    walls = {name: {"v": Dirichlet([0.0, 0.0])} for name in square.boundary_names}

    def flux(x, v, p):
        return v.grad - p.value * torch.eye(2, dtype=torch.float64), None

    def source(x, v, p):
        return torch.stack([-x[1], x[0]]), v.grad.trace()

    fields = (Field("v", 2), Field("p", lower=1))
    problem = Problem(square, flux, source, walls, fields, pins=[Pin(pin, field="p")])
    return condition_number(problem, cells=(n, n), degree=2)


def test_the_pressure_of_a_flow():
    """Bounded by the inverse square of the inf-sup constant, 1/2 - 1/pi of a square (as conjectured), wherever the pin is;
    slowly, since the worst pressures gather in the corners."""
    coarse, fine = stokes(4).inverse_norm, stokes(12).inverse_norm
    assert 2 < coarse < fine < 1 / (0.5 - 1 / np.pi)
    assert stokes(4, pin=(1.0, 0.5)).inverse_norm == pytest.approx(coarse, rel=1e-6)


def test_several_fields_have_names():
    worst = stokes(4).worst
    assert worst.names == ("v1", "v2", "p")
    assert worst.values.shape == (len(worst.points), 3)


def test_absolute_where_nothing_drives():
    """Laplace's equation with data on the boundary: f = 0."""
    problem = Problem(Interval(0, 1), lambda x, u: u.grad, boundary={"left": Dirichlet(0.0), "right": Dirichlet(1.0)})
    found = condition_number(problem, cells=20)
    assert not found.relative
    assert found.ratio_f_u is None
    assert found.norm_u == pytest.approx(np.sqrt(1 / 3), rel=1e-6)
    assert found.condition == found.inverse_norm == pytest.approx(1 / np.pi**2, rel=1e-4)


def test_a_right_hand_side_inside_the_flux():
    """-(u' - x^2 / 2)' = 0 is -u'' = -x."""
    problem = Problem(Interval(0, 1, name="ends"), lambda x, u: u.grad - x**2 / 2, boundary={"ends": Dirichlet(0.0)})
    assert condition_number(problem, cells=20).norm_f == pytest.approx(np.sqrt(1 / 3), rel=1e-6)


class TestPreconditioned:
    """Before and after."""

    def test_a_complete_factorisation_brings_it_to_one(self):
        for method in ("fem", "fdm"):
            found = condition_number(helmholtz(), method, "lu", cells=(12, 12))
            assert found.preconditioned.condition == pytest.approx(1, abs=1e-9)
            assert found.preconditioned.inverse_norm == pytest.approx(1, abs=1e-9)
            assert found.preconditioned.applied_error < 1e-9
            assert found.preconditioned.preconditioner == "lu"

    def test_lower_drop_tolerances_bring_it_down(self):
        values = [
            condition_number(helmholtz(10.0), "fem", "ilu", cells=(16, 16), drop_tolerance=drop, fill_factor=50)
            for drop in (1e-1, 1e-2, 1e-4)
        ]
        conditions = [v.preconditioned.condition for v in values]
        assert conditions[0] > conditions[1] > conditions[2] > 0.99
        assert values[0].preconditioned.settings["drop_tolerance"] == 0.1
        assert values[0].condition == values[1].condition

    def test_against_dense_algebra(self):
        found = condition_number(poisson(1.0), "fdm", Jacobi(), cells=30)
        n, h = 31, 2 * np.pi / 30
        A = sp.diags([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], [-1, 0, 1]).toarray() / h**2
        for k in (0, n - 1):
            A[k], A[:, k] = 0, 0
            A[k, k] = 1
        w = np.ones(n)
        w[[0, -1]] = 0.5  # cells at the ends are half as wide
        AinvP = np.linalg.inv(A) @ np.diag(np.diag(A))
        exact = np.linalg.norm(np.sqrt(w)[:, None] * AinvP / np.sqrt(w), 2)
        assert found.preconditioned.inverse_norm == pytest.approx(exact, rel=1e-4)

    def test_automatic(self):
        found = condition_number(heat(), "fem", "auto", cells=8, steps=8, time="slabs", scheme="radau")
        assert found.preconditioned.preconditioner == "time-order"
        assert found.preconditioned.condition == pytest.approx(1, rel=1e-3)

    def test_nonlinear(self):
        found = condition_number(CUBIC, "fem", ILU(1e-10), cells=20)
        assert found.preconditioned.condition == pytest.approx(1, rel=1e-6)

    def test_none_asked_for(self):
        assert condition_number(poisson(), cells=10).preconditioned is None


def test_record():
    found = condition_number(poisson(), "fem", "ilu", cells=10)
    data = found.to_dict()
    for key in ("condition", "inverse_norm", "ratio_f_u", "method", "dofs", "preconditioned"):
        assert key in data
    assert data["dofs"] == 21
    assert "worst" not in data
    worst = found.to_dict(direction=True)["worst"]
    assert len(worst["points"]) == len(worst["values"]) == 21


def test_picture(tmp_path):
    for k, found in enumerate((condition_number(poisson(), cells=10), condition_number(wave(), cells=6, steps=12))):
        assert found.worst.plot(tmp_path / f"{k}.png").stat().st_size > 5000


@pytest.mark.parametrize(
    ("call", "problem", "remedy"),
    [
        (partial(condition_number, poisson(), "dg"), "no method 'dg'", "fem, fdm, neural"),
        (partial(condition_number, poisson(), "fem", "magic"), "no preconditioner 'magic'", "ilu"),
        (partial(condition_number, poisson(), "neural", "ilu"), "no matrix", "fem"),
        (partial(condition_number, poisson(), cels=10), "no setting 'cels'", "cells"),
        (
            partial(
                condition_number,
                Problem(
                    Interval(0, 1),
                    lambda x, u: u.grad,
                    lambda x, u: -1.0,
                    boundary={"left": Neumann(0.0), "right": Neumann(0.0)},
                ),
            ),
            "singular",
            "pin",
        ),
        (
            partial(
                condition_number,
                Problem(
                    Rectangle((0, 0), (1, 1)) - Rectangle((0.5, 0.5), (2, 2)),
                    lambda x, u: u.grad,
                    lambda x, u: -1.0,
                    boundary={"left": Dirichlet(0.0)},
                ),
                "fdm",
            ),
            "cells",
            "",
        ),
    ],
    ids=["method", "preconditioner", "neural", "setting", "singular", "fdm"],
)
@pytest.mark.filterwarnings("ignore::pcpinn.PcpinnWarning")
def test_bad_input(call, problem, remedy):
    with pytest.raises(PcpinnError) as caught:
        call()
    assert problem in str(caught.value)
    assert remedy.lower() in caught.value.remedy.lower()


def test_a_wave_takes_the_steps_that_its_cells_ask_for():
    """With steps of a third of a cell, cubic elements have modes that grow; the value is that of shorter ones."""
    entry = find_entry("wave1d")
    coarse = condition_number(entry.problem(C=3.0), cells=(6,), steps=24, degree=3)
    fine = condition_number(entry.problem(C=3.0), cells=(6,), steps=192, degree=3)
    assert coarse.inverse_norm == pytest.approx(fine.inverse_norm, rel=0.05)
    assert 2.2 < coarse.inverse_norm < 2.6
