import pytest
import torch

from pcpinn.network.recipe import Place
from pcpinn.network.subdomains import FBPINN, Subdomains


def net(d=2, parts=3, overlap=0.5):
    torch.manual_seed(0)
    return Subdomains(d, 1, 4, 2, parts, overlap)


@pytest.mark.parametrize("d", [1, 2])
def test_windows_add_up_to_one_and_are_local(d):
    module = net(d)
    x = 2 * torch.rand(200, d, generator=torch.Generator().manual_seed(0), dtype=torch.float64) - 1
    windows = module.windows(x)
    assert windows.shape == (3**d, 200)
    torch.testing.assert_close(windows.sum(0), torch.ones(200, dtype=torch.float64))
    centre = (module.lower + module.upper) / 2
    assert (module.windows(centre).diagonal() > 0.9).all()
    assert windows.min() >= 0


def test_one_part_is_one_network():
    module = net(parts=1)
    x = torch.rand(5, 2, dtype=torch.float64)
    a = x
    for k, (w, c) in enumerate(zip(module.weights, module.biases, strict=True)):
        a = a @ w[0].T + c[0]
        a = a if k == 2 else torch.tanh(a)
    torch.testing.assert_close(module(x), a)


def test_parts_see_coordinates_of_their_own():
    """The same weights everywhere: the same function of each part's own coordinate, at its centre."""
    module = net(1, parts=4, overlap=0.05)
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(p[:1].expand_as(p))
        values = module((module.lower + module.upper) / 2)
    torch.testing.assert_close(values, values[:1].expand_as(values), rtol=1e-3, atol=1e-6)


def test_is_differentiable_in_points_and_weights():
    network = FBPINN(width=3).build(Place([0.0, 0.0], [1.0, 2.0], 2), 0, torch.float64)
    assert network.parameter_count == 4 * (3 * 2 + 3 + 3 * 3 + 3 + 2 * 3 + 2)
    x = torch.rand(4, 2, dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(network(x).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), network.theta)
    assert torch.isfinite(h).all()
