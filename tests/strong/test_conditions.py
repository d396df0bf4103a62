import numpy as np
import pytest
import torch
from cases import BOXES, boundary, general, grid, wavy
from known import Known

from pcpinn import Dirichlet, Field, Free, Initial, Interval, Neumann, Periodic, Pin, Problem, Rectangle, Robin
from pcpinn.mesh.generate import generate_mesh
from pcpinn.strong.conditions import condition_terms
from pcpinn.strong.form import EqualSides, PrescribedFlux, PrescribedValues

WEIGHT = 4.0


def terms(problem, mesh=None, spacing=0.1):
    mesh = mesh or grid(problem.domain, 4)
    like = torch.zeros((), dtype=torch.float64)
    return condition_terms(problem, mesh, spacing, WEIGHT, like, np.random.default_rng(0))


def mismatch(problem, *functions, **options):
    """Sum of squares of all conditions for a known function."""
    return sum(float((t.residual(Known(*functions)) ** 2).sum().detach()) for t in terms(problem, **options))


def shifted(function, by=0.5):
    return lambda x: function(x) + by


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("kind", ["dirichlet", "neumann", "robin", "natural"])
def test_exact_solution_satisfies_every_condition(kind, d):
    case = general(d)
    problem = case.problem(boundary(case, kind))
    assert mismatch(problem, *case.exact, spacing=0.3) < 1e-22
    assert mismatch(problem, shifted(case.exact[0]), spacing=0.3) > 0.1


@pytest.mark.parametrize(
    ("condition", "expected"),
    [(Dirichlet(1.0), 0.25), (Neumann(0.0), 0.0), (Robin(3.0, 3.0), 2.25), (Neumann(0.2), 0.04)],
)
def test_size_of_a_mismatch(condition, expected):
    """u = 1.5 everywhere; the other sides have Dirichlet(1.5)."""
    sides = dict.fromkeys(("left", "bottom", "top"), Dirichlet(1.5))
    problem = Problem(BOXES[2], flux=lambda x, u: u.grad, boundary=sides | {"right": condition})
    assert mismatch(problem, lambda x: 1.5 + 0 * x[0]) == pytest.approx(WEIGHT * expected)


def test_means_do_not_depend_on_the_number_of_points():
    problem = Problem(BOXES[2], flux=lambda x, u: u.grad, boundary=dict.fromkeys(BOXES[2].boundary_names, Dirichlet(0)))
    for spacing in (0.2, 0.02):
        assert mismatch(problem, lambda x: 2 + 0 * x[0], spacing=spacing) == pytest.approx(4 * 4 * WEIGHT)


def test_prescribed_values_are_one_term_and_no_flux_is_computed():
    problem = Problem(BOXES[2], flux=lambda x, u: u.grad, boundary=dict.fromkeys(BOXES[2].boundary_names, Dirichlet(0)))
    (only,) = terms(problem)
    assert isinstance(only, PrescribedValues)
    assert only.size == len(only.x) == 36


def test_periodic_compares_value_and_flux():
    case = general(2, exact=wavy, periodic=True)
    problem = case.problem(boundary(case, "periodic"))
    assert mismatch(problem, *case.exact) < 1e-22
    assert [type(t) for t in terms(problem)] == [PrescribedValues, EqualSides]
    flat = Problem(
        BOXES[2], flux=lambda x, u: u.grad, boundary={"left": Periodic("right"), "top": Free(), "bottom": Free()}
    )
    assert mismatch(flat, lambda x: 2 * x[0]) == pytest.approx(WEIGHT * 4)  # the value jumps by 2, the flux does not
    assert mismatch(flat, lambda x: x[0] * (1 - x[0])) == pytest.approx(WEIGHT * 4)  # and the other way round


