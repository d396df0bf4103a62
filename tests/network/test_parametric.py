"""Networks of families: at given parameters they are perceptrons of the place; Jacobians against automatic ones."""

import pytest
import torch

from pcpinn.network import query
from pcpinn.network.grow import widened
from pcpinn.network.recipe import MLP, Place
from pcpinn.network.trunk_branch import PlacedProduct, TrunkBranch
from pcpinn.solution.folder import read_network, write_network

PLACE = Place([0.0, -1.0], [2.0, 1.0], 2)
RECIPES = [
    MLP(width=5, depth=2),
    TrunkBranch(width=5, depth=2, features="none", branch_width=4, branch_depth=2),
    TrunkBranch(width=5, depth=2, features="none", branch_depth=0),
    TrunkBranch(
        width=5, depth=1, features="none", branch_depth=1, activation="sin", branch_activation="tanh", sized=True
    ),
]


@pytest.fixture(params=RECIPES, ids=lambda r: r.name)
def network(request):
    made = request.param.build_family(PLACE, 3, 0, torch.float64)
    made.output_scale = torch.tensor([0.7, 20.0], dtype=torch.float64)  # a unit for each output
    if getattr(made, "sized", False):
        with torch.no_grad():
            for part in made.size_layer(made.theta):
                part.normal_(0, 0.3, generator=torch.Generator().manual_seed(2))
    return made


def points(n=6):
    generator = torch.Generator().manual_seed(1)
    z = 2 * torch.rand(2, 3, generator=generator, dtype=torch.float64) - 1
    x = torch.rand(n // 2, 2, generator=generator, dtype=torch.float64)
    return z, x, torch.cat([z.repeat_interleave(len(x), 0), x.repeat(2, 1)], 1)


def test_at_given_parameters(network):
    z, x, both = points()
    values = network(both).reshape(2, len(x), 2)
    for k in range(2):
        assert torch.allclose(network.at(z[k])(x), values[k], atol=1e-14)


def test_one_set_of_parameters(network):
    z, x, both = points()
    values = network(both).reshape(2, len(x), 2)
    for k in range(2):
        one, place = z[k].clone().requires_grad_(True), x.clone().requires_grad_(True)
        found = network.for_one(one, place)
        assert torch.allclose(found, values[k], atol=1e-13)
        by_place, by_parameters = torch.autograd.grad(found.sum(), (place, one))
        pairs = both[k * len(x) : (k + 1) * len(x)].clone().requires_grad_(True)
        (whole,) = torch.autograd.grad(network(pairs).sum(), pairs)
        assert torch.allclose(by_place, whole[:, 3:], atol=1e-12)
        assert torch.allclose(by_parameters, whole[:, :3].sum(0), atol=1e-12)


def test_a_grid_of_parameters_and_places():
    network = RECIPES[1].build_family(PLACE, 3, 0, torch.float64)
    z, x, both = points()
    placed, theta = PlacedProduct.on_grid(network, z, x), network.theta.detach()
    assert torch.allclose(placed.evaluate(theta), network(both), atol=1e-14)
    few = both[[0, 4]]  # not a grid
    assert torch.allclose(network.place(few).evaluate(theta), network(few), atol=1e-14)


def test_wider_networks_are_the_same_function(network):
    _, _, both = points()
    grown = widened(network, 9, seed=1)
    assert grown.parameter_count > network.parameter_count
    assert torch.allclose(grown(both), network(both), atol=1e-14)
    (slope,) = torch.autograd.grad(grown(both).square().sum(), grown.theta)
    assert (slope != 0).sum() > network.parameter_count  # new units learn


def test_jacobian(network):
    _, _, both = points()
    component = torch.arange(len(both)) % 2
    rows = torch.func.jacrev(lambda t: network.evaluate(t, both).gather(1, component[:, None])[:, 0])(network.theta)
    assert torch.allclose(network.jacobian(both, component), rows, atol=1e-13)


def test_placed(network):
    _, _, both = points()
    placed, theta = network.place(both), network.theta.detach()
    assert torch.allclose(placed.evaluate(theta), network(both), atol=1e-14)
    assert torch.allclose(placed.values(), network(both), atol=1e-14)
    v = torch.randn(len(theta), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    h = 1e-3
    difference = (
        network.evaluate(theta + h * v, both) - 2 * network(both) + network.evaluate(theta - h * v, both)
    ) / h**2
    assert torch.allclose(placed.bend(theta, v), difference, rtol=1e-3, atol=1e-4)


def test_on_disk(network, tmp_path):
    write_network(tmp_path / "network.safetensors", network)
    again = read_network(tmp_path / "network.safetensors")
    _, _, both = points()
    assert torch.equal(again(both), network(both))
    other = RECIPES[0].build_family(PLACE, 3, 1, torch.float64)
    assert other.copy_from(again) == (type(other) is type(again))


@pytest.mark.parametrize("activation", ["tanh", "silu"])
def test_queries(activation):
    """Values without derivatives are the same to rounding; in single precision to that of it."""
    for recipe in (MLP(width=7, depth=3, activation=activation), TrunkBranch(width=7, depth=2, activation=activation)):
        network = recipe.build_family(PLACE, 3, 0, torch.float64)
        network.output_scale = torch.tensor([0.7, 20.0], dtype=torch.float64)
        z, x, _ = points(40)
        wanted, found = network.for_one(z[0], x).detach(), network.query_one(z[0], x)
        assert not found.requires_grad
        assert torch.allclose(found, wanted, rtol=0, atol=1e-14 * float(wanted.abs().max()))
        single = network.query_one(z[0], x, torch.float32)
        assert single.dtype == torch.float64
        assert 1e-9 < float((single - wanted).norm() / wanted.norm()) < 1e-5


def test_queries_at_the_same_places_again(monkeypatch):
    """Hidden units are computed once for all parameters, and anew where places, weights or precision are others."""
    count = []
    monkeypatch.setattr(query, "through_hidden", lambda *a, own=query.through_hidden: count.append(1) or own(*a))
    network = TrunkBranch(width=7, depth=2, activation="tanh").build_family(PLACE, 3, 0, torch.float64)
    z, x, _ = points(40)

    def asked(z, x):
        found, wanted = network.query_one(z, x), network.for_one(z, x).detach()
        assert torch.allclose(found, wanted, rtol=0, atol=1e-14 * float(wanted.abs().max()))
        return len(count)

    assert [asked(z[0], x), asked(z[1], x), asked(z[1], x.clone())] == [1, 1, 1]
    x[3, 0] += 0.1
    assert asked(z[0], x) == 2
    assert asked(z[0], x[:5]) == 3
    with torch.no_grad():
        network.layers(network.theta)[0][1][0][2, 1] += 0.5
    assert asked(z[0], x[:5]) == 4
    network.query_one(z[0], x[:5], torch.float32)
    assert len(count) == 5
    monkeypatch.setattr(query, "_KEPT", 34)
    assert [asked(z[0], x[:5]), asked(z[0], x[:5])] == [6, 7]  # too many to be kept
