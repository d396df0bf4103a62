"""Adaptive discretisations: what is refined, what is estimated, and what is made of it."""

import numpy as np
import pytest
import torch
from over_time import ring

import pcpinn as pc
from pcpinn.discretize.discrete_equation import DiscreteEquation
from pcpinn.discretize.finite_elements import FiniteElements
from pcpinn.discretize.nonlinear import solve_newton
from pcpinn.discretize.pseudo_time import solve_pseudo_time
from pcpinn.discretize.transfer import prolongation, slopes, squares
from pcpinn.errors import PcpinnError
from pcpinn.mesh.generate import generate_mesh
from pcpinn.problem.first_order import first_order
from pcpinn.progress import Progress
from pcpinn.solve.adapt.inverses import Inverses
from pcpinn.solve.adapt.level import Elements, Level, marked
from pcpinn.solve.adapt.limits import Limits
from pcpinn.solve.adapt.marches import Steps
from pcpinn.solve.adapt.space import adapt, discrete_solution
from pcpinn.solve.adapt.steps import adapt_march
from pcpinn.solve.adapt.trust import FIRST_TRUST, LEAST_TRUST, trust

PI = torch.pi


def corner(x):
    r, angle = torch.sqrt(x[0] ** 2 + x[1] ** 2), torch.atan2(x[1], x[0])
    angle = torch.where(angle < -1e-12, angle + 2 * PI, angle)
    return torch.where(r > 0, r, 1.0) ** (2 / 3) * torch.sin(2 * angle / 3) * (r > 0)


def l_shape():
    domain = pc.Polygon([(0, 0), (1, 0), (1, 1), (-1, 1), (-1, -1), (0, -1)], names=["a", "b", "b", "b", "b", "a"])
    boundary = {"a": pc.Dirichlet(0.0), "b": pc.Dirichlet(corner)}
    return pc.Problem(domain, flux=lambda x, u: u.grad, boundary=boundary)


def layer(eps=1e-3):
    return pc.Problem(
        pc.Interval(0, 1),
        flux=lambda x, u: eps * u.grad,
        source=lambda x, u: u.grad[0] - 1,
        boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)},
    )


def test_an_l_shape_needs_five_times_fewer_degrees_of_freedom_than_even_refinement():
    problem, points = l_shape(), np.random.default_rng(0).uniform(-1, 1, (3000, 2))
    points = points[problem.domain.contains(points)]
    exact = torch.vmap(corner)(torch.as_tensor(points)).numpy()

    def error(discretisation, u):
        return np.linalg.norm(discretisation.interpolate(u, points)[:, 0] - exact) / np.linalg.norm(exact)

    found = adapt(problem, generate_mesh(problem.domain, size=0.5), Elements(3), 2e-4, Limits(60), Progress())
    assert found.limited_by is None
    true = error(found.level.coarse, found.level.u)
    assert 0.5 < found.estimate / true < 2
    even = FiniteElements(problem, generate_mesh(problem.domain, size=0.06), 3)
    assert even.size > 5 * found.level.coarse.size
    assert error(even, solve_newton(DiscreteEquation(even))) > true


def test_a_layer_is_found_by_the_estimate_alone():
    found = adapt(layer(), generate_mesh(pc.Interval(0, 1), cells=20), Elements(3), 3e-4, Limits(60), Progress())
    nodes = found.level.mesh.nodes[:, 0]
    assert np.diff(np.sort(nodes)).min() < 2e-3
    assert found.level.mesh.cell_count < 60  # cells were added at the wall alone
    x = np.linspace(0, 1, 5001)[:, None]
    exact = x[:, 0] - np.exp((x[:, 0] - 1) / 1e-3)
    true = np.linalg.norm(found.level.coarse.interpolate(found.level.u, x)[:, 0] - exact) / np.linalg.norm(exact)
    assert true < 3e-4


@pytest.mark.parametrize(("k", "limited"), [(PI, "ill-posedness"), (0.9 * PI, None)])
def test_a_resonance_is_named_and_what_is_near_one_is_solved(k, limited):
    problem = pc.Problem(
        pc.Interval(0, 1, name="ends"),
        flux=lambda x, u: u.grad,
        source=lambda x, u: -(k**2) * u.value - 1,
        boundary={"ends": pc.Dirichlet(0.0)},
    )
    mesh = generate_mesh(problem.domain, cells=[3])
    assert adapt(problem, mesh, Elements(2), 1e-6, Limits(20), Progress()).limited_by == limited


def test_a_jump_inside_cells_lowers_the_trust():
    """Higher degrees do not see a kink inside a cell; what earlier levels missed says so."""
    problem = pc.Problem(
        pc.Rectangle((-1, -1), (1, 1), name="w"),
        flux=lambda x, u: torch.where(x[0] ** 2 + x[1] ** 2 < 0.16, 1000.0, 1.0) * u.grad,
        boundary={"w": pc.Dirichlet(lambda x: x[0])},
    )
    found = adapt(problem, generate_mesh(problem.domain, size=0.25), Elements(3), 1.2e-2, Limits(60), Progress())
    assert found.trust < 0.7