def test_the_start_of_a_wave_has_value_and_rate_and_its_end_nothing():
    domain = Interval(0, 1).over(0, 1)
    problem = Problem(
        domain,
        density=lambda x, u: u.dt,
        flux=lambda x, u: u.grad,
        boundary={
            "initial": Initial(lambda x: x[0], rate=2.0),
            **dict.fromkeys(("left", "right"), Dirichlet(lambda x, t: x[0] + 2 * t)),
        },
    )
    mesh = generate_mesh(domain, cells=(3,), steps=3)
    assert mismatch(problem, lambda x: x[0] + 2 * x[1], mesh=mesh) < 1e-22
    # u_t wrong by 1 at the start, u by t at the ends: 1 + 2 * mean of t^2
    assert mismatch(problem, lambda x: x[0] + 3 * x[1], mesh=mesh, spacing=0.001) == pytest.approx(
        WEIGHT * (1 + 2 / 3), rel=0.05
    )
    values, flux = terms(problem, mesh=mesh)
    assert isinstance(flux, PrescribedFlux)
    assert values.size == 30


def test_silence_is_natural():
    problem = Problem(BOXES[2], flux=lambda x, u: u.grad, boundary={"left": Dirichlet(0.0)})
    assert mismatch(problem, lambda x: 3 * x[0]) == pytest.approx(WEIGHT * 9)  # flux through the right side


def test_free_component_is_natural():
    fields = Field("u", components=2)
    sides = dict.fromkeys(("left", "top", "bottom"), Neumann(0.0)) | {"right": Dirichlet([None, 0.0])}
    problem = Problem(BOXES[2], flux=lambda x, u: u.grad, boundary=sides, fields=fields)
    assert mismatch(problem, lambda x: torch.stack([7 + 0 * x[0], 0 * x[0]])) == pytest.approx(0.0)
    assert mismatch(problem, lambda x: torch.stack([7 + 0 * x[0], 1 + 0 * x[0]])) == pytest.approx(WEIGHT)
    # flux of the first component through left and right
    assert mismatch(problem, lambda x: torch.stack([x[0], 0 * x[0]])) == pytest.approx(2 * WEIGHT)


def test_pins_fix_a_component_of_a_field():
    fields = [Field("v", components=2), Field("p")]
    sides = {name: {"v": Neumann(0.0), "p": Neumann(0.0)} for name in BOXES[2].boundary_names}
    pin = Pin(at=(0.5, 0.25), value=1.0, field="p")
    problem = Problem(BOXES[2], lambda x, v, p: (v.grad, p.grad), boundary=sides, fields=fields, pins=[pin])
    values = terms(problem)[0]
    assert values.component.tolist() == [2]
    assert values.x.tolist() == [[0.5, 0.25]]
    assert mismatch(problem, lambda x: torch.stack([0 * x[0], 0 * x[0]]), lambda x: 3 + 0 * x[0]) == pytest.approx(16.0)


def test_pins_over_time_hold_at_all_times():
    domain = Interval(0, 1).over(0, 2)
    sides = {"left": Neumann(0.0), "right": Neumann(0.0)}
    problem = Problem(domain, flux=lambda x, u: u.grad, boundary=sides, pins=[Pin(at=(0.25,), value=1.0)])
    mesh = generate_mesh(domain, cells=(3,), steps=3)
    values = terms(problem, mesh=mesh)[0]
    assert set(values.x[:, 0].tolist()) == {0.25}
    assert values.x[:, 1].min() == 0
    assert values.x[:, 1].max() == 2
    assert values.size > 5
    # wrong by t: the mean of t^2 over (0, 2)
    assert mismatch(problem, lambda x: 1 + x[1], mesh=mesh, spacing=0.001) == pytest.approx(WEIGHT * 4 / 3, rel=0.01)


def test_fields_with_different_conditions_on_one_boundary():
    fields = [Field("v"), Field("p")]
    sides = {name: {"v": Dirichlet(1.0), "p": Neumann(0.0)} for name in BOXES[2].boundary_names}
    problem = Problem(Rectangle((0, 0), (1, 1)), lambda x, v, p: (v.grad, p.grad), boundary=sides, fields=fields)
    assert mismatch(problem, lambda x: 1 + 0 * x[0], lambda x: 5 + 0 * x[0]) == pytest.approx(0.0)
    assert mismatch(problem, lambda x: 2 + 0 * x[0], lambda x: x[0]) == pytest.approx(WEIGHT * (4 + 2))
