"""Pointwise functions: values and Jacobians against finite differences, and messages for every usual slip."""

import numpy as np
import pytest
import torch

from pcpinn import Dirichlet, Field, Natural, Neumann, Problem, Rectangle, Robin
from pcpinn.discretize.pointwise import BoundaryFlux, Pointwise, dirichlet_values, unpack
from pcpinn.errors import PcpinnError

SQUARE = Rectangle((0, 0), (1, 1))
U, V = Field("u"), Field("v", components=2)


def random(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def flux(x, u, v):
    return (1 + u.value**2) * u.grad + v.value, torch.sin(u.value) * v.grad @ v.grad + torch.outer(x, v.value)


def source(x, u, v):
    return torch.exp(-v.value @ v.value) + u.grad @ x, u.value * v.value + (v.grad**3).sum(1)


def by_differences(function, state, step=1e-6):
    """Derivative of function(state) by every entry of a state (n, C, 1 + d)."""
    parts = []
    for k in range(state[0].numel()):
        e = torch.zeros_like(state).reshape(len(state), -1)
        e[:, k] = step
        e = e.reshape(state.shape)
        parts.append((function(state + e) - function(state - e)) / (2 * step))
    result = torch.stack(parts, dim=-1)
    return result.reshape(*result.shape[:-1], *state.shape[1:])


def test_jacobian_of_a_nonlinear_system():
    pointwise = Pointwise(Problem(SQUARE, flux, source, fields=(U, V)))
    x, state = random(7, 2), random(7, 3, 3, seed=1)
    jacobian = pointwise.jacobian(x, state)
    assert jacobian.shape == (7, 3, 3, 3, 3)
    torch.testing.assert_close(
        jacobian, by_differences(lambda s: pointwise.evaluate(x, s), state), rtol=1e-6, atol=1e-8
    )


def test_values_are_the_functions_point_by_point():
    """Rows: source then flux of u, then of both components of v."""
    x, state = random(5, 2), random(5, 3, 3, seed=1)
    out = Pointwise(Problem(SQUARE, flux, source, fields=(U, V))).evaluate(x, state)
    assert out.shape == (5, 3, 3)
    for k in range(5):
        u, v = unpack(state[k], (U, V), False)
        assert (u.value.shape, u.grad.shape, v.value.shape, v.grad.shape) == ((), (2,), (2,), (2, 2))
        s, q = source(x[k], u, v), flux(x[k], u, v)
        expected = torch.cat([torch.cat([s[0].reshape(1), q[0]])[None], torch.cat([s[1][:, None], q[1]], dim=1)])
        torch.testing.assert_close(out[k], expected)


@pytest.mark.parametrize("zero", [None, 0, 0.0, torch.tensor(0.0)])
def test_nothing_and_numbers_spread(zero):
    pointwise = Pointwise(Problem(SQUARE, lambda x, u, v: (zero, v.grad), lambda x, u, v: (3, zero), fields=(U, V)))
    out = pointwise.evaluate(random(4, 2), random(4, 3, 3))
    assert out.dtype == torch.float64
    assert torch.all(out[:, 0, 0] == 3)
    assert torch.all(out[:, 0, 1:] == 0)
    assert torch.all(out[:, 1:, 0] == 0)


@pytest.mark.parametrize("missing", ["flux", "source"])
def test_flux_or_source_alone(missing):
    function = {"flux": {"source": lambda x, u: u.value}, "source": {"flux": lambda x, u: u.grad}}[missing]
    state = random(4, 1, 3)
    out = Pointwise(Problem(SQUARE, **function)).evaluate(random(4, 2), state)
    kept, zero = (slice(0, 1), slice(1, 3)) if missing == "flux" else (slice(1, 3), slice(0, 1))
    assert torch.equal(out[..., kept], state[..., kept])
    assert torch.all(out[..., zero] == 0)


@pytest.mark.parametrize(
    ("fields", "flux", "source", "message"),
    [
        ("u", lambda x, u: u.value.reshape(1), None, r"flux of field 'u' has shape \(1,\), expected \(2,\)"),
        ("u", lambda x, u: torch.outer(u.grad, u.grad), None, r"flux of field 'u' has shape \(2, 2\), expected \(2,\)"),
        ("u", None, lambda x, u: u.grad, r"source of field 'u' has shape \(2,\), expected \(\)"),
        (V, lambda x, v: v.value, None, r"flux of field 'v' has shape \(2,\), expected \(2, 2\)"),
        (V, None, lambda x, v: v.grad, r"source of field 'v' has shape \(2, 2\), expected \(2,\)"),
        ("u", lambda x, u: np.zeros(2), None, "flux of field 'u' returned a ndarray"),
        ("u", lambda x, u: [u.grad[0], u.grad[1]], None, "flux of field 'u' returned a list"),
        ("u", None, lambda x, u: np.sin(x), "failed"),
        ("u", None, lambda x, u: np.asarray(u.value), "failed"),
        ("u", lambda x, u: (u.grad, u.grad), None, "flux must return a tuple of 1 parts"),
        ((U, V), lambda x, u, v: u.grad, None, "flux must return a tuple of 2 parts, one for each of the fields u, v"),
        ((U, V), None, lambda x, u, v: (u.value,), "source must return a tuple of 2 parts"),
        ((U, V), None, lambda x, u, v: (u.value, v.value, 0.0), "source must return a tuple of 2 parts"),
        ("u", lambda x, u: u.grad if u.value > 0 else 2 * u.grad, None, "data-dependent control flow"),
        ("u", lambda x, u: u.grad * u.value.item(), None, "failed"),
        ("u", lambda x: x, None, "failed: TypeError"),
        ("u", lambda x, u: u.gradient, None, "failed: AttributeError: .*gradient"),
        ("u", lambda x, u: torch.eye(2) @ u.grad, None, "failed: RuntimeError"),
        ("u", None, lambda x, u: 1 / 0, "failed: ZeroDivisionError: division by zero"),
    ],
)
@pytest.mark.parametrize("method", ["evaluate", "jacobian"])
def test_slips_are_named(fields, flux, source, message, method):
    pointwise = Pointwise(Problem(SQUARE, flux, source, fields=fields))
    with pytest.raises(PcpinnError, match=message) as caught:
        getattr(pointwise, method)(random(4, 2), random(4, pointwise.problem.components, 3))
    assert caught.value.remedy


# Conditions

CONDITIONS = {
    "neumann": Neumann(lambda x: x[0] ** 2),
    "robin": Robin(lambda x: 1 + x[1], 2.0),
    "natural": Natural(lambda x, n, u, v: n @ v.value * u.value**2),
    "dirichlet": Dirichlet(5.0),
}
EXPECTED = {
    "neumann": lambda x, n, u, v: x[0] ** 2,
    "robin": lambda x, n, u, v: 2.0 - (1 + x[1]) * u,
    "natural": lambda x, n, u, v: n @ v * u**2,
    "dirichlet": lambda x, n, u, v: 0.0,
}


@pytest.mark.parametrize("kind", CONDITIONS)
def test_boundary_flux(kind):
    """What each condition says of flux . n, its derivative, and nothing for the field without a condition."""
    flux = BoundaryFlux(Problem(SQUARE, flux_of_u, fields=(U, V), boundary={"left": {"u": CONDITIONS[kind]}}), "left")
    x, n, state = random(6, 2), random(6, 2, seed=1), random(6, 3, 3, seed=2)
    g = flux.evaluate(x, n, state)
    expected = [float(EXPECTED[kind](x[k], n[k], state[k, 0, 0], state[k, 1:, 0])) for k in range(6)]
    np.testing.assert_allclose(g[:, 0], expected, rtol=1e-14)
    assert torch.all(g[:, 1:] == 0)
    jacobian = flux.jacobian(x, n, state)
    assert jacobian.shape == (6, 3, 3, 3)
    torch.testing.assert_close(jacobian, by_differences(lambda s: flux.evaluate(x, n, s), state), rtol=1e-6, atol=1e-8)
    assert flux.is_zero == (kind == "dirichlet")


def flux_of_u(x, u, v):
    return u.grad, None


@pytest.mark.parametrize("value", [3.0, [1.0, 2.0], (1.0, 2.0), lambda x: x, lambda x: [1.0, 2.0], lambda x: 4.0])
def test_neumann_on_a_vector(value):
    flux = BoundaryFlux(Problem(SQUARE, lambda x, v: v.grad, fields=V, boundary={"left": Neumann(value)}), "left")
    x = random(3, 2)
    g = flux.evaluate(x, x, random(3, 2, 3))
    for k in range(3):
        expected = value(x[k]) if callable(value) else value
        np.testing.assert_allclose(g[k], np.broadcast_to(expected, 2))


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (Neumann([1.0, 2.0, 3.0]), r"condition of field 'v' on 'left' has shape \(3,\), expected \(2,\)"),
        (Natural(lambda x, n, v: v.grad), r"has shape \(2, 2\), expected \(2,\)"),
        (Natural(lambda x, v: v.value), "failed: TypeError"),
        (Robin(lambda x: np.ones(2), 1.0), "failed|returned a ndarray"),
    ],
)
def test_wrong_boundary_functions_are_named(condition, message):
    flux = BoundaryFlux(Problem(SQUARE, lambda x, v: v.grad, fields=V, boundary={"left": condition}), "left")
    with pytest.raises(PcpinnError, match=message):
        flux.evaluate(random(3, 2), random(3, 2), random(3, 2, 3))


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        (U, 2.0, [[2.0, 2.0]]),
        (U, lambda x: x[0] * x[1], [[0.5, 6.0]]),
        (V, 1.5, [[1.5, 1.5], [1.5, 1.5]]),
        (V, [1.0, 2.0], [[1.0, 1.0], [2.0, 2.0]]),
        (V, lambda x: torch.stack([x[1], -x[0]]), [[0.5, 2.0], [-1.0, -3.0]]),
        (V, [None, lambda x: x[0]], [None, [1.0, 3.0]]),
        (V, (lambda x: x[0], None), [[1.0, 3.0], None]),
        (V, torch.tensor([1.0, 2.0]), [[1.0, 1.0], [2.0, 2.0]]),
    ],
)
def test_dirichlet_values(field, value, expected):
    x = torch.tensor([[1.0, 0.5], [3.0, 2.0]], dtype=torch.float64)
    values = dirichlet_values(Dirichlet(value), field, x, "left", False)
    assert [None if v is None else v.tolist() for v in values] == expected


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        (U, float("nan"), r"Dirichlet value on 'left' is not finite at x = \[1.0, 0.5\]"),
        (U, lambda x: torch.log(x[1] - 2), r"not finite at x = \[1.0, 0.5\]"),
        (U, lambda x: 1 / (x[0] - 3), r"not finite at x = \[3.0, 2.0\]"),
        (V, [None, lambda x: 1 / (x[0] - 3)], r"not finite at x = \[3.0, 2.0\]"),
        (U, [1.0, 2.0], r"has shape \(2,\), expected \(\)"),
        (V, [1.0, None, 2.0], "has 3 values for field 'v' of 2 components"),
        (V, [1.0, 2.0, 3.0], r"has shape \(3,\), expected \(2,\)"),
        (U, lambda x: np.sin(x[0]), "failed|returned a"),
        (U, "one", "returned a str"),
    ],
)
def test_bad_dirichlet_values_are_refused(field, value, message):
    x = torch.tensor([[1.0, 0.5], [3.0, 2.0]], dtype=torch.float64)
    with pytest.raises(PcpinnError, match=message) as caught:
        dirichlet_values(Dirichlet(value), field, x, "left", False)
    assert caught.value.remedy
