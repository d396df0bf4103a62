"""Frequencies of the Fourier features; kinks."""

import pytest
import torch

from pcpinn.errors import PcpinnError
from pcpinn.network import Architecture, DenseNetwork, Features


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_none():
    assert Features("none").frequencies(3, generator()).shape == (3, 0)


@pytest.mark.parametrize("inputs", [1, 2, 3])
def test_log_frequencies_are_powers_of_two_along_each_axis(inputs):
    B = Features("log", count=5, low=-2, high=2).frequencies(inputs, generator())
    assert B.shape == (inputs, 5 * inputs)
    expected = 2 * torch.pi * torch.tensor([0.25, 0.5, 1.0, 2.0, 4.0], dtype=torch.float64)
    for k in range(inputs):
        torch.testing.assert_close(B[k, 5 * k : 5 * k + 5], expected)
    assert torch.count_nonzero(B) == 5 * inputs


def test_a_single_log_frequency_is_the_lowest():
    assert Features("log", count=1, low=1, high=3).frequencies(1, generator()).item() == pytest.approx(4 * torch.pi)


@pytest.mark.parametrize("std", [0.5, 3.0])
def test_gaussian_frequencies(std):
    B = Features("gaussian", count=20_000, std=std).frequencies(2, generator())
    assert B.shape == (2, 20_000)
    assert float(B.std()) == pytest.approx(std, rel=0.02)
    assert float(B.mean()) == pytest.approx(0, abs=0.02 * std)
    assert abs(float((B[0] * B[1]).mean())) < 0.03 * std**2
    assert float((B.abs() < std).double().mean()) == pytest.approx(0.6827, abs=0.01)


KINKED = Features("log", 2, -1, 0, kinks=((-1.0, 2.0), (0.5,)))


def kinked_network(features=KINKED):
    return DenseNetwork(Architecture(5, 2, features=features), [-3.0, 0.0], [5.0, 1.0], 1, generator())


def test_kinks_are_distances_in_units_of_half_the_domain():
    x = torch.tensor([[-2.0, 0.25], [2.0, 1.0]], dtype=torch.float64)
    encoded = kinked_network().encode(x)
    assert encoded.shape == (2, KINKED.width(2)) == (2, 2 + 3 + 2 * 4)
    torch.testing.assert_close(encoded[:, :2], torch.tensor([[-0.75, -0.5], [0.25, 1.0]], dtype=torch.float64))
    torch.testing.assert_close(encoded[:, 2:5], torch.tensor([[0.25, 1.0, 0.5], [0.75, 0, 1.0]], dtype=torch.float64))


def test_the_rest_of_the_inputs_is_as_without_kinks():
    x = torch.tensor([[-2.0, 0.25]], dtype=torch.float64)
    plain = kinked_network(Features("log", 2, -1, 0)).encode(x)
    torch.testing.assert_close(kinked_network().encode(x)[:, [0, 1, *range(5, 13)]], plain)


def test_the_slope_jumps_at_kinks_only():
    net = kinked_network()

    def slope(x, y, axis):
        at = torch.tensor([[x, y]], dtype=torch.float64, requires_grad=True)
        return float(torch.autograd.grad(net(at).sum(), at)[0][0, axis])

    jump = [abs(slope(c + 1e-9, 0.3, 0) - slope(c - 1e-9, 0.3, 0)) for c in (-1.0, 2.0, 0.5)]
    assert min(jump[:2]) > 1e-3
    assert jump[2] < 1e-6
    assert abs(slope(0.3, 0.5 + 1e-9, 1) - slope(0.3, 0.5 - 1e-9, 1)) > 1e-3


