"""Jets with third derivatives, against automatic differentiation of those without; kernels that differ are not taken."""

import pytest
import torch

from pcpinn.network import sloped
from pcpinn.network.activations import ACTIVATIONS
from pcpinn.network.recipe import MLP, Place
from pcpinn.network.seconds import Seconds, all_pairs

PLACE = Place([0.0, -1.0, 2.0], [2.0, 1.0, 5.0], 2)
SUM = Seconds(((0, 0), (0, 2), (1, 1)), (1.0, -0.5, 0.25))


@pytest.mark.parametrize("activation", ["tanh", "silu", "sin"])
def test_rows_are_derivatives(activation):
    """Of values and slopes by x in reverse mode; of the sum of second derivatives by central differences."""
    network = MLP(width=6, depth=2, activation=activation).build(PLACE, 3, torch.float64)
    random = torch.rand(5, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    x = torch.tensor(PLACE.lower) + random * (torch.tensor(PLACE.upper) - torch.tensor(PLACE.lower))
    theta = network.theta.detach()
    rows = network.sloped_jets(x, SUM)(theta)
    full = network.jets(x, Seconds.all(3))(theta)
    torch.testing.assert_close(rows[:10], full, rtol=1e-12, atol=1e-12)
    for k in range(3):
        step = torch.zeros(3, dtype=torch.float64)
        step[k] = 1e-5
        ahead, behind = (network.jets(x + s * step, SUM)(theta)[-1] for s in (1, -1))
        torch.testing.assert_close(
            rows[10 + k], (ahead - behind) / 2e-5, rtol=1e-5, atol=1e-6 * float(rows[10 + k].abs().max())
        )


def test_places():
    assert [sloped.place_of(3, i, j) for i, j in all_pairs(3)] == list(range(4, 10))
    assert sloped.place_of(3, 2, 0) == sloped.place_of(3, 0, 2)


def test_kernels_must_agree_with_the_plain_form():
    tanh = ACTIVATIONS["tanh"]

    def forward(z, bias, d, seconds):
        return sloped.activated(z, bias, tanh, d, seconds)

    def backward(z, bias, g, d, seconds):
        z = z.clone().requires_grad_()
        return torch.autograd.grad(forward(z, bias, d, seconds), z, g)[0]

    for dtype in (torch.float32, torch.float64):
        assert sloped.agree(forward, backward, torch.device("cpu"), dtype)
        wrong = (lambda *a: 1.0001 * forward(*a), backward), (forward, lambda *a: 1.0001 * backward(*a))
        assert not any(sloped.agree(*ways, torch.device("cpu"), dtype) for ways in wrong)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="kernels need a GPU")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_kernels_agree(dtype):
    from pcpinn.network import sloped_kernels

    assert sloped.agree(sloped_kernels.forward, sloped_kernels.backward, torch.device("cuda"), dtype)
