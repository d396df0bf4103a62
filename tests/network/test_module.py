"""Modules as networks: values, derivatives by the weights, what is refused, moves, copies."""

import copy

import pytest
import torch
from modules import Formula, ResNet, Siren
from torch import nn

from pcpinn import PcpinnError
from pcpinn.network import Architecture, DenseNetwork, Features, ModuleNetwork

LOWER, UPPER = [0.0, -1.0], [4.0, 0.5]


def points(n=7, d=2, seed=0):
    u = torch.rand(n, d, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    lower, upper = torch.tensor(LOWER[:d], dtype=torch.float64), torch.tensor(UPPER[:d], dtype=torch.float64)
    return lower + (upper - lower) * u


def wrapped(kind=Siren, outputs=2, dtype=torch.float64, **options):
    return ModuleNetwork(kind(2, outputs, **options), LOWER, UPPER, outputs, dtype)


def perceptron(seed=0):
    return DenseNetwork(
        Architecture(6, 2, features=Features("log", 2)), LOWER, UPPER, 2, torch.Generator().manual_seed(seed)
    )


@pytest.mark.parametrize("kind", [Siren, ResNet])
def test_values_are_those_of_the_module_at_scaled_points(kind):
    module = kind(2, 2)
    network = ModuleNetwork(module, LOWER, UPPER, 2)
    x = points()
    scaled = (x - torch.tensor([2.0, -0.25])) / torch.tensor([2.0, 0.75])
    expected = copy.deepcopy(module).double().eval()(scaled)
    torch.testing.assert_close(network(x), expected)
    with torch.no_grad():
        network.output_scale.fill_(3.0)
    torch.testing.assert_close(network(x), 3 * expected)
    torch.testing.assert_close(network.place(x).values(), 3 * expected.detach())
    torch.testing.assert_close(network(x.reshape(7, 1, 2)), 3 * expected[:, None])
    torch.testing.assert_close(network(x[0]), 3 * expected[0])
    assert network.inputs == 2
    assert network.parameter_count == sum(p.numel() for p in module.parameters() if p.requires_grad)
    assert [name for name, _ in network.named_parameters()] == ["theta"]


def test_the_module_that_was_given_stays_as_it_is():
    module = ResNet(2, 1).train()
    before = {k: v.clone() for k, v in module.state_dict().items()}
    network = ModuleNetwork(module, LOWER, UPPER, 1)
    with torch.no_grad():
        network.theta.add_(1.0)
    assert module.training
    assert all(torch.equal(v, before[k]) and v.dtype == before[k].dtype for k, v in module.state_dict().items())


@pytest.mark.parametrize("kind", [Siren, ResNet])
def test_jacobian_by_differences(kind):
    network = wrapped(kind)
    with torch.no_grad():
        network.output_scale.fill_(2.5)
    x, component = points(), torch.tensor([0, 1, 1, 0, 1, 0, 0])
    J = network.jacobian(x, component)
    theta, step = network.theta.detach(), 1e-6
    with torch.no_grad():
        for k in range(0, network.parameter_count, 17):
            e = torch.zeros_like(theta)
            e[k] = step
            difference = (network.evaluate(theta + e, x) - network.evaluate(theta - e, x)) / (2 * step)
            torch.testing.assert_close(J[:, k], difference.gather(1, component[:, None])[:, 0], rtol=1e-6, atol=1e-8)


def test_a_perceptron_as_a_module_has_the_rows_of_its_fast_path():
    """Its own scaling sees what it sees without the wrapper: the box of the wrapper is the unit one."""
    own = perceptron()
    network = ModuleNetwork(own, [-1.0, -1.0], [1.0, 1.0], 2)
    x, component = points(50), torch.arange(50) % 2
    torch.testing.assert_close(network.jacobian(x, component), own.jacobian(x, component), rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(network(x), own(x), rtol=1e-12, atol=1e-14)
    v = torch.randn(own.parameter_count, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    theta = own.theta.detach()
    exact = own.place(x).bend(theta, v)
    assert (network.place(x).bend(theta, v) - exact).abs().max() < 1e-5 * exact.abs().max()


def test_jacobian_in_chunks_and_in_single_precision(monkeypatch):
    network, x, component = wrapped(ResNet), points(23), torch.arange(23) % 2
    whole = network.jacobian(x, component)
    single = network.jacobian(x, component, torch.float32)
    assert single.dtype == torch.float32
    torch.testing.assert_close(single, whole.float())
    monkeypatch.setattr("pcpinn.network.module._CHUNK", 8 * network.parameter_count * 5)
    torch.testing.assert_close(network.jacobian(x, component), whole, rtol=1e-12, atol=1e-14)
    monkeypatch.setattr("pcpinn.network.module._CHUNK", 1)
    torch.testing.assert_close(network.jacobian(x, component), whole, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", [Siren, ResNet])
def test_the_bend_by_differences_of_derivatives(kind):
    """SiLU and layer norm, too, whose second derivatives in forward mode torch does not have, or has wrong."""
    network, x = wrapped(kind), points()
    theta = network.theta.detach()
    v = torch.randn(len(theta), dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    bend = network.place(x).bend(theta, v)

    def slope(t):
        return torch.func.jvp(lambda w: network.evaluate(w, x), (theta + t * v,), (v,))[1]

    expected = (slope(1e-5) - slope(-1e-5)) / 2e-5
    assert (bend - expected).abs().max() < 1e-4 * expected.abs().max()
    assert not network.place(x).bend(theta, 0 * v).any()


def test_gradients_by_points():
    """Of a point alone and in batches, as inverse problems and the strong form ask for them."""
    network, x = wrapped(ResNet), points()
    theta = network.theta.detach()
    slope = torch.func.vmap(torch.func.jacfwd(lambda p: network.evaluate(theta, p)))(x)
    x.requires_grad_()
    (by_autograd,) = torch.autograd.grad(network(x)[:, 1].sum(), x)
    torch.testing.assert_close(slope[:, 1], by_autograd)


def test_tied_weights_are_one():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.b(torch.tanh(self.a(x)))

    network = ModuleNetwork(Tied(), LOWER, UPPER, 2)
    assert network.parameter_count == 8
    x, zero = points(), torch.zeros(7, dtype=torch.long)
    with torch.no_grad():
        network.theta.copy_(torch.linspace(-1, 1, 8))
        parts = dict(zip(("a.weight", "a.bias", "b.bias"), network.theta.split([4, 2, 2]), strict=True))
        W = parts["a.weight"].view(2, 2)
        expected = torch.tanh(network.scaled(x) @ W.T + parts["a.bias"]) @ W.T + parts["b.bias"]
        torch.testing.assert_close(network(x), expected)
    (row,) = torch.autograd.grad(network(x[:1])[0, 0], network.theta)
    torch.testing.assert_close(network.jacobian(x, zero)[0], row)


def test_moves_and_conversions_reach_buffers_and_frozen_weights():
    network = wrapped(ResNet, dtype=torch.float32)
    assert network(points().float()).dtype == torch.float32
    exact = wrapped(ResNet)(points())
    torch.testing.assert_close(network(points().float()).double(), exact, rtol=1e-4, atol=1e-5)
    assert network.double()(points()).dtype == torch.float64
    with torch.device("meta"):
        there = network.to("meta")
    assert {t.device.type for t in there.to_tensors().values()} == {"meta"}


def test_batch_norm_and_dropout_are_put_into_evaluation_mode():
    module = nn.Sequential(nn.Linear(2, 5), nn.BatchNorm1d(5), nn.Dropout(0.9), nn.Tanh(), nn.Linear(5, 1)).train()
    network = ModuleNetwork(module, LOWER, UPPER, 1)
    assert torch.equal(network(points()), network(points()))
    torch.testing.assert_close(network(points())[3:4], network(points()[3:4]))


def in_place(w, x):
    y = torch.zeros(len(x), 1, dtype=x.dtype)
    y[:] = w * x[:, :1]
    return y


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (nn.Tanh(), "has no parameters to train"),
        (Formula(lambda w, x: w * x[:, :1], trainable=False), "has no parameters to train"),
        (Siren, "Siren is not a torch.nn.Module"),
        (lambda x: x, "function is not a torch.nn.Module"),
        (nn.LazyLinear(1), "lazy layers have no weights"),
        (nn.Linear(2, 1, dtype=torch.complex128), "complex"),
        (nn.Linear(3, 1), r"cannot be evaluated at points of shape \(4, 2\)"),
        (nn.Linear(2, 3), r"returns shape \(4, 3\) for 4 points, expected \(4, 1\)"),
        (Formula(lambda w, x: w * x[:, 0]), r"returns shape \(4,\) for 4 points, expected \(4, 1\)"),
        (Formula(lambda w, x: (w * x,)), "returns a tuple"),
        (Formula(lambda w, x: (w * x[:, :1]).float()), "into values of torch.float32"),
        (Formula(lambda w, x: torch.log(-(x[:, :1] ** 2)) * w), "is not finite in the domain"),
        (Formula(lambda w, x: w * x[:, :1] + torch.rand(len(x), 1)), "other values at each call"),
        (Formula(lambda w, x: w * (x - x.mean(0))[:, :1]), "depend on the other points"),
        (Formula(lambda w, x: w.detach() * x[:, :1]), "do not depend on its weights"),
        (Formula(lambda w, x: w.item() * x[:, :1]), "do not depend on its weights"),
        (Formula(lambda w, x: torch.sqrt((w - 1).expand(len(x), 1))), "derivatives that are not finite"),
        (Formula(in_place), "cannot be differentiated point by point"),
        (Formula(lambda w, x: w * x[:, :1] if x.sum() < 99 else w), "cannot be differentiated point by point"),
    ],
)
def test_refused(module, message):
    with pytest.raises(PcpinnError, match=message) as refusal:
        ModuleNetwork(module, LOWER, UPPER, 1)
    assert refusal.value.remedy


def test_copy_from_another_of_its_kind():
    network, other, x = wrapped(ResNet), wrapped(ResNet, seed=5), points()
    with torch.no_grad():
        other.output_scale.fill_(4.0)
    assert not torch.allclose(network(x), other(x))
    assert network.copy_from(other)
    assert torch.equal(network(x), other(x))
    before = network.theta.detach().clone()
    for stranger in (wrapped(Siren), wrapped(ResNet, width=8), wrapped(ResNet, outputs=1), perceptron(), None):
        assert not network.copy_from(stranger)
    assert not network.copy_from(ModuleNetwork(ResNet(2, 2), LOWER, [5.0, 0.5], 2))
    assert torch.equal(network.theta, before)
    assert not perceptron().copy_from(network)


def test_perceptrons_copy_from_each_other():
    network, other = perceptron(), perceptron(1)
    assert network.copy_from(other)
    assert torch.equal(network.theta, other.theta)
    larger = DenseNetwork(Architecture(7, 2), LOWER, UPPER, 2, torch.Generator())
    assert not network.copy_from(larger)


def test_coordinates_stretched_by_another_mesh_go_with_the_weights():
    """The function is the same afterwards; where one of the two is not stretched, nothing is taken over."""

    def stretched(*ends):
        knots = tuple((float(e), k / 2, 1.0) for k, e in enumerate(ends))
        features = Features(stretch=(knots, ()) if ends else ())
        return DenseNetwork(
            Architecture(5, 2, features=features), LOWER, UPPER, 2, torch.Generator().manual_seed(len(ends))
        )

    one, other, plain, x = stretched(-1, 0.2, 3), stretched(-1, 1.5, 3), stretched(), points()
    assert one.copy_from(other)
    assert torch.equal(one(x), other(x))
    assert not one.copy_from(plain)
    assert not plain.copy_from(one)
