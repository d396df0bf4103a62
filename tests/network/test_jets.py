"""Values, slopes and second derivatives carried forward, against reverse-mode automatic differentiation."""

import pytest
import torch

from pcpinn.network.activations import ACTIVATIONS
from pcpinn.network.adaptive import GAAF, LAAF
from pcpinn.network.jets import jet_of, times
from pcpinn.network.recipe import MLP, Place
from pcpinn.network.seconds import Seconds, all_pairs
from pcpinn.network.subdomains import FBPINN

PLACE = Place([0.0, -1.0, 2.0], [2.0, 1.0, 5.0], 2, kinks=((0.7,), (), ()), corners=((3.0, 2.0, 6.0),), start=1e-2)
NETWORKS = {
    **{f"mlp {a}": (MLP(width=7, depth=2, activation=a), PLACE) for a in ACTIVATIONS if a != "exp"},
    "exp": (MLP(width=7, depth=1, activation="exp", initialisation="radial", features="none"), Place([0.0], [2.0], 1)),
    "no layer": (MLP(depth=0, features="series"), Place([0.0, 1.0], [1.0, 3.0], 1)),
    "periodic": (MLP(width=5, depth=1), Place([0.0, 1.0], [1.0, 3.0], 1, periodic=(1,))),
    "laaf": (LAAF(width=6, depth=2, factor=10.0, per="neuron"), PLACE),
    "laaf by layer": (LAAF(width=6, depth=2, factor=3.0), PLACE),
    "gaaf": (GAAF(width=6, depth=3), PLACE),
    "fbpinn": (FBPINN(width=5, depth=2, parts=2), Place([0.0, -1.0], [2.0, 1.0], 2)),
}


def points_of(place, n=9):
    random = torch.rand(n, len(place.lower), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    lower, upper = (torch.tensor(c, dtype=torch.float64) for c in (place.lower, place.upper))
    return lower + (upper - lower) * random


def by_reverse_mode(network, theta, x, pairs):
    x = x.clone().requires_grad_()
    rows = [[], [[] for _ in range(x.shape[1])], [[] for _ in pairs]]
    for column in network.evaluate(theta, x).unbind(1):
        rows[0].append(column)
        slope = torch.autograd.grad(column.sum(), x, create_graph=True)[0]
        for i in range(x.shape[1]):
            rows[1][i].append(slope[:, i])
        for k, (i, j) in enumerate(pairs):
            second = torch.autograd.grad(slope[:, i].sum(), x, create_graph=True, allow_unused=True)[0]
            rows[2][k].append(torch.zeros_like(slope[:, 0]) if second is None else second[:, j])
    return torch.stack([torch.stack(r, 1) for r in (rows[0], *rows[1], *rows[2])])


@pytest.mark.parametrize("name", NETWORKS)
def test_jets_and_their_gradients_are_those_of_automatic_differentiation(name):
    recipe, place = NETWORKS[name]
    network = recipe.build(place, 3, torch.float64)
    network.output_scale = torch.tensor(1.7, dtype=torch.float64)
    with torch.no_grad():
        network.theta.add_(0.1 * torch.randn(len(network.theta), generator=torch.Generator().manual_seed(1)))
    x, pairs = points_of(place), all_pairs(len(place.lower))
    jet = network.jets(x, Seconds(pairs))(network.theta)
    known = by_reverse_mode(network, network.theta, x, pairs)
    torch.testing.assert_close(jet, known, rtol=1e-12, atol=1e-12 * float(known.detach().abs().max()))
    weights = torch.randn(jet.shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    ours, theirs = (torch.autograd.grad((weights * j).sum(), network.theta)[0] for j in (jet, known))
    torch.testing.assert_close(ours, theirs, rtol=1e-11, atol=1e-12 * float(theirs.abs().max()))


def test_some_pairs_alone():
    recipe, place = NETWORKS["mlp tanh"]
    network, x = recipe.build(place, 3, torch.float64), points_of(place)
    full, pairs = network.jets(x, Seconds.all(3))(network.theta), all_pairs(3)
    for some in ((), ((0, 0), (1, 1)), ((0, 1), (2, 2))):
        own = network.jets(x, Seconds(some))(network.theta)
        wanted = torch.cat([full[:4], *(full[4 + pairs.index(p)][None] for p in some)])
        torch.testing.assert_close(own, wanted, rtol=1e-13, atol=1e-13)


def test_product():
    x, pairs = points_of(Place([0.0, 1.0], [1.0, 2.0], 1)), Seconds.all(2)
    f, g = (lambda p: torch.sin(p[:, :1] * p[:, 1:])), (lambda p: torch.exp(p[:, :1]) + p[:, 1:] ** 3)
    product = times(jet_of(f, x, pairs), jet_of(g, x, pairs), 2, pairs)
    torch.testing.assert_close(product, jet_of(lambda p: f(p) * g(p), x, pairs), rtol=1e-12, atol=1e-12)


def summed(full, d, weights):
    """The jet with one row for all second derivatives, of one with a row for each."""
    rows = sum(c * full[1 + d + k] for k, c in enumerate(weights))
    return torch.cat([full[: 1 + d], rows[None]])


@pytest.mark.parametrize("name", NETWORKS)
def test_a_sum_and_its_gradient_are_those_of_its_parts(name):
    recipe, place = NETWORKS[name]
    network, x, d = recipe.build(place, 3, torch.float64), points_of(place), len(place.lower)
    weights = tuple(1.0 - 0.4 * k for k in range(len(all_pairs(d))))
    known = summed(network.jets(x, Seconds.all(d))(network.theta), d, weights)
    jet = network.jets(x, Seconds(all_pairs(d), weights))(network.theta)
    torch.testing.assert_close(jet, known, rtol=1e-12, atol=1e-12 * float(known.detach().abs().max()))
    by = torch.randn(jet.shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    ours, theirs = (torch.autograd.grad((by * j).sum(), network.theta)[0] for j in (jet, known))
    torch.testing.assert_close(ours, theirs, rtol=1e-11, atol=1e-12 * float(theirs.abs().max()))


def test_a_sum_can_be_differentiated_twice():
    recipe, place = NETWORKS["mlp tanh"]
    network, x = recipe.build(place, 3, torch.float64), points_of(place)
    pairs, weights = ((0, 0), (1, 2)), (1.0, -0.3)
    found = []
    for seconds in (Seconds(pairs, weights), Seconds(pairs)):
        jet = network.jets(x, seconds)(network.theta)
        jet = jet if seconds.summed else summed(jet, 3, weights)
        (gradient,) = torch.autograd.grad((jet**2).sum(), network.theta, create_graph=True)
        found.append(torch.autograd.grad((gradient**2).sum(), network.theta)[0])
    torch.testing.assert_close(*found, rtol=1e-10, atol=1e-10 * float(found[1].abs().max()))


def test_product_with_a_sum():
    x, weights = points_of(Place([0.0, 1.0], [1.0, 2.0], 1)), (1.0, 0.5, -0.25)
    f, g = (lambda p: torch.sin(p[:, :1] * p[:, 1:])), (lambda p: torch.exp(p[:, :1]) + p[:, 1:] ** 3)
    one = Seconds(all_pairs(2), weights)
    product = times(jet_of(f, x, one), jet_of(g, x, one), 2, one)
    known = summed(jet_of(lambda p: f(p) * g(p), x, Seconds.all(2)), 2, weights)
    torch.testing.assert_close(product, known, rtol=1e-12, atol=1e-12)
