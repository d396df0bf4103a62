"""The ordinary PINN of an inverse problem."""

import math

import numpy as np
import pytest
import torch
from baselines.known import Known
from cases import chosen

from pcpinn import Dirichlet, Interval, Natural, Observations, Parameter, PcpinnError, Problem
from pcpinn.baselines.inverse_methods import infer_by
from pcpinn.baselines.pinn_inverse import InverseStrongLoss, closed
from pcpinn.catalog import heat_inv, poisson_inv
from pcpinn.discretize.pointwise import Pointwise
from pcpinn.invert.model import InverseModel, make_coefficient
from pcpinn.problem.family import Family
from pcpinn.solve.build import make_mesh, make_network
from pcpinn.strong.form import strong_residual

SETTINGS = chosen(
    method="pinn-inverse",
    cells=(3, 3),
    collocation=40,
    width=6,
    depth=1,
    equation_weight=1.0,
    iterations=5,
)


def _made(entry, settings=SETTINGS, points=30):
    family = entry.family()
    mesh = make_mesh(family.base, settings)
    box = mesh.simplices.bounds
    a = make_coefficient(family.unknowns["a"], box[0][:2], box[1][:2], settings, 3, torch.device("cpu"))
    model = InverseModel(family, make_network(family.base, mesh, settings).double(), {"a": a})
    data = entry.data(0, points=points)
    return model, data, InverseStrongLoss(model, (data,), [data.noise], mesh.simplices, settings)


@pytest.mark.parametrize("module", [poisson_inv, heat_inv])
def test_the_truth_solves_the_strong_form(module):
    problem = closed(module.ENTRY.family(), lambda x: module.exact_a(x)[None])
    d = problem.domain.dimension
    x = torch.rand(20, d, dtype=torch.float64, generator=torch.Generator().manual_seed(0))

    def u(p):
        decay = torch.exp(-p[2]) if d == 3 else 1.0
        return torch.sin(math.pi * p[0]) * torch.sin(math.pi * p[1]) * decay

    assert strong_residual(Pointwise(problem, strong=True), Known(u), x).abs().max() < 1e-10


def test_all_points_at_once_and_one_by_one_agree():
    model, _, loss = _made(poisson_inv.ENTRY)
    one_by_one = Pointwise(closed(model.family, lambda x: model.coefficients["a"](x[None])))
    x = loss.points
    here = strong_residual(loss.pointwise, model.u, x)
    assert torch.allclose(here, strong_residual(one_by_one, model.u, x), atol=1e-12)


def test_the_loss_is_the_sum_of_its_parts_and_moves_all_weights():
    model, data, loss = _made(poisson_inv.ENTRY)
    assert not loss.terms  # nothing is known of u on the sides
    misfit = 0.5 * np.mean((model.u(torch.as_tensor(data.points)).detach().numpy()[:, 0] - data.values) ** 2)
    inside = strong_residual(loss.pointwise, model.u, loss.points).detach()
    known = [0.5 * float(((model.coefficients["a"](k.x) - k.target) ** 2).mean().detach()) for k in loss.known]
    assert len(known) == 4
    total = misfit + 0.5 * float((inside**2).mean()) + sum(known)
    assert float(loss.loss().detach()) == pytest.approx(total)
    (gradient,) = torch.autograd.grad(loss.loss(), loss.theta)
    assert all(gradient[part].abs().sum() > 0 for part in model.parts)


def test_conditions_may_hold_unknowns():
    def rod(k):
        return Problem(
            Interval(0, 1),
            flux=lambda x, u: k * u.grad,
            boundary={"left": Dirichlet(0.0), "right": Natural(lambda x, n, u: 1.0 / k)},
        )

    data = Observations([[0.2], [0.7]], [0.05, 0.175], 0.01)
    settings = SETTINGS.updated({"cells": (4,)})
    family = Family(rod, {"k": Parameter(2.0, low=0.1)})
    mesh = make_mesh(family.base, settings)
    model = InverseModel(family, make_network(family.base, mesh, settings).double(), {})
    loss = InverseStrongLoss(model, (data,), [data.noise], mesh, settings)
    assert sum(t.size for t in loss.terms) == 2
    (gradient,) = torch.autograd.grad(loss.loss(), loss.theta)
    assert gradient[model.numbers].abs() > 0

    def held(k):
        return Problem(Interval(0, 1), flux=lambda x, u: u.grad, boundary={"left": Dirichlet(lambda x: k)})

    with pytest.raises(PcpinnError, match="depend on the unknowns"):
        infer_by("pinn", held, data, {"k": Parameter(2.0)}, settings)


@torch.no_grad()
def test_outliers_count_less_with_huber():
    with torch.enable_grad():
        _, data, plain = _made(poisson_inv.ENTRY)
        model, _, robust = _made(poisson_inv.ENTRY, SETTINGS.updated({"misfit": "huber"}))
    assert float(robust._misfit(0, model.u)) < float(plain._misfit(0, model.u))
    robust._noise = [torch.full((len(data),), 1e6, dtype=torch.float64)]
    assert float(robust._misfit(0, model.u)) == pytest.approx(float(plain._misfit(0, model.u)))


def test_a_run_and_its_record(tmp_path):
    entry = heat_inv.ENTRY
    changes = {"cells": "2,2", "iterations": 4, "collocation": 30, "points": 20}
    parameters, settings = entry.resolve("quick", changes, "pinn")
    build, unknowns = entry.problem(**parameters)
    data = entry.data(0, **parameters)
    solution = infer_by("pinn", build, data, unknowns, settings, out=tmp_path / "run", truth=entry.truth())
    result = solution.result
    assert result["method"] == "pinn"
    assert result["iterations"] == 4
    assert set(result["errors"]["field"]) == {"u", "a"}
    assert solution.history.losses[-1] < solution.history.losses[0]
    assert solution.coefficient("a")([[0.0, 0.0], [0.5, 0.5]]).shape == (2,)
    assert (tmp_path / "run" / "coefficients.safetensors").exists()
    with pytest.raises(PcpinnError, match="Adam"):
        infer_by("pinn", build, data, unknowns, settings.updated({"optimiser": "lbfgs"}))