def test_gradients_agree_with_differences_away_from_kinks():
    net = kinked_network()
    x = torch.tensor([[0.4, 0.2], [3.0, 0.9]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda p: net(p), x)


@pytest.mark.parametrize("kinks", ["-2,2", [1.0, 2.0], [["a"]], [[float("nan")]], 3, None, [[0.5, 0.5], []]])
def test_refused_kinks(kinks):
    with pytest.raises(PcpinnError, match="kinks"):
        Features("log", kinks=kinks)


def test_kinks_of_another_dimension_are_refused():
    with pytest.raises(PcpinnError, match="2 axes, but there are 3"):
        KINKED.width(3)


def test_listed_frequencies_are_in_radians_per_unit():
    """On a domain of any size the features are sin and cos of the listed multiples of the coordinate, up to a phase."""
    features = Features("list", listed=((3.0, 5.0), ()))
    network = DenseNetwork(Architecture(4, 1, features=features), (0.0, 0.0), (8.0, 1.0), 1, torch.Generator())
    x = torch.rand(20, 2, dtype=torch.float64) * 8
    encoded = network.encode(x)
    assert encoded.shape == (20, 2 + 4)
    torch.testing.assert_close(encoded[:, 2], torch.sin(3 * (x[:, 0] - 4)))
    torch.testing.assert_close(encoded[:, 5], torch.cos(5 * (x[:, 0] - 4)))


def test_listed_frequencies_of_another_dimension_are_refused():
    with pytest.raises(PcpinnError, match="frequencies are given for 1 axes, but there are 2"):
        Features("list", listed=((1.0,),)).frequencies(2, torch.Generator())


def test_a_sudden_start_gives_the_root_of_time():
    features = Features("none", start=0.25)
    network = DenseNetwork(Architecture(4, 1, features=features), (0.0, 2.0), (1.0, 6.0), 1, torch.Generator())
    x = torch.tensor([[0.5, 2.0], [0.5, 5.0]], dtype=torch.float64)
    torch.testing.assert_close(network.encode(x)[:, 2], torch.tensor([0.5, 1.0], dtype=torch.float64))
    assert torch.isfinite(network.encode(x - 9.0)).all()  # outside of the domain too


CORNERED = Features("none", corners=((0.0, 1.0), (1.0, 1.0)), corner_size=1e-3)


def test_corners_add_the_logarithm_of_the_distance_and_the_direction():
    network = DenseNetwork(Architecture(4, 1, features=CORNERED), [0, 0], [1, 1], 1, generator())
    x = torch.tensor([[0.0, 1.0], [0.1, 1.0], [0.0, 0.0], [1.0, 0.0]], dtype=torch.float64)
    encoded = network.encode(x)
    assert encoded.shape == (4, CORNERED.width(2)) == (4, 2 + 2 * 3)
    log, direction = encoded[:, 2], encoded[:, 3:5]
    assert log[0] == pytest.approx(-1)  # at the corner
    assert log[2] == pytest.approx(1, abs=1e-6)  # as far away as the domain is long
    assert log[1] == pytest.approx(1 / 3, abs=1e-4)  # two thirds of the way in powers of ten
    torch.testing.assert_close(direction[0], torch.zeros(2, dtype=torch.float64))
    torch.testing.assert_close(direction[1], torch.tensor([1.0, 0.0], dtype=torch.float64), atol=1e-4, rtol=0)
    again = Architecture.from_dict(network.architecture.to_dict())
    assert again == network.architecture


def test_corners_that_do_not_fit():
    with pytest.raises(PcpinnError, match="2 coordinates"):
        Features("none", corners=((0.0,),)).width(2)
    with pytest.raises(PcpinnError, match="corner_size"):
        Features("none", corners=((0.0, 1.0),), corner_size=0.0)


def test_waves_are_all_plane_waves_of_a_disc():
    features = Features("waves", 3, periodic=(0, 1))
    waves = features.frequencies(2, torch.Generator()).T / torch.pi
    found = {tuple(round(c) for c in k) for k in waves.tolist()}
    wanted = {(i, j) for i in range(-3, 4) for j in range(-3, 4) if 0 < i * i + j * j <= 9}
    assert torch.equal(waves, waves.round())
    assert len(found) == len(waves) == len(wanted) // 2
    assert found | {(-i, -j) for i, j in found} == wanted
    assert features.width(2) == len(wanted)


@pytest.mark.parametrize(
    ("periodic", "inputs", "count"), [((), 2, 3), ((0,), 2, 3), ((0, 1), 2, 0), ((0, 1), 2, 5000), ((0, 1, 2), 3, 200)]
)
def test_waves_need_a_periodic_box_of_reasonable_size(periodic, inputs, count):
    with pytest.raises(PcpinnError):
        Features("waves", count, periodic=periodic).width(inputs)


def test_cosines_are_the_products_without_slope_on_the_walls():
    network = DenseNetwork(Architecture(1, 0, features=Features("cosines", 2)), [0.0, -1.0], [2.0, 1.0], 1, generator())
    assert network.parameter_count == 5 + 1  # (0, 1), (0, 2), (1, 0), (1, 1), (2, 0) and a constant
    x = torch.tensor([[0.3, -0.4], [2.0, 1.0]], dtype=torch.float64)
    along = torch.cos(torch.pi / 2 * x[:, :1] * torch.arange(3))
    across = torch.cos(torch.pi / 2 * (x[:, 1:] + 1) * torch.arange(3))
    wanted = [along[:, i] * across[:, j] for i, j in ((0, 1), (0, 2), (1, 0), (1, 1), (2, 0))]
    assert torch.allclose(network.encode(x), torch.stack(wanted, 1), atol=1e-14)
    assert torch.equal(network.encode_once(x, rows=1), network.encode(x))
    with pytest.raises(PcpinnError, match="feature_count=0"):
        Features("cosines", 0)


def test_series_hold_functions_that_are_not_periodic():
    """Waves of a period longer than the box, evenly spaced: exp is in their span to many digits, unlike with the box's period."""
    B = Features("series", 12).frequencies(2, generator())
    assert B.shape == (2, 24)
    torch.testing.assert_close(B[0, :12], torch.pi / 1.25 * torch.arange(1, 13, dtype=torch.float64))
    x = torch.linspace(-1, 1, 400, dtype=torch.float64)[:, None]
    left = []
    for kind in (Features("series", 30), Features("list", listed=(tuple(torch.pi * k for k in range(1, 31)),))):
        network = DenseNetwork(Architecture(1, 0, features=kind), [-1.0], [1.0], 1, generator())
        table = torch.cat([network.encode(x)[:, 1:], torch.ones_like(x)], 1)
        fit = torch.linalg.lstsq(table, torch.exp(x), driver="gelsd").solution
        left.append(float((table @ fit - torch.exp(x)).abs().max()))
    assert left[0] < 1e-6 < 1e-2 < left[1]


def test_series_do_not_repeat_themselves():
    with pytest.raises(PcpinnError, match="repeat"):
        Features("series", 4, periodic=(0,))


@pytest.mark.parametrize("exponents", [{"high": 1e5}, {"low": -1e5}, {"high": float("nan")}])
def test_frequencies_that_no_number_resolves_are_refused(exponents):
    with pytest.raises(PcpinnError, match=r"double precision\n.*between -50 and 50"):
        Features("log", **exponents)
