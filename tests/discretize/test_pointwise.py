"""Pointwise functions: values and Jacobians against finite differences, and messages for every usual slip."""

import math

import numpy as np
import pytest
import torch

from pcpinn import Dirichlet, Field, Initial, Interval, Natural, Neumann, Problem, Rectangle, Robin
from pcpinn.discretize.pointwise import BoundaryFlux, Pointwise, dirichlet_values, unpack
from pcpinn.errors import PcpinnError

SQUARE = Rectangle((0, 0), (1, 1))
SINGLE = torch.eye(2)
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


@pytest.mark.parametrize("zero", [None, 0, 0.0])
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


def test_constants_made_in_functions_have_the_precision_of_points():
    """A number times a float32 matrix is float32: a pressure times torch.eye(2) left Newton's method nothing to converge to."""
    state = random(3, 2, 3)
    problem = Problem(SQUARE, lambda x, v: v.value[0] * torch.eye(2), lambda x, v: torch.tensor([0.1, 0.2]), fields=V)
    out = Pointwise(problem).evaluate(random(3, 2), state)
    assert torch.equal(out[:, 0, 1], state[:, 0, 0])
    assert torch.equal(out[:, :, 0], torch.tensor([[0.1, 0.2]], dtype=torch.float64).expand(3, 2))


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
        ("u", lambda x, u: SINGLE @ u.grad, None, "failed: RuntimeError"),
        ("u", None, lambda x, u: 1 / 0, "source failed: ZeroDivisionError: division by zero"),
        ("u", lambda x, u: u.value, None, "flux of field 'u' is one number"),
        ("u", None, lambda x, u: u - 1, r"write u\.value"),
        ("u", None, lambda x, u: np.sin(x[0]), r"NumPy.*write torch\.sin"),
        ("u", None, lambda x, u: math.sin(x[0]), r"math\.sin.*torch\.sin"),
        ("u", None, lambda x, u: 1.0 if x[0] < 0.5 else 0.0, r"torch\.where"),
        ("u", lambda x, u: torch.tensor([u.grad[0], 0.0]), None, r"torch\.stack"),
        ("u", None, lambda x, u, t: t, "called t"),
        ("u", lambda x, u: None, None, "flux is None(.|\n)*return"),
        ("u", None, lambda x, u: None, "source is None"),
        ("u", None, lambda x, u: torch.rand(()), "outside of the function"),
        ("u", None, lambda x, u: u.grad.grad - 1, "second derivative is the divergence of a flux"),
    ],
)
@pytest.mark.parametrize("method", ["evaluate", "jacobian"])
def test_slips_are_named(fields, flux, source, message, method):
    pointwise = Pointwise(Problem(SQUARE, flux, source, fields=fields))
    with pytest.raises(PcpinnError, match=message) as caught:
        getattr(pointwise, method)(random(4, 2), random(4, pointwise.problem.components, 3))
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("fields", "flux", "source"),
    [
        ("u", lambda x, u: u.grad[0], lambda x, u: u.grad),
        ("u", lambda x, u: u.grad.reshape(1, 1), lambda x, u: u.grad[0]),
        (V, lambda x, v: v.grad[:, 0], lambda x, v: v.grad),
    ],
)
def test_in_one_dimension_axes_of_length_one_may_be_left_out(fields, flux, source):
    state = random(4, 1 if fields == "u" else 2, 2)
    out = Pointwise(Problem(Interval(0, 1), flux, source, fields=fields)).evaluate(random(4, 1), state)
    assert torch.equal(out, state[..., [1, 1]])


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
    assert flux.is_zero == flux.vanishes == (kind == "dirichlet")


def flux_of_u(x, u, v):
    return u.grad, None


@pytest.mark.parametrize("condition", [Neumann(5.0), Neumann(lambda x: x[0]), Natural(lambda x, n, v: 1.0)])
def test_one_number_does_not_load_all_components(condition):
    flux = BoundaryFlux(Problem(SQUARE, lambda x, v: v.grad, fields=V, boundary={"left": condition}), "left")
    with pytest.raises(PcpinnError, match=r"one number for 2 components\n.*Neumann\(\(0\.0, 5\.0\)\)"):
        flux.evaluate(random(3, 2), random(3, 2), random(3, 2, 3))


@pytest.mark.parametrize("value", [0.0, [1.0, 2.0], (1.0, 2.0), lambda x: x, lambda x: [1.0, 2.0]])
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
        (Natural(lambda x, n, v: None), "on 'left' is None"),
        (Neumann(lambda x: None), "on 'left' is None"),
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
        (U, lambda x: None, "Dirichlet value on 'left' is None"),
        (U, None, "Dirichlet value on 'left' is None"),
        (V, [None, lambda x: None], "Dirichlet value on 'left' is None"),
    ],
)
def test_bad_dirichlet_values_are_refused(field, value, message):
    x = torch.tensor([[1.0, 0.5], [3.0, 2.0]], dtype=torch.float64)
    with pytest.raises(PcpinnError, match=message) as caught:
        dirichlet_values(Dirichlet(value), field, x, "left", False)
    assert caught.value.remedy


