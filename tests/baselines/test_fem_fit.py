import numpy as np
import pytest
import scipy.sparse as sp
import torch
from cases import chosen, two_fields

from pcpinn import Dirichlet, PcpinnError, Problem, Rectangle, Robin, solve
from pcpinn.baselines import solve_fem_fit
from pcpinn.baselines.fem_fit import fit_loss
from pcpinn.precondition import Identity, PreconditionedResidual, misfit
from pcpinn.solve.build import make_network

PLATE = Problem(
    Rectangle((0, 0), (1, 1)),
    flux=lambda x, u: (1 + x[0]) * u.grad,
    source=lambda x, u: -10 * torch.sin(3 * x[1]),
    boundary=dict.fromkeys(("left", "bottom", "top"), Dirichlet(0.0)) | {"right": Robin(1.0, 1.0)},
)
SMALL = {"cells": (8, 8), "width": 12, "depth": 2, "iterations": 25}


@pytest.fixture(scope="module")
def fitted():
    return solve_fem_fit(PLATE, **SMALL)


def test_gauss_newton_fits_the_discrete_solution(fitted):
    assert fitted.errors["training"] < 1e-3
    assert fitted.result["method"] == fitted.result["preconditioner"]["name"] == "fem-fit"
    assert (2 * fitted.result["loss"]) ** 0.5 == pytest.approx(fitted.errors["training"], rel=1e-6)


def test_same_as_pcpinn_with_an_exact_factorisation(fitted):
    """P = A makes the residual of Algorithm 1 the misfit itself: the same steps, but for rounding."""
    exact = solve(PLATE, preconditioner="lu", **SMALL)
    x = exact.mesh.nodes
    assert np.linalg.norm(fitted(x) - exact(x)) < 3e-3 * np.linalg.norm(exact(x))
    np.testing.assert_allclose(fitted.history.losses[:2], exact.history.losses[:2], rtol=1e-2)


def test_adam_takes_the_same_steps_too():
    choices = {**SMALL, "iterations": 20, "optimiser": "adam", "norm": "uniform"}
    fit, exact = solve_fem_fit(PLATE, **choices), solve(PLATE, preconditioner="lu", **choices)
    np.testing.assert_allclose(fit.history.losses, exact.history.losses, rtol=1e-6)


@pytest.mark.parametrize("shape", [(6,), (6, 2)])
def test_misfit_is_the_residual_of_the_identity(shape):
    random = np.random.default_rng(0)
    u_h, weights = random.normal(size=6), random.random(6)
    fit = misfit(u_h, weights, torch.float64, torch.device("cpu"))
    plain = PreconditionedResidual(sp.identity(6, format="csr"), u_h, Identity(), weights, False)
    u = torch.from_numpy(random.normal(size=shape))
    torch.testing.assert_close(fit.apply(u), plain.apply(u))
    torch.testing.assert_close(fit.apply_transpose(u), plain.apply_transpose(u))
    assert fit.target_norm == pytest.approx(plain.target_norm)
    if len(shape) == 1:
        torch.testing.assert_close(fit(u), plain(u))


def test_several_fields_in_float32():
    system = two_fields()
    settings = chosen(method="fem-fit", width=5, depth=1, precision="float32", device="cpu")
    network = make_network(system.discretisation.problem, system.discretisation.mesh, settings)
    loss = fit_loss(system, network, settings)
    u = loss.unknowns().detach().double().numpy()
    expected = 0.5 * (system.norm(u - system.solution) / system.norm(system.solution)) ** 2
    assert loss.loss().item() == pytest.approx(expected, rel=1e-4)


def test_a_nonlinear_problem_is_solved_and_fitted():
    nonlinear = Problem(PLATE.domain, lambda x, u: (1 + u.value**2) * u.grad, lambda x, u: -5.0, PLATE.boundary)
    solution = solve_fem_fit(nonlinear, cells=(4, 4), width=10, depth=1, features="none", iterations=60, device="cpu")
    assert solution.errors["training"] < 5e-3
    assert "newton" not in solution.result
    direct = solve(nonlinear, cells=(4, 4), width=10, depth=1, features="none", iterations=80, device="cpu")
    x = np.random.default_rng(0).uniform(0.1, 0.6, size=(20, 2))
    np.testing.assert_allclose(solution(x), direct(x), atol=0.02 * np.abs(direct(x)).max())


def test_what_is_degenerate_at_zero_needs_a_guess():
    with pytest.raises(PcpinnError, match="singular") as caught:
        solve_fem_fit(
            Problem(PLATE.domain, flux=lambda x, u: u.value**2 * u.grad, boundary=PLATE.boundary), cells=(3, 3)
        )
    assert "start=" in caught.value.remedy
