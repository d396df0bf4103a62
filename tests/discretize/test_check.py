"""What is found out about flux and source before anything is built on them."""

import pytest
import torch

from pcpinn import Field, Problem, Rectangle
from pcpinn.discretize.check import check_pointwise
from pcpinn.discretize.pointwise import Pointwise
from pcpinn.errors import PcpinnError

X = torch.rand(20, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def check(flux=None, source=None, fields="u"):
    return check_pointwise(Pointwise(Problem(Rectangle((0, 0), (1, 1)), flux, source, fields=fields)), X)


@pytest.mark.parametrize(
    ("flux", "source"),
    [
        (lambda x, u: u.grad.detach(), None),
        (lambda x, u: u.grad, lambda x, u: u.value.detach()),
        (lambda x, u: u.grad, lambda x, u: u.value + (u.value**2).detach()),
        (None, lambda x, u: torch.floor(1e8 * u.value) / 1e8),
        (None, lambda x, u: torch.round(u.value, decimals=7)),
    ],
)
def test_functions_outside_autograd_are_found(flux, source):
    with pytest.raises(PcpinnError, match="not differentiable: at x = ") as caught:
        check(flux, source)
    assert "detach" in caught.value.remedy


def test_constants_in_single_precision_are_named():
    single = torch.tensor([3.0, -1.7])
    with pytest.raises(PcpinnError, match="flux or source computes in single precision") as caught:
        check(lambda x, u: u.grad - single * u.value)
    assert "float64" in caught.value.remedy
    assert check(lambda x, u: u.grad - single.to(x) * u.value)
    assert check(
        lambda x, u: u.grad - torch.tensor([3.0, -1.7]) * u.value
    )  # made there, it has the precision of the point
    assert check(lambda x, u: single * x[0] + u.grad)  # no more than seven digits of data


@pytest.mark.parametrize("source", [lambda x, u: torch.round(u.value), lambda x, u: torch.round(50 * u.value) / 50])
def test_coarse_rounding_is_refused_or_nonlinear(source):
    try:
        linear = check(lambda x, u: u.grad, source)
    except PcpinnError:
        linear = False
    assert not linear


def test_no_grad_cannot_spoil_the_derivative():
    """Forward mode does not know of it: what is written inside counts as if it were outside."""

    @torch.no_grad()
    def source(x, u):
        return u.value**2

    pointwise = Pointwise(Problem(Rectangle((0, 0), (1, 1)), None, source))
    state = torch.randn(20, 1, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(pointwise.jacobian(X, state)[:, 0, 0, 0, 0], 2 * state[:, 0, 0])
    assert check_pointwise(pointwise, X) is False


@pytest.mark.parametrize(
    ("linear", "flux", "source"),
    [
        (True, lambda x, u: u.grad, None),
        (True, lambda x, u: torch.exp(x[0]) * u.grad + x, lambda x, u: x @ u.grad + 3 * u.value - torch.sin(x[1])),
        (True, lambda x, u: 1e9 * u.grad, lambda x, u: 1e-9 * u.value),
        (True, None, lambda x, u: -1.0),
        (False, lambda x, u: (1 + u.value**2) * u.grad, None),
        (False, lambda x, u: u.grad, lambda x, u: u.value * u.grad[0]),
        (False, lambda x, u: u.grad, lambda x, u: torch.abs(u.value)),
        (False, lambda x, u: u.grad, lambda x, u: torch.where(x[0] > 0.9, u.value**3, 0.0)),
        (False, lambda x, u: u.grad / torch.sqrt(1 + u.grad @ u.grad), None),
    ],
)
def test_linear_or_not(linear, flux, source):
    assert check(flux, source) is linear


def test_coupling_of_fields_counts():
    fields = ("u", Field("v", components=2))
    assert check(lambda x, u, v: (v.value, v.grad), None, fields) is True
    assert check(lambda x, u, v: (u.value * v.value, v.grad), None, fields) is False


@pytest.mark.parametrize("what", ["value", "derivative"])
def test_values_that_are_not_finite_are_named_with_their_point(what):
    bad = X[7].clone()
    hit = lambda x: ((x - bad) ** 2).sum() < 1e-20  # noqa: E731
    source, message = {
        "value": (lambda x, u: torch.where(hit(x), torch.nan, u.value), "flux or source is not finite"),
        "derivative": (
            lambda x, u: torch.sqrt(torch.where(hit(x), u.value - u.value, 1.0)),
            "the derivative of flux or source",
        ),
    }[what]
    with pytest.raises(PcpinnError, match=message) as caught:
        check(lambda x, u: u.grad, source)
    assert str(bad.tolist()) in str(caught.value)


def test_a_kink_is_not_a_broken_derivative():
    assert check(lambda x, u: torch.relu(u.grad), None) is False


@pytest.mark.parametrize(
    "source",
    [
        lambda x, u: u.value * torch.log(u.value),
        lambda x, u: u.value**1.5,
        lambda x, u: torch.log(u.value) - torch.log(1 - u.value),
        lambda x, u: -4e7 * torch.exp(-3000 / u.value),
        lambda x, u: torch.sqrt(u.value - 273.15),
    ],
)
def test_functions_of_positive_values_are_nonlinear_not_refused(source):
    assert check(lambda x, u: u.grad, source) is False


def test_functions_without_a_value_are_refused_at_the_point():
    with pytest.raises(PcpinnError, match="flux or source is not finite at x"):
        check(lambda x, u: u.grad, lambda x, u: torch.log(u.value) + torch.log(x[0] - 0.5))
