"""Parameters from data through a surrogate: found, and as uncertain as they should be."""

import numpy as np
import pytest
from families import QUICK, direct, line_family

import pcpinn as pc

TRUTH = np.array([0.4, 2.0])
NOISE = 1e-3


@pytest.fixture(scope="module")
def surrogate():
    return pc.solve(line_family(), accuracy=1e-2, iterations=80, time_limit=25, **QUICK)


def data(noise, seed=0):
    equation, u = direct(line_family().at(TRUTH), (24,))
    points = np.linspace(0.1, 1, 12)[:, None]
    values = equation.discretisation.interpolate(u, points)[:, 0]
    return points, values + noise * np.random.default_rng(seed).normal(size=12)


def test_the_truth_is_within_the_posterior(surrogate):
    found = pc.calibrate(surrogate, *data(NOISE), noise=NOISE)
    assert found.steps < 30
    assert (np.abs(found.mean - TRUTH) < 4 * found.std).all()
    assert np.abs(found.mean - TRUTH).max() < 0.3
    samples = found.sample(4000)
    assert samples.std(axis=0) == pytest.approx(found.std, rel=0.25)


def test_more_noise_more_spread_and_the_surrogates_error_counts(surrogate):
    small, large = (pc.calibrate(surrogate, *data(NOISE), noise=n).std for n in (NOISE, 30 * NOISE))
    assert (large > 2 * small).all()
    exact = pc.calibrate(surrogate, *data(0.0), noise=1e-9)
    assert exact.model_error > 0
    assert (np.abs(exact.mean - TRUTH) < 4 * exact.std).all()


def test_refused(surrogate):
    with pytest.raises(pc.PcpinnError, match="one finite number"):
        pc.calibrate(surrogate, [[0.1], [0.2]], [1.0], noise=1.0)
    with pytest.raises(pc.PcpinnError, match="noise"):
        pc.calibrate(surrogate, [[0.1]], [1.0], noise=0.0)
