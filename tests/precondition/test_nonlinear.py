"""u -> W P^-1 F(u): its value against dense algebra, its gradient, nonlinear terms included, against finite differences."""

import numpy as np
import pytest
import torch
from over_time import convection, ring

from pcpinn import Dirichlet, Initial, Interval, Problem
from pcpinn.discretize.step_scheme import Layers, step_scheme
from pcpinn.discretize.window import MarchSpace, Window
from pcpinn.mesh.generate import generate_mesh
from pcpinn.precondition.nonlinear import NonlinearResidual
from pcpinn.precondition.stages import Stages, window_residual


def reaction():
    """u_t = 0.05 u_xx + sin(u^2): the linear part has no reaction at all."""
    return Problem(
        Interval(0, 1).over(0, 1),
        density=lambda x, u: u.value,
        flux=lambda x, u: 0.05 * u.grad,
        source=lambda x, u: -torch.sin(u.value**2),
        boundary={"left": Dirichlet(0.0), "right": Dirichlet(0.1), "initial": Initial(lambda x: torch.sin(3 * x[0]))},
    )


def residual_of(problem, recipe):
    """The residual of two steps of backward Euler, its window, and some values."""
    mesh = generate_mesh(problem.domain.shape, cells=(5,), periodic=problem.periodic_pairs)
    space = MarchSpace(problem, mesh, (0.0, 1.0), 2)
    scheme = step_scheme("euler")
    window = Window(space, Layers(scheme, np.array([0.0, 0.1, 0.2])), space.initial_values()[None])
    zero = torch.zeros(2, space.size, dtype=torch.float64)
    matrix, weights = window.linearise(zero), np.linspace(1, 2, zero.numel())
    model = window_residual(matrix, -window.residual(zero), recipe.build(matrix), weights)
    U = torch.randn(zero.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return NonlinearResidual(model, window.residual), model, window, U.reshape(-1)


@pytest.mark.parametrize("recipe", [Stages(), Stages(drop_tolerance=1e-1, coupled=False)])
@pytest.mark.parametrize("make", [reaction, convection, ring])
def test_gradient_against_finite_differences(make, recipe):
    operator, model, _, u = residual_of(make(), recipe)
    assert torch.autograd.gradcheck(operator, (u.clone().requires_grad_(True),), atol=1e-5)
    loss = lambda v: 0.5 * (operator(v) ** 2).sum()  # noqa: E731
    v = u.clone().requires_grad_(True)
    (gradient,) = torch.autograd.grad(loss(v), v)
    along = torch.randn(u.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    slope = float(loss(u + 1e-6 * along) - loss(u - 1e-6 * along)) / 2e-6
    assert float(gradient @ along) == pytest.approx(slope, rel=1e-6)
    frozen = model.apply_transpose(operator(u))  # the same residual, as if nonlinear terms did not change with u
    assert make is ring or abs(float(frozen @ along) - slope) > 1e-3 * abs(slope)


def test_value_is_that_of_dense_algebra():
    """Uncoupled and without dropping, P is the block diagonal of A of the linear part."""
    operator, model, window, u = residual_of(reaction(), Stages(coupled=False))
    n = window.space.size
    A = window.linearise(torch.zeros(2, n, dtype=torch.float64)).to_scipy().toarray()
    F = window.residual(u.reshape(2, n)).numpy()
    expected = np.concatenate([np.linalg.solve(A[:n, :n], F[0]), np.linalg.solve(A[n:, n:], F[1])])
    np.testing.assert_allclose(
        operator(u).numpy(), np.sqrt(np.linspace(1, 2, 2 * n)) * expected, rtol=1e-10, atol=1e-12
    )
    assert float((operator(u) - model(u)).norm()) > 1e-3 * float(operator(u).norm())
