"""Activations: values against torch's own, derivatives against autograd in reverse and forward mode."""

import pytest
import torch
from torch.func import grad, jvp, vmap

from pcpinn.network.activations import ACTIVATIONS

OWN = {
    "tanh": torch.tanh,
    "silu": torch.nn.functional.silu,
    "gelu": torch.nn.functional.gelu,
    "sin": torch.sin,
    "exp": torch.exp,
}
Z = torch.linspace(-6, 6, 241, dtype=torch.float64)


def test_all_are_known():
    assert ACTIVATIONS.keys() == OWN.keys()


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_value(name):
    torch.testing.assert_close(ACTIVATIONS[name].value(Z), OWN[name](Z), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_derivative_against_autograd(name):
    z = Z.clone().requires_grad_(True)
    for function in (ACTIVATIONS[name].value, OWN[name]):
        (expected,) = torch.autograd.grad(function(z).sum(), z)
        torch.testing.assert_close(ACTIVATIONS[name].derivative(Z), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_second_derivative_in_forward_mode(name):
    """What Gauss-Newton's acceleration takes: a derivative along v of the derivative along v."""
    f = ACTIVATIONS[name].value
    v = torch.cos(3 * Z)

    def along(z):
        return jvp(f, (z,), (v,))[1]

    second = vmap(grad(grad(lambda z: f(z[None])[0])))(Z)  # in reverse mode
    first_along, second_along = jvp(along, (Z,), (v,))
    torch.testing.assert_close(first_along, ACTIVATIONS[name].derivative(Z) * v, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(second_along, second * v**2, rtol=1e-9, atol=1e-11)
    step = 1e-4
    slope = ACTIVATIONS[name].derivative
    torch.testing.assert_close(second, (slope(Z + step) - slope(Z - step)) / (2 * step), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", [name for name in ACTIVATIONS if name != "exp"])
def test_far_out_nothing_overflows(name, dtype):
    z = torch.tensor([-1e4, -100.0, 0.0, 100.0, 1e4], dtype=dtype)
    for function in (ACTIVATIONS[name].value, ACTIVATIONS[name].derivative):
        assert function(z).dtype == dtype
        assert torch.isfinite(function(z)).all()


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_the_fused_kernel_is_the_same_function(name):
    z = Z.clone().requires_grad_(True)
    fused = ACTIVATIONS[name].fused(z)
    torch.testing.assert_close(fused.detach(), ACTIVATIONS[name].value(Z), rtol=1e-12, atol=1e-14)
    (slope,) = torch.autograd.grad(fused.sum(), z)
    torch.testing.assert_close(slope, ACTIVATIONS[name].derivative(Z), rtol=1e-10, atol=1e-12)
