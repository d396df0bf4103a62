import pytest
import torch
from cases import general
from known import Known

from pcpinn import Dirichlet, Field, Interval, Problem, Rectangle
from pcpinn.discretize.pointwise import Pointwise
from pcpinn.network import Architecture, DenseNetwork, Features
from pcpinn.strong.form import normal_flux, state_at, strong_residual

BOX = Rectangle((0, 0), (1, 1))


def points(d=2, n=30, dtype=torch.float64):
    return torch.rand(n, d, generator=torch.Generator().manual_seed(1), dtype=dtype)


def network(outputs=1, d=2, dtype=torch.float64, **choices):
    architecture = Architecture(**{"width": 6, "depth": 2, "features": Features("log", 2, -2.0, 0.0), **choices})
    return DenseNetwork(architecture, [0.0] * d, [1.0] * d, outputs, torch.Generator().manual_seed(2), dtype)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_exact_solution_of_a_general_problem_has_no_residual(d):
    case = general(d)
    problem = case.problem({name: Dirichlet(0.0) for name in case.domain.boundary_names})
    residual = strong_residual(Pointwise(problem), Known(*case.exact), points(d))
    assert residual.shape == (30, 1)
    assert residual.abs().max() < 1e-12


def test_variable_coefficient_by_formula():
    problem = Problem(BOX, flux=lambda x, u: (1 + x[0] ** 2) * u.grad, source=lambda x, u: 3 * u.value - x[1])
    x = points()
    a, b = x.unbind(1)
    residual = strong_residual(Pointwise(problem), Known(lambda p: p[0] ** 2 * p[1] ** 3), x)[:, 0]
    # div((1 + a^2) grad u) = 2 a u_a + (1 + a^2) (u_aa + u_bb)
    divergence = 2 * a * 2 * a * b**3 + (1 + a**2) * (2 * b**3 + 6 * a**2 * b)
    torch.testing.assert_close(residual, 3 * a**2 * b**3 - b - divergence)


def test_elasticity_by_formula():
    """div sigma of u = (x^2 y, x y^2), lambda = 1, mu = 0.5: div u = 4 x y."""

    def stress(x, u):
        return u.grad.trace() * torch.eye(2, dtype=x.dtype) + 0.5 * (u.grad + u.grad.T)

    problem = Problem(BOX, flux=stress, fields=Field("u", components=2))
    x = points()
    a, b = x.unbind(1)
    residual = strong_residual(
        Pointwise(problem), Known(lambda p: torch.stack([p[0] ** 2 * p[1], p[0] * p[1] ** 2])), x
    )
    # sigma = 4ab I + [[2ab, (a^2 + b^2)/2], [., 2ab]]
    torch.testing.assert_close(residual, -torch.stack([6 * b + b, 6 * a + a], dim=1))


def test_two_fields_with_and_without_flux():
    """Stokes-like: the second equation has a source only."""
    problem = Problem(
        BOX,
        flux=lambda x, v, p: (v.grad - p.value * torch.eye(2, dtype=x.dtype), None),
        source=lambda x, v, p: (None, v.grad.trace()),
        fields=[Field("v", components=2), Field("p")],
    )
    x = points()
    a, b = x.unbind(1)
    known = Known(lambda q: torch.stack([q[0] ** 2, -2 * q[0] * q[1]]), lambda q: 3 * q[1] ** 2)
    residual = strong_residual(Pointwise(problem), known, x)
    torch.testing.assert_close(residual, torch.stack([-2 + 0 * a, 6 * b, 0 * a], dim=1))


def test_wave_by_formula():
    problem = Problem(Interval(0, 1).over(0, 1), density=lambda x, u: u.dt, flux=lambda x, u: 4 * u.grad)
    x = points()
    known = Known(lambda p: torch.sin(3 * p[0]) * torch.exp(p[1]))
    residual = strong_residual(Pointwise(problem, strong=True), known, x)[:, 0]
    torch.testing.assert_close(residual, (1 + 36) * torch.sin(3 * x[:, 0]) * torch.exp(x[:, 1]))


def test_density_is_differentiated_in_total():
    """d/dt of t u^2 + u_x, by hand."""
    problem = Problem(Interval(0, 1).over(0, 1), density=lambda x, t, u: t * u.value**2 + u.grad[0])
    x = points()
    a, t = x.unbind(1)
    residual = strong_residual(Pointwise(problem, strong=True), Known(lambda p: p[0] * p[1] ** 2), x)[:, 0]
    torch.testing.assert_close(residual, 5 * a**2 * t**4 + 2 * t)


@pytest.mark.parametrize("activation", ["tanh", "silu"])
def test_network_against_finite_differences(activation):
    net = network(outputs=2, activation=activation)
    fields = Field("u", components=2)
    problem = Problem(BOX, flux=lambda x, u: (1 + x[0] * x[1]) * u.grad, source=lambda x, u: u.value, fields=fields)
    x, h = points(n=8), 1e-4
    expected = net(x)
    for axis in range(2):
        e = h * torch.eye(2, dtype=x.dtype)[axis]
        ahead, behind = (1 + (x + s * e / 2).prod(1, keepdim=True) for s in (1, -1))
        expected = expected - (ahead * (net(x + e) - net(x)) - behind * (net(x) - net(x - e))) / h**2
    torch.testing.assert_close(strong_residual(Pointwise(problem), net, x), expected, rtol=1e-4, atol=1e-4)


def test_source_alone():
    problem = Problem(BOX, source=lambda x, u: u.grad[0] - u.value)
    residual = strong_residual(Pointwise(problem), Known(lambda p: p[0] ** 2), points())[:, 0]
    torch.testing.assert_close(residual, 2 * points()[:, 0] - points()[:, 0] ** 2)


def test_float32_network_with_float64_constants():
    A = torch.tensor([[2.0, 0.5], [0.5, 1.0]], dtype=torch.float64)
    problem = Problem(BOX, flux=lambda x, u: A @ u.grad)
    residual = strong_residual(Pointwise(problem), network(dtype=torch.float32), points(dtype=torch.float32))
    exact = strong_residual(Pointwise(problem), network(), points(dtype=torch.float32).double())
    assert residual.dtype == torch.float32
    torch.testing.assert_close(residual.double(), exact, rtol=1e-3, atol=1e-4)


def test_normal_flux_and_state():
    problem = Problem(BOX, flux=lambda x, u: x[0] * u.grad)
    x = points()
    n = torch.tensor([[0.6, 0.8]], dtype=x.dtype).expand_as(x)
    flux, state = normal_flux(Pointwise(problem), Known(lambda p: p[0] * p[1]), x, n)
    a, b = x.unbind(1)
    torch.testing.assert_close(flux[:, 0], a * (0.6 * b + 0.8 * a))
    torch.testing.assert_close(state[:, 0], torch.stack([a * b, b, a], dim=1))
    torch.testing.assert_close(state_at(network(outputs=3), x.requires_grad_())[:, :, 0], network(outputs=3)(x))
