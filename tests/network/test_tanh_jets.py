"""Jets through tanh: the plain form against automatic differentiation, and what is made of kernels that differ from it."""

import pytest
import torch

from pcpinn.network import tanh_jets, tanh_kernels
from pcpinn.network.activations import ACTIVATIONS
from pcpinn.network.jets import _plainly
from pcpinn.network.seconds import Seconds

CPU = torch.device("cpu")
MIXED = ((0, 0), (0, 1), (1, 1))


@pytest.mark.parametrize(
    "seconds", [Seconds(), Seconds(((0, 0), (1, 1))), Seconds(MIXED), Seconds(MIXED, (1.0, -0.5, 0.25))]
)
@pytest.mark.parametrize("parts", [(), (3,)])
def test_there_and_back_as_automatic_differentiation_has_it(seconds, parts):
    random = torch.Generator().manual_seed(0)

    def drawn(*shape):
        return torch.randn(*parts, *shape, generator=random, dtype=torch.float64)

    z, bias, g = drawn(3 + seconds.rows, 4, 5).requires_grad_(), drawn(5), drawn(3 + seconds.rows, 4, 5)
    unit = torch.eye(5, dtype=torch.float64).expand(*parts, 5, 5)
    known = _plainly(z, unit, bias, ACTIVATIONS["tanh"], 2, seconds)
    jet = tanh_jets.forward(z.detach().clone(), bias, 2, seconds)
    torch.testing.assert_close(jet, known.detach(), rtol=1e-13, atol=1e-13)
    by_z = torch.autograd.grad(known, z, g)[0]
    torch.testing.assert_close(tanh_jets.backward(jet, g, 2, seconds), by_z, rtol=1e-12, atol=1e-12)


def test_other_forms_must_agree_with_the_plain_one():
    def wrong(jet, g, d, seconds):
        return tanh_jets.backward(jet, g, d, seconds) * (1 + 1e-4)

    for dtype in (torch.float32, torch.float64):
        assert tanh_jets.agree(tanh_jets.PLAIN, CPU, dtype)
        assert not tanh_jets.agree(tanh_jets.Ways(tanh_jets.forward, wrong), CPU, dtype)


@pytest.mark.parametrize("error", [RuntimeError("no compiler"), None])
def test_without_kernels_the_plain_form_is_taken(monkeypatch, error):
    def fail(*_):
        raise error

    monkeypatch.setattr(tanh_kernels, "there", lambda: error is not None)
    monkeypatch.setattr(tanh_kernels, "forward", fail)
    tanh_jets._fused.cache_clear()
    assert tanh_jets._fused(CPU, torch.float64) is tanh_jets.PLAIN
    tanh_jets._fused.cache_clear()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="kernels need a GPU")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_kernels_agree(dtype):
    kernels = tanh_jets.Ways(tanh_kernels.forward, tanh_kernels.backward)
    assert tanh_jets.agree(kernels, torch.device("cuda"), dtype)
