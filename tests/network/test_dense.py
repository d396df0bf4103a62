"""The network: its layer-by-layer Jacobian, scaled inputs, seeds, and what is refused."""

import dataclasses

import pytest
import torch
from torch.func import functional_call, jacrev

from pcpinn.errors import PcpinnError
from pcpinn.network import Architecture, DenseNetwork, Features
from pcpinn.network.activations import ACTIVATIONS
from pcpinn.network.initialisation import INITIALISATIONS

FEATURES = {
    "none": Features("none"),
    "log": Features("log", 3, -1, 1),
    "gaussian": Features("gaussian", 5, std=2.0),
    "list": Features("list", listed=((3.0, 5.0), (2.0,))),
    "start": Features("log", 2, -1, 1, start=0.01),
    "kinks": Features("log", 2, -1, 1, kinks=((0.5,), (0.2, 0.3))),
}
LOWER, UPPER = [-1.0, 0.0], [3.0, 0.5]


def network(outputs=1, seed=0, dtype=torch.float64, **choices):
    choices = {"width": 6, "depth": 2, "initialisation": "torch", **choices}
    return DenseNetwork(Architecture(**choices), LOWER, UPPER, outputs, torch.Generator().manual_seed(seed), dtype)


def points(n=9, seed=1):
    x = torch.rand(n, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return torch.tensor(LOWER) + x * (torch.tensor(UPPER) - torch.tensor(LOWER))


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_jacobian_equals_reverse_mode(activation, depth, features, outputs):
    if activation == "exp" and depth > 1:
        pytest.skip("radial units are one layer")
    radial = {"initialisation": "radial"} if activation == "exp" else {}
    net = network(outputs, activation=activation, depth=depth, features=FEATURES[features], **radial)
    x = points()
    component = torch.arange(len(x)) % outputs
    full = jacrev(lambda theta: functional_call(net, {"theta": theta}, (x,)))(net.theta.detach())  # (n, outputs, p)
    expected = full[torch.arange(len(x)), component]
    torch.testing.assert_close(net.jacobian(x, component), expected, rtol=1e-11, atol=1e-13)
    assert expected.shape == (9, net.parameter_count)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_derivatives_of_activations(activation):
    z = torch.linspace(-4, 4, 33, dtype=torch.float64, requires_grad=True)
    (expected,) = torch.autograd.grad(ACTIVATIONS[activation].value(z).sum(), z)
    torch.testing.assert_close(ACTIVATIONS[activation].derivative(z.detach()), expected, rtol=1e-12, atol=1e-14)


def test_forward_is_the_formula():
    """Features, hidden layers, a linear layer, with weights in the order weight, bias of each layer."""
    net = network(2, activation="sin", depth=1, width=3, features=FEATURES["log"])
    x = points(4)
    scaled = (x - torch.tensor([1.0, 0.25])) / torch.tensor([2.0, 0.25])
    frequencies = 2 * torch.pi * 2 ** torch.tensor([-1.0, 0.0, 1.0], dtype=torch.float64)
    phase = torch.cat([scaled[:, :1] * frequencies, scaled[:, 1:] * frequencies], dim=1)
    inputs = torch.cat([scaled, torch.sin(phase), torch.cos(phase)], dim=1)
    W1, b1, W2, b2 = net.theta.detach().split([3 * 14, 3, 2 * 3, 2])
    expected = torch.sin(inputs @ W1.reshape(3, 14).T + b1) @ W2.reshape(2, 3).T + b2
    torch.testing.assert_close(net(x).detach(), expected)
    assert net.parameter_count == 3 * 14 + 3 + 2 * 3 + 2


def test_inputs_are_scaled_from_the_box():
    """The same weights on a box and on a stretched one give the same function, stretched."""
    a = network()
    b = DenseNetwork(a.architecture, [10.0, -7.0], [50.0, 93.0], 1, torch.Generator().manual_seed(0))
    x = points()
    unit = (x - torch.tensor(LOWER)) / (torch.tensor(UPPER) - torch.tensor(LOWER))
    torch.testing.assert_close(a(x), b(torch.tensor([10.0, -7.0]) + unit * torch.tensor([40.0, 100.0])))
    corners = a.encode(torch.tensor([LOWER, UPPER], dtype=torch.float64))
    torch.testing.assert_close(corners, torch.tensor([[-1.0, -1.0], [1.0, 1.0]], dtype=torch.float64))


@pytest.mark.parametrize("shape", [(2,), (5, 2), (3, 4, 2)])
def test_any_batch_shape(shape):
    net = network(3)
    x = points(60)[: torch.tensor(shape[:-1]).prod().int()].reshape(shape)
    assert net(x).shape == (*shape[:-1], 3)


@pytest.mark.parametrize("initialisation", INITIALISATIONS)
@pytest.mark.parametrize("features", FEATURES)
def test_seeds_are_reproducible(initialisation, features):
    state = torch.random.get_rng_state()
    radial = {"activation": "exp", "depth": 1} if initialisation == "radial" else {}
    own = {"initialisation": initialisation, "features": FEATURES[features], **radial}
    a, b, c = (network(seed=s, **own) for s in (3, 3, 4))
    assert torch.equal(a.theta, b.theta)
    assert torch.equal(a.frequencies, b.frequencies)
    assert not torch.equal(a.theta, c.theta)
    assert torch.equal(a.frequencies, c.frequencies) == (features != "gaussian")
    assert torch.equal(torch.random.get_rng_state(), state)


def test_single_precision_starts_from_the_same_weights():
    a, b = network(), network(dtype=torch.float32)
    assert b.theta.dtype == b(points(3).float()).dtype == torch.float32
    assert torch.equal(a.theta.float(), b.theta)


@pytest.mark.parametrize("features", FEATURES)
def test_architecture_through_plain_data(features):
    architecture = Architecture(7, 2, "gelu", "he-uniform", FEATURES[features])
    assert Architecture.from_dict(architecture.to_dict()) == architecture
    assert isinstance(architecture.to_dict()["features"], dict)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"width": 0}, "width=0"),
        ({"depth": -1}, "depth=-1"),
        ({"activation": "relu"}, "activation='relu'"),
        ({"initialisation": "zeros"}, "initialisation='zeros'"),
        ({"features": Features("fourier")}, "features='fourier'"),
        ({"features": Features("log", 0)}, "feature_count=0"),
        ({"features": Features("gaussian", -2)}, "feature_count=-2"),
    ],
)
def test_bad_choices_are_refused(choices, message):
    with pytest.raises(PcpinnError, match=message) as caught:
        network(**choices)
    assert caught.value.remedy


def test_architecture_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Architecture().width = 3
