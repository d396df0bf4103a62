import math

import numpy as np
import pytest
import torch

import pcpinn as pc
from pcpinn.family.parameters import distribution_from


@pytest.mark.parametrize(
    "distribution",
    [pc.Range(-1, 3), pc.Range(0.01, 100, log=True), pc.Normal(2, [0.5, 3], count=2), pc.Range(0, 1, count=3)],
)
def test_scaling_and_back(distribution):
    z = torch.linspace(-1, 1, 5, dtype=torch.float64)[:, None].expand(5, distribution.size)
    values = distribution.value(z)
    assert torch.allclose(distribution.scaled(values), z)
    assert torch.allclose(values[0], distribution.lower)
    assert torch.allclose(values[-1], distribution.upper)
    assert distribution_from(distribution.to_dict()) == distribution


def test_samples_have_their_distribution():
    uniform = torch.rand(20_000, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    normal = pc.Normal(1.0, 2.0)
    values = normal.value(normal.draw(uniform))[:, 0]
    assert float(values.mean()) == pytest.approx(1.0, abs=0.05)
    assert float((values < 3.0).double().mean()) == pytest.approx(0.8413, abs=0.01)  # one standard deviation
    log = pc.Range(0.01, 100, log=True)
    assert float(log.value(log.draw(uniform)).median()) == pytest.approx(1.0, rel=0.1)


def test_sensors_interpolate():
    sensors = pc.Sensors([(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)], pc.Range(-1, 1, count=3))
    values = torch.tensor([0.3, -0.7, 0.9], dtype=torch.float64)
    f = sensors.given(values)
    found = [float(f(torch.tensor(p, dtype=torch.float64))) for p in sensors.points]
    assert found == pytest.approx(values.tolist(), abs=1e-7)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: pc.Range(1, 1), "is empty"),
        (lambda: pc.Range(0, math.inf), "finite"),
        (lambda: pc.Range(-1, 1, log=True), "lo > 0"),
        (lambda: pc.Range(0, 1, count=0), "count=0"),
        (lambda: pc.Normal(0, -1), "not positive"),
        (lambda: pc.Normal(0, [1, 2], count=3), "2 numbers"),
        (lambda: pc.Normal("a", 1), "number"),
        (lambda: pc.Basis(lambda x: x, pc.Range(0, 1)), "vector"),
        (lambda: pc.Sensors([(0, 0), (0, 0)], pc.Range(0, 1, count=2)), "same place"),
        (lambda: pc.Sensors([(0, 0)], pc.Range(0, 1, count=2)), "points"),
        (lambda: pc.Family(lambda a: None, a=(0, 1)), "Range"),
        (lambda: pc.Family(lambda: None), "no parameters"),
        (lambda: pc.Family(3, a=pc.Range(0, 1)), "function"),
        (lambda: pc.Family(lambda a: None, a=pc.Range(0, 1), outside="ignore"), "refuse or warn"),
    ],
)
def test_what_is_no_distribution_is_refused(make, words):
    with pytest.raises(pc.PcpinnError) as error:
        make()
    assert words in f"{error.value.problem} {error.value.remedy}"


def test_values_in_many_ways():
    family = pc.Family(lambda a, c: None, a=pc.Range(0, 1), c=pc.Range(-1, 1, count=2))
    expected = torch.tensor([0.5, 0.1, -0.2], dtype=torch.float64)
    for given in ([0.5, 0.1, -0.2], np.array([0.5, 0.1, -0.2]), {"a": 0.5, "c": [0.1, -0.2]}):
        assert torch.equal(family.vector(given), expected)
    many = family.vector({"a": np.array([0.5, 0.6]), "c": [0.1, -0.2]})
    assert many.shape == (2, 3)
    for wrong in ([0.5], {"a": 0.5}, {"a": 0.5, "c": [0, 0], "d": 1}, [0.5, math.nan, 0], "a"):
        with pytest.raises(pc.PcpinnError):
            family.vector(wrong)


def test_outside_of_the_ranges():
    with pytest.raises(pc.PcpinnError, match=r"c2=1\.5 is outside of -1 to 1"):
        pc.Family(lambda c: None, c=pc.Range(-1, 1, count=2)).vector([0.0, 1.5])
    with pytest.warns(pc.PcpinnWarning, match="extrapolated"):
        pc.Family(lambda c: None, c=pc.Range(-1, 1, count=2), outside="warn").vector([0.0, 1.5])