def test_trust_is_the_least_part_that_earlier_levels_saw():
    levels = [
        {"size": s, "seen": e, "true": t}
        for s, e, t in ((10, 1.0, 1.0), (20, 0.5, 0.5), (80, 0.1, 0.4), (100, 0.05, 0))
    ]

    def found(*which):
        return trust([levels[k] for k in which], lambda v: v["size"], lambda v: v["seen"], lambda v: v["true"])

    assert found(0) == LEAST_TRUST
    assert found(0, 1) == 1.0
    assert found(0, 1, 2, 3) == pytest.approx(0.25)


def test_marked_cells_carry_the_bulk():
    chosen = marked(np.array([1.0, 5.0, 0.0, 4.0]), 0.7)
    assert chosen.tolist() == [False, True, False, True]


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_prolongation_squares_and_slopes(dimension):
    shape = {1: pc.Interval(0, 2), 2: pc.Rectangle((0, 0), (2, 1)), 3: pc.Box((0, 0, 0), (2, 1, 1))}[dimension]
    problem = pc.Problem(shape, flux=lambda x, u: u.grad, source=lambda x, u: u.value,
                         boundary={n: pc.Neumann(0.0) for n in shape.boundary_names})  # fmt: skip
    mesh = generate_mesh(shape, size=0.5)
    coarse, fine = FiniteElements(problem, mesh, 2), FiniteElements(problem, mesh, 3)
    u = coarse.space.scalar[0].nodes[:, 0] ** 2
    up = prolongation(coarse.space, fine.space)
    np.testing.assert_allclose(up @ u, fine.space.scalar[0].nodes[:, 0] ** 2, atol=1e-12)
    down = prolongation(fine.space, coarse.space)
    np.testing.assert_allclose(down @ (up @ u), u, atol=1e-12)
    assert squares(fine.space, up @ u).sum() == pytest.approx(2**5 / 5)
    assert slopes(fine.space, up @ u)[0] == pytest.approx([np.sqrt(4 * 2**3 / 3)] + [0.0] * (dimension - 1), abs=1e-6)


def test_pseudo_time_finds_what_newton_does_not():
    """A front of width 0.03 between two wells of unequal depth, from a constant: Newton's corrections do not fall."""
    problem = pc.Problem(
        pc.Interval(0, 1),
        flux=lambda x, u: 0.001 * u.grad,
        source=lambda x, u: u.value**3 - u.value - 0.2,
        boundary={"left": pc.Dirichlet(-1.0), "right": pc.Dirichlet(1.0)},
    )
    equation = DiscreteEquation(FiniteElements(problem, generate_mesh(pc.Interval(0, 1), cells=60), 2))
    with pytest.raises(PcpinnError, match="did not converge"):
        solve_newton(equation, np.full(equation.size, 0.3))
    u = solve_pseudo_time(equation, np.full(equation.size, 0.3))
    assert u is not None
    assert np.abs(equation.residual(u)).max() < 1e-9
    assert u.min() >= -1.001
    assert u.max() == pytest.approx(1.088034, abs=1e-5)  # the root of u^3 - u = 0.2


@pytest.mark.parametrize("load", [1e-6, 1.0, 1e6])
def test_an_equation_without_a_linear_part_is_begun_elsewhere(load):
    """(|u'|^2 u')' = -load: nothing is left of it at u = 0; the truth is (3/4) load^(1/3) (1 - |x|^(4/3))."""
    problem = pc.Problem(
        pc.Interval(-1, 1),
        flux=lambda x, u: u.grad[0] ** 2 * u.grad,
        source=lambda x, u: -load,
        boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)},
    )
    discretisation = FiniteElements(problem, generate_mesh(pc.Interval(-1, 1), cells=100), 2)
    u, x = discrete_solution(discretisation, None), discretisation.unknown_nodes[:, 0]
    exact = 0.75 * load ** (1 / 3) * (1 - np.abs(x) ** (4 / 3))
    np.testing.assert_allclose(u, exact, atol=2e-3 * exact.max())


def wave(boundary):
    return pc.Problem(
        pc.Interval(0, 1).over(0, 1), density=lambda x, u: u.dt, flux=lambda x, u: u.grad, boundary=boundary
    )


def test_steps_follow_a_wave_written_with_second_derivatives():
    sides = {"left": pc.Dirichlet(lambda x, t: torch.sin(t)), "right": pc.Dirichlet(lambda x, t: torch.sin(t - 1))}
    start = {"initial": pc.Initial(lambda x: torch.sin(-x[0]), rate=lambda x: torch.cos(-x[0]))}
    problem = first_order(wave(sides | start))
    assert [f.name for f in problem.unknowns] == ["u", "u_rate"]
    assert problem.unknowns[1].auxiliary
    steps = Steps("radau", 3, np.linspace(0, 1, 3))
    mesh = generate_mesh(pc.Interval(0, 1), cells=6)
    found = adapt_march(problem, mesh, Elements(2), steps, (1e-4, 1e-4), Limits(60), Progress())
    base = found.level.base
    for t in (0.3, 0.77, 1.0):
        u = base.space.form.space.interpolate(base.at(np.array([t]))[0], np.linspace(0, 1, 50)[:, None])
        np.testing.assert_allclose(u[:, 0], np.sin(t - np.linspace(0, 1, 50)), atol=3e-4)
        np.testing.assert_allclose(u[:, 1], np.cos(t - np.linspace(0, 1, 50)), atol=3e-3)


