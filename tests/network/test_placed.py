"""Networks at points that stay: what is kept is what would be computed anew."""

import torch

from pcpinn.network import Architecture, DenseNetwork, Features
from pcpinn.network.placed import PlacedNetwork


def placed(depth=2):
    network = DenseNetwork(
        Architecture(6, depth, features=Features("log", 2)), [0.0], [2.0], 3, torch.Generator().manual_seed(0)
    )
    x = torch.linspace(0, 2, 11, dtype=torch.float64)[:, None]
    return network, x, PlacedNetwork(network, x)


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
