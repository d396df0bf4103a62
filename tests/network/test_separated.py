"""Tables of cosines and waves by their factors along the axes, against the tables themselves."""

import pytest
import torch

from pcpinn.network import dense
from pcpinn.network.recipe import MLP, Place

PLACES = {"cosines": Place([-1.0, 0.0], [1.0, 3.0], 2), "waves": Place([-1.0, 0.0], [1.0, 3.0], 2, periodic=(0, 1))}


def grid(place, shape=(9, 7), some=True):
    """Points of a grid in any order, some of them left out."""
    axes = [
        torch.linspace(a, b, n, dtype=torch.float64) for a, b, n in zip(place.lower, place.upper, shape, strict=True)
    ]
    points = torch.cartesian_prod(*axes)
    order = torch.randperm(len(points), generator=torch.Generator().manual_seed(0))
    return points[order[5:] if some else order]


def network_of(kind, count=3):
    network = MLP(depth=0, features=kind, feature_count=count).build(PLACES[kind], 0, torch.float64)
    with torch.no_grad():
        network.theta.copy_(torch.randn(len(network.theta), generator=torch.Generator().manual_seed(1)))
    return network


@pytest.mark.parametrize("kind", PLACES)
def test_products_and_values_are_those_of_the_table(kind, monkeypatch):
    network, x = network_of(kind), grid(PLACES[kind])
    assert network.place(x).separated is None  # small tables are stored
    table = network.encode(x)
    whole = network.place(x)
    monkeypatch.setattr(dense, "LARGE", 0)
    placed = network.place(x)
    features = placed.separated
    assert features.shape == table.shape
    random = torch.Generator().manual_seed(2)
    w, v = (torch.randn(n, 3, generator=random, dtype=torch.float64) for n in (table.shape[1], table.shape[0]))
    torch.testing.assert_close(features.product(w), table @ w, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(features.transposed(v), table.T @ v, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(placed.values(), whole.values(), rtol=1e-12, atol=1e-12)
    ours, known = (
        torch.autograd.grad((p.evaluate(network.theta) ** 2).sum(), network.theta)[0] for p in (placed, whole)
    )
    torch.testing.assert_close(ours, known, rtol=1e-11, atol=1e-11)
    fine = network.encode(grid(PLACES[kind], (40, 40), some=False))
    torch.testing.assert_close((fine**2).mean(0), features.squares, rtol=0.1, atol=0.0)


def test_points_off_a_grid_and_other_inputs_keep_their_table(monkeypatch):
    monkeypatch.setattr(dense, "LARGE", 0)
    place = PLACES["cosines"]
    scattered = torch.rand(50, 2, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    assert network_of("cosines").place(scattered).separated is None
    assert MLP(depth=0, features="log").build(place, 0, torch.float64).place(grid(place)).separated is None
    assert MLP(depth=1, features="cosines", width=4).build(place, 0, torch.float64).place(grid(place)).separated is None