def test_natural_conditions_of_a_wave_go_with_its_equation():
    """An end that radiates, u_t + u_x = 0 at the right: the wave leaves."""
    sides = {"left": pc.Dirichlet(0.0), "right": pc.Natural(lambda x, n, u: -u.dt)}
    bump = pc.Initial(lambda x: torch.exp(-100 * (x[0] - 0.5) ** 2), rate=0.0)
    problem = first_order(wave(sides | {"initial": bump}))
    assert set(problem.conditions["right"]) == {"u_rate"}
    steps = Steps("radau", 3, np.linspace(0, 1, 9))
    found = adapt_march(
        problem, generate_mesh(pc.Interval(0, 1), cells=20), Elements(3), steps, (1e-2, 1e-2), Limits(60), Progress()
    )
    base = found.level.base
    x = np.linspace(0.55, 1, 40)
    u = base.space.form.space.interpolate(base.at(np.array([1.0]))[0], x[:, None])[:, 0]
    exact = -0.5 * np.exp(-100 * (x - 0.5) ** 2)  # half went left and came back with its sign changed, half has left
    np.testing.assert_allclose(u, exact, atol=2e-2)


def test_a_sudden_start_shortens_the_first_steps():
    problem = pc.Problem(
        pc.Interval(0, 1).over(0, 0.2),
        density=lambda x, u: u.value,
        flux=lambda x, u: u.grad,
        boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0), "initial": pc.Initial(1.0)},
    )
    steps = Steps("radau", 3, np.linspace(0, 0.2, 5))
    found = adapt_march(
        problem, generate_mesh(pc.Interval(0, 1), cells=10), Elements(3), steps, (2e-3, 2e-3), Limits(60), Progress()
    )
    lengths = np.diff(found.steps.times)
    assert lengths[0] < 0.05 * lengths[-1]


def test_fields_without_a_rate_need_no_short_first_steps():
    """Their values at the start are those of the first step, continued; all steps stay of one length."""
    problem = ring()
    mesh = generate_mesh(problem.domain.shape, cells=(8,), periodic=problem.periodic_pairs)
    steps = Steps("radau", 3, np.linspace(0, 1, 9))
    found = adapt_march(problem, mesh, Elements(3), steps, (1e-3, 1e-3), Limits(60), Progress())
    assert np.ptp(np.diff(found.steps.times)) < 1e-12
    start = found.level.finest.at(np.zeros(1))[0]
    space = found.level.space
    of_w = space.unknown_components == 1
    bend = -((2 * np.pi) ** 2) * np.sin(2 * np.pi * space.unknown_nodes[of_w, 0])
    assert np.linalg.norm(start[of_w] - bend) < 2e-3 * np.linalg.norm(bend)


@pytest.mark.parametrize(("target", "trusted"), [(1e-4, FIRST_TRUST), (0.1, LEAST_TRUST)])
def test_a_single_level_is_trusted_only_where_nothing_can_be_claimed_by_it(target, trusted):
    problem = ring()
    mesh = generate_mesh(problem.domain.shape, cells=(4,), periodic=problem.periodic_pairs)
    steps = Steps("radau", 3, np.linspace(0, 1, 3))
    no_memory = Limits(60, memory=1e-9)
    found = adapt_march(problem, mesh, Elements(2), steps, (target, target), no_memory, Progress())
    assert (len(found.history), found.limited_by) == (1, "memory")
    assert found.trust == trusted


def test_contributions_of_cells_do_not_depend_on_units():
    """With a conductivity of 1e11 rows of conditions, which are no equations, have other units than those of the PDE."""
    parts = []
    for k in (1.0, 1e11):
        problem = pc.Problem(
            pc.Rectangle((0, 0), (1, 1), name="w"),
            flux=lambda x, u, k=k: k * u.grad,
            source=lambda x, u, k=k: -k * torch.exp(-50 * ((x[0] - 0.4) ** 2 + (x[1] - 0.6) ** 2)),
            boundary={"w": pc.Dirichlet(lambda x: x[0] ** 2)},
        )
        mesh, elements = generate_mesh(problem.domain, cells=(6, 6)), Elements(2)
        forms = elements.on(problem, mesh), elements.finer(problem, mesh)
        u, better = (solve_newton(DiscreteEquation(form)) for form in forms)
        found = Level(forms[0], u, forms[1], better, Inverses(forms[1])).indicators()
        parts.append(found / found.sum())
    np.testing.assert_allclose(parts[1], parts[0], atol=1e-6)
