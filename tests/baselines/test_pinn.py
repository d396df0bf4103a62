import numpy as np
import pytest
import torch
from cases import BOXES, boundary, chosen, general, grid

from pcpinn import Dirichlet, PcpinnError, Periodic, Problem, Robin, load
from pcpinn.baselines import solve_pinn
from pcpinn.baselines.fem_fit import fit_loss
from pcpinn.baselines.pinn import strong_loss
from pcpinn.catalog import find_entry
from pcpinn.discretize.finite_elements import FiniteElements
from pcpinn.discretize.system import linear_system
from pcpinn.solve.build import make_network

SMALL = {"width": 12, "depth": 2, "features": "none", "optimiser": "adam", "learning_rate": 1e-2}


@pytest.fixture(scope="module")
def system():
    case = general(2)
    return linear_system(FiniteElements(case.problem(boundary(case, "robin")), grid(case.domain, 3)))


def make(system, **changes):
    settings = chosen(method="pinn", **{**SMALL, "collocation": 50, "device": "cpu", **changes})
    return strong_loss(
        system, make_network(system.discretisation.problem, system.discretisation.mesh, settings), settings
    )


def test_loss_is_the_sum_of_means(system):
    loss = make(system, boundary_weight=9.0)
    r = loss.residual()
    assert r.shape == (50 + sum(t.size for t in loss.terms),)
    assert loss.loss().item() == pytest.approx((0.5 * (r**2).sum()).item())
    light = make(system, boundary_weight=1.0).residual()
    torch.testing.assert_close(r[:50], light[:50])
    torch.testing.assert_close(r[50:], 3 * light[50:])


def test_gradient_against_finite_differences(system):
    loss = make(system)
    (gradient,) = torch.autograd.grad(loss.loss(), loss.theta)
    direction = torch.randn(len(gradient), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    start, h = loss.theta.detach().clone(), 1e-5
    values = []
    for sign in (1, -1):
        with torch.no_grad():
            loss.theta.copy_(start + sign * h * direction)
        values.append(loss.loss().item())
    assert float(gradient @ direction) == pytest.approx((values[0] - values[1]) / (2 * h), rel=1e-6)


def test_loss_knows_nothing_of_the_matrix(system):
    """The same points and loss, whatever the discretisation made of the problem."""
    disc = system.discretisation
    other = linear_system(FiniteElements(disc.problem, disc.mesh, 2))
    assert make(system).loss().item() == make(other).loss().item()


def test_float32(system):
    single, double = make(system, precision="float32"), make(system)
    assert single.residual().dtype == single.points.dtype == torch.float32
    assert single.loss().item() == pytest.approx(double.loss().item(), rel=1e-4)


def on_meta(system, make_loss):
    """A loss on torch's device without data, which stands in for a GPU: mixed with tensors elsewhere, it raises."""
    settings = chosen(method="pinn" if make_loss is strong_loss else "fem-fit", **SMALL, device="cpu")
    problem, mesh = system.discretisation.problem, system.discretisation.mesh
    return make_loss(system, make_network(problem, mesh, settings).to("meta"), settings)


@pytest.mark.parametrize("make_loss", [strong_loss, fit_loss])
def test_every_tensor_is_on_the_networks_device(make_loss):
    sides = {"left": Periodic("right"), "bottom": Dirichlet(lambda x: x[0]), "top": Robin(1.0, 2.0)}
    problem = Problem(BOXES[2], flux=lambda x, u: x[0] * u.grad, source=lambda x, u: -1.0, boundary=sides)
    loss = on_meta(linear_system(FiniteElements(problem, grid(BOXES[2], 3))), make_loss)
    (gradient,) = torch.autograd.grad(loss.loss(), loss.theta)
    assert gradient.device.type == "meta"


def test_constants_on_another_device_are_explained(system):
    with pytest.raises(PcpinnError, match="new_tensor"):
        on_meta(system, strong_loss)


def test_seed_draws_the_points(system):
    assert (make(system).points == make(system).points).all()
    assert (make(system).points != make(system, seed=1).points).any()


@pytest.fixture(scope="module")
def task():
    entry = find_entry("poisson1d")
    return entry.problem(P=1.0), entry.reference(P=1.0)


def test_solves_poisson1d(task):
    problem, reference = task
    solution = solve_pinn(problem, reference=reference, cells=(20,), iterations=600, collocation=100, **SMALL)
    assert solution.errors["l2re"] < 5e-2
    assert solution.result["method"] == "pinn"
    assert solution.result["preconditioner"] == {
        "name": "pinn",
        "collocation": 100,
        "conditions": 2,
        "boundary_weight": 1.0,
    }


def test_trains_by_adam_unless_told_otherwise(task):
    solution = solve_pinn(task[0], cells=(5,), collocation=10, width=4, depth=1, time_limit=0.05)
    assert solution.result["optimiser"] == "adam"
    assert solution.settings["optimiser"]["iterations"] == 20_000


def test_record_and_resume(task, tmp_path):
    problem, reference = task
    choices = {"cells": (10,), "collocation": 20, **SMALL}
    whole = solve_pinn(problem, iterations=20, **choices)
    solve_pinn(problem, iterations=8, out=tmp_path / "run", **choices)
    resumed = solve_pinn(problem, iterations=20, out=tmp_path / "run", resume=True, **choices)
    x = reference.points
    assert (whole(x) == resumed(x)).all()
    np.testing.assert_array_equal(load(tmp_path / "run")(x), whole(x))


def test_gauss_newton_is_refused_before_anything_is_written(task, tmp_path):
    with pytest.raises(PcpinnError, match="Gauss-Newton needs a loss on nodal values"):
        solve_pinn(task[0], {"cells": (5,), "optimiser": "gauss-newton"}, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("change", [{"collocation": 0}, {"collocation": 1.5}, {"boundary_weight": -1.0}])
def test_bad_settings(task, change):
    with pytest.raises(PcpinnError, match=next(iter(change))):
        solve_pinn(task[0], **change)


def test_failing_condition_is_named():
    case = general(2)
    sides = dict.fromkeys(BOXES[2].boundary_names, Dirichlet(lambda x: torch.log(x[0] - 2)))
    with pytest.raises(PcpinnError, match="not finite"):
        solve_pinn(case.problem(sides), cells=(2, 2))