# Over time

OVER_TIME = SQUARE.over(0, 1)


def test_functions_over_time_see_space_and_time_apart():
    seen = {}

    def flux(x, u, v):
        seen["flux"] = x.shape, u.grad.shape, v.grad.shape, u.dt.shape, v.dt.shape
        return u.grad, v.grad

    def source(x, t, u, v):
        seen["source"] = x.shape, t.shape
        return t * x[0] * u.dt, t * v.dt

    pointwise = Pointwise(Problem(OVER_TIME, flux, source, fields=(U, V)))
    x, state = random(4, 3), random(4, 3, 4, seed=1)
    out = pointwise.evaluate(x, state)
    assert seen == {"flux": ((2,), (2,), (2, 2), (), (2,)), "source": ((2,), ())}
    torch.testing.assert_close(out[:, 0, 0], x[:, 2] * x[:, 0] * state[:, 0, 3])
    torch.testing.assert_close(out[:, 1:, 0], x[:, 2, None] * state[:, 1:, 3])
    assert torch.equal(out[..., 1:3], state[..., 1:3])
    assert not out[..., 3].any()


def density(x, t, u, v):
    return (1 + t * x[0]) * u.value**2 + v.value.sum(), None


def test_a_density_of_first_order_joins_the_source_by_its_rate():
    """d/dt of (1 + t x) u^2 + v_1 + v_2, by hand."""
    pointwise = Pointwise(Problem(OVER_TIME, density=density, fields=(U, V)))
    x, state = random(5, 3), random(5, 3, 4, seed=1)
    out = pointwise.evaluate(x, state)
    u, u_t, v_t = state[:, 0, 0], state[:, 0, 3], state[:, 1:, 3]
    rate = x[:, 0] * u**2 + (1 + x[:, 2] * x[:, 0]) * 2 * u * u_t + v_t.sum(1)
    torch.testing.assert_close(out[:, 0, 0], rate)
    assert not out[:, 0, 1:].any()
    assert not out[:, 1:].any()
    jacobian = pointwise.jacobian(x, state)
    torch.testing.assert_close(
        jacobian, by_differences(lambda s: pointwise.evaluate(x, s), state), rtol=1e-6, atol=1e-8
    )


def test_values_themselves_need_no_chain_rule():
    """The same rates, whether a density is the very value of a field or something equal to it; also of another field."""
    x, state = random(5, 3), random(5, 3, 4, seed=1)
    W = Field("w", components=2)
    for plain, equal in (
        (lambda x, u, v: (u.value, v.value), lambda x, u, v: (1.0 * u.value, 1.0 * v.value)),
        (lambda x, u, v: (None, v.value), lambda x, u, v: (None, 1.0 * v.value)),
    ):
        outs = [Pointwise(Problem(OVER_TIME, density=d, fields=(U, V))).evaluate(x, state) for d in (plain, equal)]
        assert torch.equal(*outs)
    swapped = Pointwise(Problem(OVER_TIME, density=lambda x, v, w: (w.value, v.value), fields=(V, W)))
    state = random(5, 4, 4)
    assert torch.equal(swapped.evaluate(x, state)[:, :, 0], state[:, [2, 3, 0, 1], 3])


def test_a_density_of_second_order_is_the_flux_through_time():
    start = {"u": Initial(0.0, rate=lambda x: x[0]), "v": Initial(0.0)}
    problem = Problem(
        OVER_TIME,
        density=lambda x, u, v: (u.dt * (1 + u.value**2) + x[1], v.value),
        fields=(U, V),
        boundary={"initial": start},
    )
    x, state = random(5, 3), random(5, 3, 4, seed=1)
    out = Pointwise(problem).evaluate(x, state)
    u, u_t = state[:, 0, 0], state[:, 0, 3]
    torch.testing.assert_close(out[:, 0, 3], -u_t * (1 + u**2) - x[:, 1])
    assert not out[:, 0, :3].any()
    assert torch.equal(out[:, 1:, 0], state[:, 1:, 3])
    strong = Pointwise(problem, strong=True).evaluate(x, state)
    torch.testing.assert_close(strong[:, 0, 3], out[:, 0, 3])
    torch.testing.assert_close(strong[:, 1:, 3], -state[:, 1:, 0])
    # and at the start the rate takes the place of u_t
    flux = BoundaryFlux(problem, "initial")
    assert not flux.is_zero
    g = flux.evaluate(x, random(5, 3), state)
    torch.testing.assert_close(g[:, 0], x[:, 0] * (1 + u**2) + x[:, 1])
    assert not g[:, 1:].any()
    jacobian = flux.jacobian(x, random(5, 3), state)
    expected = by_differences(lambda s: flux.evaluate(x, random(5, 3), s), state)
    torch.testing.assert_close(jacobian, expected, rtol=1e-6, atol=1e-8)


