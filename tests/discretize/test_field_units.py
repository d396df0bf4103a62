"""Units of fields: own sizes whatever they are measured in, what fits where a field vanishes; Newton's method sees each field."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

import pcpinn as pc
from pcpinn.discretize.discrete_equation import DiscreteEquation
from pcpinn.discretize.field_units import block_norms, fitting_ratios, units_of
from pcpinn.discretize.finite_elements import FiniteElements
from pcpinn.discretize.nonlinear import solve_newton
from pcpinn.discretize.window import MarchSpace
from pcpinn.mesh.generate import generate_mesh
from pcpinn.solve.adapt.stepping import march_discrete

BLOCKS = np.array([[3.0, 0.5], [2.0, 1.0]])
UNITS = [1e-25, 1.0, 1e25]


def blocks(unit):
    """Of a field of size one and another, with equations in units of their own."""
    return BLOCKS * np.array([1.0, 1 / unit]) * np.array([[1e7], [1e-9]])


@pytest.mark.parametrize("unit", UNITS)
def test_fields_count_by_their_own_sizes_whatever_their_units(unit):
    sizes = np.array([0.3, 4.0 * unit])
    assert units_of(sizes, fitting_ratios(blocks(unit)), pytest.fail).tolist() == sizes.tolist()


@pytest.mark.parametrize("unit", UNITS)
def test_what_rounding_leaves_of_zero_is_measured_beside_the_others(unit):
    ratios = fitting_ratios(blocks(unit))
    units = units_of(np.array([0.3, 1e-14 * unit]), ratios, lambda: ratios)
    assert units[0] == 0.3
    assert 0.03 * unit < units[1] < 3 * unit


def test_fields_that_have_nothing_to_do_with_each_other_are_not_compared_and_zero_alone_counts_as_one():
    ratios = fitting_ratios(np.diag([2.0, 3.0]))
    assert units_of(np.array([1e-20, 1e12]), ratios, lambda: ratios).tolist() == [1e-20, 1e12]
    assert units_of(np.array([0.0, 1e12]), ratios, lambda: ratios).tolist() == [1.0, 1e12]


def test_ratios_make_blocks_alike():
    exact = np.outer([1e3, 1e-8, 5.0], [1e-20, 7.0, 1e12])
    assert fitting_ratios(1 / exact)[:, 1] == pytest.approx(np.array([1e-20, 7.0, 1e12]) / 7.0, rel=1e-6)


def test_norms_of_blocks_leave_conditions_out():
    A = sp.csr_matrix(np.array([[1.0, 0, 0], [0, 3e-200, 4.0], [0, 0, 2e200]]))
    norms = block_norms(A, np.array([0, 0, 1]), np.array([False, True, True]))
    assert norms == pytest.approx(np.array([[3e-200, 4.0], [0.0, 2e200]]))


@pytest.mark.parametrize("over_time", [False, True])
@pytest.mark.parametrize("cells", [10, 160])
def test_what_measures_a_field_that_vanishes_does_not_grow_with_the_mesh(cells, over_time):
    """q = u' - 1: entries of a derivative are as large as the mesh is fine, and 0.02 beside slopes of 1 counted as 2e-4."""
    domain = pc.Interval(0, 1)
    problem = pc.Problem(
        domain.over(0, 1) if over_time else domain,
        fields=["u", "q"],
        density=(lambda x, u, q: (u.value, None)) if over_time else None,
        flux=lambda x, u, q: (u.grad, None),
        source=lambda x, u, q: (0.0, q.value - u.grad[0] + 1),
        boundary={
            **{side: {"u": pc.Dirichlet(lambda x: x[0])} for side in ("left", "right")},
            **({"initial": {"u": pc.Initial(lambda x: x[0])}} if over_time else {}),
        },
    )
    mesh = generate_mesh(domain, cells=[cells])
    if over_time:
        space = MarchSpace(problem, mesh, (0.0, 1.0), 3)
        ratios = space.smooth_ratios(1.0, torch.zeros(space.size, dtype=torch.float64))
    else:
        form = FiniteElements(problem, mesh, 3)
        ratios = DiscreteEquation(form).smooth_ratios(np.zeros(form.size))
    assert 1 < ratios[1, 0] < 20  # about 2 pi, of a wave


@pytest.mark.parametrize("over_time", [False, True])
def test_newtons_method_goes_on_until_the_smallest_field_has_converged(over_time):
    domain = pc.Interval(0, 1, name="ends")  # -u'' + 50 u^3 = f beside a linear field that is 1e12 times as large
    exact = lambda x: torch.sin(torch.pi * x[0]) + x[0]  # noqa: E731
    problem = pc.Problem(
        domain.over(0, 0.5) if over_time else domain,
        fields=["u", "w"],
        density=(lambda x, u, w: (u.value, w.value)) if over_time else None,
        flux=lambda x, u, w: (u.grad, w.grad),
        source=lambda x, u, w: (
            50 * u.value**3 - torch.pi**2 * torch.sin(torch.pi * x[0]) - 50 * exact(x) ** 3,
            -1e13,
        ),
        boundary={
            "ends": {"u": pc.Dirichlet(exact), "w": pc.Dirichlet(0.0)},
            **({"initial": {"u": pc.Initial(lambda x: x[0]), "w": pc.Initial(0.0)}} if over_time else {}),
        },
    )
    mesh = generate_mesh(domain, cells=[10])
    if over_time:
        found = march_discrete(MarchSpace(problem, mesh, (0.0, 0.5), 3), "radau", 3, np.linspace(0, 0.5, 3))
        space, u = found.space.form.space, found.values[-1]
    else:
        elements = FiniteElements(problem, mesh, 3)
        space, u = elements.space, solve_newton(DiscreteEquation(elements))
    x = torch.from_numpy(space.unknown_nodes[space.unknown_components == 0]).T
    assert u[space.unknown_components == 0] == pytest.approx(exact(x).numpy(), abs=1e-2)
