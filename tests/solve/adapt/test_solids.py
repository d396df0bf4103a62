"""Solids to an accuracy: degrees that rise, networks on the finer space, and plans of them on disk."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import pcpinn as pc
from pcpinn.checkpoint import Contents
from pcpinn.discretize.rough_sources import lost_work, seen_by_many
from pcpinn.discretize.unseen import coefficients
from pcpinn.discretize.wall_gaps import wall_gaps
from pcpinn.mesh.generate import generate_mesh
from pcpinn.mesh.mesh import Mesh
from pcpinn.mesh.refine import refined
from pcpinn.solve.adapt import inverses
from pcpinn.solve.adapt.accuracy import Trainer
from pcpinn.solve.adapt.degrees import raised
from pcpinn.solve.adapt.level import Elements
from pcpinn.solve.adapt.lifted import left, lifted
from pcpinn.solve.adapt.limits import Limits
from pcpinn.solve.adapt.plan_file import SteadyPlan
from pcpinn.solve.adapt.space import adapt
from pcpinn.solve.adapt.wish import Wish
from pcpinn.solve.method import METHODS
from pcpinn.solve.settings import resolve

HOLED = pc.Box((-1, -1, -1), (1, 1, 1), name="outer") - pc.Ball((0, 0, 0), 0.5, name="hole")
CUBE = pc.Box((0, 0, 0), (1, 1, 1))
ELEMENTS, RAISED = Elements(2, quadrature=5), Elements(3, quadrature=6)


def exact(x):
    return torch.cos(2 * x[0] + x[1]) + x[2] ** 2 * x[0]


def holed():
    """-Laplace u = f around a void, with the flux on the true sphere."""

    def flux(x):
        n = -x / x.norm()
        return torch.func.jacrev(exact)(-0.5 * n) @ n

    return pc.Problem(
        HOLED,
        lambda x, u: u.grad,
        lambda x, u: 2 * x[0] - 5 * torch.cos(2 * x[0] + x[1]),
        {"outer": pc.Dirichlet(exact), "hole": pc.Neumann(flux)},
        name="holed",
    )


@pytest.fixture(scope="module")
def planned():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inverses, "_FACTORS", 200)  # so that multigrid serves here, too
        mesh = generate_mesh(HOLED, size=1.0)
        return adapt(holed(), mesh, ELEMENTS, 1.5e-4, Limits(1e6), pc.Progress(), raised=RAISED)


def test_estimates_hold_against_the_truth(planned):
    level = planned.level
    x = level.fine.space.quadrature.x.reshape(-1, 3)
    known = torch.func.vmap(exact)(torch.from_numpy(x)).numpy()
    dx = level.fine.space.quadrature.dx.ravel()
    true = np.sqrt(dx @ (level.coarse.interpolate(level.u, x)[:, 0] - known) ** 2 / (dx @ known**2))
    assert planned.limited_by is None
    assert planned.estimate <= 1.5e-4
    assert 0.2 * planned.estimate < true < 1.5 * planned.estimate


def test_degrees_rise_and_walls_count(planned):
    assert planned.level.coarse.space.degree == 3
    assert planned.level.mesh.curved
    assert 0 < planned.gap < 0.5 * planned.estimate
    assert planned.history[0][1] > 0.05  # of a first mesh, which proves nothing


def levels_like(planned, count):
    """As if there were so many meshes, each of them as good as the last."""
    level = planned.level
    return [
        replace(level, coarse=Elements(3, quadrature=6).on(holed(), replace(level.mesh))) for _ in range(count - 1)
    ] + [level]


def test_finer_spaces_are_believed_from_two_earlier_meshes_on(planned):
    assert left(levels_like(planned, 2)) is None
    part = left(levels_like(planned, 3))
    assert 0 <= part < 0.01  # the finer solutions are the same


def test_networks_on_the_finer_space(planned):
    level = lifted(planned.level)
    assert level.coarse is level.fine
    assert level.coarse.space.degree == 4
    assert level.largest(level.errors) < 1e-12


def test_what_a_network_and_its_space_miss_add_up_by_squares(planned):
    plan = replace(planned, level=lifted(planned.level), rest=3e-4)
    found = resolve(METHODS.find("pcpinn"), False, {"accuracy": 1e-3})
    trainer = Trainer(holed(), Wish(found), plan, Limits(1e6), pc.Progress())
    size = float(np.sqrt(plan.level.fine.space.quadrature.dx.sum())) / plan.level.sizes[0]  # of the constant one

    def off(x):
        return torch.from_numpy(plan.level.fine.interpolate(plan.level.better, x.numpy())) + 4e-4 / size

    off.theta = torch.zeros(1, dtype=torch.float64)
    fields, training = trainer._errors(plan.level, SimpleNamespace(network=off))
    assert training == pytest.approx(4e-4, rel=1e-2)  # strips along walls count twice
    assert fields["u"] == pytest.approx(np.hypot(training, 3e-4) + plan.gap + trainer.unseen, rel=1e-6)


def test_plans_are_kept_with_their_degrees(planned, tmp_path):
    file = SteadyPlan(holed(), ELEMENTS)
    higher = replace(planned, level=lifted(planned.level), rest=1e-5)
    for plan in (planned, higher):
        tensors, facts = file.write(plan)
        back = file.read(Contents(tensors, facts), tmp_path)
        assert back.estimate == pytest.approx(plan.estimate, rel=1e-12)
        assert (back.rest, back.gap) == (plan.rest, plan.gap)
        assert (back.level.coarse is back.level.fine) == (plan is higher)
        assert back.level.coarse.space.quadrature_order == plan.level.coarse.space.quadrature_order
        np.testing.assert_array_equal(back.level.u, plan.level.u)


def test_plans_of_before_are_read(tmp_path):
    """They have no degree: that of the settings."""
    problem, mesh = with_source(lambda x: 1.0), generate_mesh(CUBE, cells=(2, 2, 2))
    plan = adapt(problem, mesh, ELEMENTS, 1.0, Limits(1e6), pc.Progress())
    file = SteadyPlan(problem, ELEMENTS)
    tensors, facts = file.write(plan)
    old = {k: v for k, v in facts.items() if k not in ("rest", "gap", "degree", "quadrature")}
    back = file.read(Contents(tensors, old), tmp_path)
    assert (back.estimate, back.level.coarse.space.degree) == (plan.estimate, 2)


def test_degrees_that_are_given_do_not_rise():
    problem = holed()
    for given, rises in (({}, True), ({"degree": 2}, False), ({"quadrature": 7}, False), ({"curved": False}, True)):
        wish = Wish(resolve(METHODS.find("pcpinn"), False, {"accuracy": 1e-2, **given}))
        assert (raised(problem, wish, ELEMENTS) is not None) == rises
    plane = pc.Problem(pc.Disk((0, 0), 1.0, name="rim"), problem.flux, problem.source, {"rim": pc.Dirichlet(0.0)})
    assert raised(plane, Wish(resolve(METHODS.find("pcpinn"), False, {"accuracy": 1e-2})), Elements(3)) is None


def with_source(f):
    sides = dict.fromkeys(CUBE.boundary_names, pc.Dirichlet(0.0))
    return pc.Problem(CUBE, lambda x, u: u.grad, lambda x, u: -f(x), sides)


def test_smooth_sources_that_turn_in_cells_are_measured():
    problem = with_source(lambda x: 1 + torch.sin(16 * x[0]))
    form = Elements(3, quadrature=7).on(problem, generate_mesh(CUBE, cells=(2, 2, 2)))
    cells = np.arange(form.mesh.cell_count)
    assert seen_by_many(coefficients(problem), form.space, cells).all()
    u = form.space.unknown_nodes.sum(axis=1)
    lost = lost_work(form, u, cells)
    finer = Elements(3, quadrature=14).on(problem, form.mesh)
    difference = _source_work(finer, u) - _source_work(form, u)
    expected = abs(difference.sum()) + np.linalg.norm(difference)
    assert expected > 1e-3
    assert lost == pytest.approx(expected, rel=0.1)


def _source_work(form, u):
    space = form.space
    x = torch.from_numpy(space.quadrature.x)
    f = -(1 + torch.sin(16 * x[..., 0])).numpy()
    phi, _ = space.tables[0]
    return (space.quadrature.dx * f * (u[space.scalar[0].cell_nodes] @ phi.T)).sum(axis=1)


def test_a_spike_between_all_points_is_not_taken_for_seen():
    problem = with_source(lambda x: 1 + 50 * torch.exp(-(((x[0] - 0.513) / 0.004) ** 2)))
    form = Elements(2, quadrature=5).on(problem, generate_mesh(CUBE, cells=(1, 1, 1)))
    seen = seen_by_many(coefficients(problem), form.space, np.arange(form.mesh.cell_count))
    assert not seen.all()


def test_fluxes_that_vary_inside_cells_are_not_eased():
    problem = pc.Problem(
        CUBE,
        lambda x, u: (1.1 + torch.sin(25 * x[0])) * u.grad,
        lambda x, u: -1.0,
        dict.fromkeys(CUBE.boundary_names, pc.Dirichlet(0.0)),
    )
    form = Elements(2, quadrature=5).on(problem, generate_mesh(CUBE, cells=(1, 1, 1)))
    assert not seen_by_many(coefficients(problem), form.space, np.arange(form.mesh.cell_count)).any()


def test_gaps_are_volumes_between_faces_and_walls():
    """Those of a hole fall as its faces come nearer; a convex wall's are what the domain lacks."""
    ball = pc.Ball((0, 0, 0), 1.0)
    mesh = generate_mesh(ball, size=0.4)
    space = Elements(1, quadrature=5).space(with_source(lambda x: 1.0), mesh)
    missing = 4 / 3 * np.pi - space.quadrature.dx.sum()
    assert wall_gaps(mesh, ball).sum() == pytest.approx(missing, rel=0.3)
    assert wall_gaps(refined(mesh, ball), ball).sum() < 0.2 * wall_gaps(mesh, ball).sum()
    flat = Mesh(mesh.nodes, mesh.vertices, mesh.boundaries)
    missing = 4 / 3 * np.pi - Elements(1, quadrature=5).space(with_source(lambda x: 1.0), flat).quadrature.dx.sum()
    assert wall_gaps(flat, ball).sum() == pytest.approx(missing, rel=0.3)
    assert not wall_gaps(mesh, None).any()
    assert not wall_gaps(generate_mesh(CUBE, cells=(2, 2, 2)), CUBE).any()