def test_conditions_over_time_see_the_normal_of_space():
    sides = {
        "left": {"u": Natural(lambda x, n, u, v: n @ v.value), "v": Neumann(lambda x, t: t * x)},
        "right": {"u": Natural(lambda x, t, n, u, v: t * (n @ u.grad) + u.dt), "v": Robin(lambda x, t: t, 2.0)},
    }
    problem = Problem(OVER_TIME, density=density, fields=(U, V), boundary=sides)
    x, state = random(4, 3), random(4, 3, 4, seed=1)
    n = torch.cat([random(4, 2, seed=2), torch.zeros(4, 1, dtype=torch.float64)], 1)
    t = x[:, 2, None]
    left, right = (BoundaryFlux(problem, name).evaluate(x, n, state) for name in ("left", "right"))
    torch.testing.assert_close(left[:, 0], (n[:, :2] * state[:, 1:, 0]).sum(1))
    torch.testing.assert_close(left[:, 1:], t * x[:, :2])
    torch.testing.assert_close(right[:, 0], t[:, 0] * (n[:, :2] * state[:, 0, 1:3]).sum(1) + state[:, 0, 3])
    torch.testing.assert_close(right[:, 1:], 2.0 - t * state[:, 1:, 0])
    value = dirichlet_values(Dirichlet(lambda x, t: x[0] * t), U, x, "left", True)
    torch.testing.assert_close(value[0], x[:, 0] * x[:, 2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"flux": lambda x, u: torch.stack([*u.grad, 0 * u.value])}, r"has shape \(3,\), expected \(2,\)"),
        ({"density": lambda x, u: u.grad}, r"density of field 'u' has shape \(2,\), expected \(\)"),
        ({"source": lambda x, u: u.grad[2]}, "failed: IndexError"),
        ({"source": lambda x, u: x[2]}, "failed: IndexError"),
    ],
)
def test_time_among_the_coordinates_is_refused(options, message):
    with pytest.raises(PcpinnError, match=message):
        Pointwise(Problem(OVER_TIME, **options)).evaluate(random(4, 3), random(4, 1, 4))


def test_what_takes_time_for_a_coordinate_is_told_better():
    padded = Pointwise(Problem(OVER_TIME, lambda x, u: torch.stack([*u.grad, 0 * u.value])))
    indexed = Pointwise(Problem(OVER_TIME, source=lambda x, u: u.grad[2]))
    for pointwise, remedy in ((padded, "d counting space alone"), (indexed, "its derivative u.dt")):
        with pytest.raises(PcpinnError) as caught:
            pointwise.evaluate(random(4, 3), random(4, 1, 4))
        assert remedy in caught.value.remedy


@pytest.mark.parametrize(
    ("condition", "vanishes"), [(Neumann(0), True), (Neumann(0.5), False), (Neumann(lambda x: 0.0), False)]
)
def test_vanishing_flux(condition, vanishes):
    """Neumann(0) is a natural condition that leaves nothing to integrate; functions are not judged."""
    flux = BoundaryFlux(Problem(SQUARE, flux_of_u, fields=(U, V), boundary={"left": {"u": condition}}), "left")
    assert not flux.is_zero
    assert flux.vanishes == vanishes


@pytest.mark.parametrize("timed", [False, True])
def test_a_density_is_called_once_per_evaluation(timed):
    """One that is not the value of a field is differentiated at once after the first call, by t only if it takes it."""
    calls = []

    def of_space(x, u):
        calls.append(x.shape)
        return (2 + x[0]) * u.value

    def of_time(x, t, u):
        return (1 + t) * of_space(x, u)

    problem = Problem(
        SQUARE.over(0, 1),
        lambda x, u: u.grad,
        density=of_time if timed else of_space,
        boundary={"initial": Initial(0.0)},
    )
    pointwise = Pointwise(problem)
    x, state = random(5, 3), random(5, 1, 4, seed=1)
    a, u, u_t = 2 + x[:, 0], state[:, 0, 0], state[:, 0, -1]
    expected = (1 + x[:, 2]) * a * u_t + a * u if timed else a * u_t
    pointwise.evaluate(x, state)
    calls.clear()
    torch.testing.assert_close(pointwise.evaluate(x, state)[:, 0, 0], expected, rtol=1e-14, atol=1e-14)
    assert len(calls) == 1
