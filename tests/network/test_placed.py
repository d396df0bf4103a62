"""Networks at points that stay: what is kept is what would be computed anew."""

import pytest
import torch
from memory_of_tensors import most_held

from pcpinn.network import Architecture, DenseNetwork, Features, dense
from pcpinn.network.placed import PlacedNetwork


def placed(depth=2, points=11, room=float("inf"), width=6, activation="tanh"):
    architecture = Architecture(width, depth, activation, features=Features("log", 2))
    network = DenseNetwork(architecture, [0.0], [2.0], 3, torch.Generator().manual_seed(0))
    x = torch.linspace(0, 2, points, dtype=torch.float64)[:, None]
    return network, x, PlacedNetwork(network, x, room)


def test_values_follow_every_change_of_the_weights():
    network, x, at = placed()
    with torch.no_grad():
        torch.testing.assert_close(at.values(), network(x))
        network.theta[-network.head_size :] += 0.3  # the last layer alone
        torch.testing.assert_close(at.values(), network(x))
        network.theta[0] += 0.5  # a hidden one
        torch.testing.assert_close(at.values(), network(x))
        network.output_scale.fill_(7.0)
        torch.testing.assert_close(at.values(), network(x))


def test_hidden_layers_are_evaluated_once_while_they_stay():
    network, _, at = placed()
    first = at.hidden()
    with torch.no_grad():
        network.theta[-1] += 1.0
    assert at.hidden() is first
    with torch.no_grad():
        network.theta[0] += 1.0
    assert at.hidden() is not first


def test_without_hidden_layers_the_features_themselves_are_kept():
    network, x, at = placed(depth=0)
    assert at.hidden() is at.encoded
    torch.testing.assert_close(at.values(), network(x).detach())


@pytest.mark.parametrize("activation", ["tanh", "silu", "gelu", "sin"])
@pytest.mark.parametrize("depth", [0, 1, 2, 4])
def test_second_derivatives_along_weights_are_those_of_forward_mode(depth, activation):
    network, _, at = placed(depth, activation=activation)
    network.output_scale.fill_(7.0)
    theta, v = (
        network.theta.detach(),
        torch.randn(len(network.theta), dtype=torch.float64, generator=torch.Generator().manual_seed(1)),
    )

    def along(weights):
        return torch.func.jvp(at.evaluate, (weights,), (v,))[1]

    expected = torch.func.jvp(along, (theta,), (v,))[1]
    assert bool(depth) == bool(expected.abs().max() > 0.1)
    torch.testing.assert_close(at.bend(theta, v), expected)


@pytest.mark.parametrize("depth", [0, 2])
def test_what_does_not_fit_is_made_a_part_at_a_time(depth):
    """Values, features, gradients and second derivatives are those of a table that is kept."""
    network, _, whole = placed(depth, points=300)
    few = PlacedNetwork(network, whole.points, room=1.0)
    assert few.encoded is None
    assert few.rows == 64
    torch.testing.assert_close(few.values(), whole.values())
    with torch.no_grad():
        network.theta += 0.1
    torch.testing.assert_close(few.values(), whole.values())
    some = torch.tensor([250, 3, 70])
    torch.testing.assert_close(few.at(some), whole.at(some))
    v = torch.linspace(-1, 1, len(network.theta), dtype=torch.float64)
    torch.testing.assert_close(few.bend(network.theta.detach(), v), whole.bend(network.theta.detach(), v))
    pulled = torch.linspace(1, 2, 900, dtype=torch.float64).reshape(300, 3)
    (found,), (expected,) = (
        torch.autograd.grad(at.evaluate(network.theta, fused=True), network.theta, pulled) for at in (few, whole)
    )
    torch.testing.assert_close(found, expected)


def test_hidden_layers_alone_are_made_anew_where_the_inputs_fit():
    network, x, at = placed(points=300, room=8 * 300 * 5 / 0.8)
    assert at.encoded is not None
    with torch.no_grad():
        torch.testing.assert_close(at.values(), network(x))


@pytest.mark.parametrize("depth", [0, 1])
def test_parts_stay_within_their_room(depth):
    network, x, _ = placed(depth, points=20_000, width=40)
    table = 8 * 20_000 * (5 if depth == 0 else 45)
    room = table / 3
    held = most_held(lambda: PlacedNetwork(network, x, room).values())
    answer = 8 * 20_000 * 3
    assert held - 4 * answer < room < table


def test_values_alone_need_little_memory_at_many_points(monkeypatch):
    """As a picture of a march over ten thousand waves asks for them."""
    waves = Architecture(6, 0, features=Features("log", 30))
    network = DenseNetwork(waves, [0.0], [2.0], 3, torch.Generator().manual_seed(0))
    x = torch.linspace(0, 2, 40_000, dtype=torch.float64)[:, None]
    whole = network(x).detach()
    monkeypatch.setattr(dense, "AT_ONCE", 10_000)
    with torch.no_grad():
        torch.testing.assert_close(network(x), whole)
        in_parts = most_held(lambda: network(x))
    monkeypatch.setattr(dense, "AT_ONCE", 2**26)
    with torch.no_grad():
        assert in_parts < 0.5 * most_held(lambda: network(x))
