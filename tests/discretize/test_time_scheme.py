"""Polynomials in slabs of time."""

import numpy as np
import pytest

from pcpinn.discretize.time_scheme import (
    SCHEMES,
    TimeScheme,
    gauss_points,
    interpolatory_weights,
    lobatto_points,
    radau_points,
    slab_times,
)

UNEVEN = np.array([0.5, 0.7, 1.4, 2.0])


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_polynomials_are_reproduced(scheme, order):
    s = TimeScheme(scheme, UNEVEN, order)
    u = s.layers**order
    value, rate = s.trial
    np.testing.assert_allclose(value @ u, s.moments**order, atol=1e-12)
    np.testing.assert_allclose(rate @ u, order * s.moments ** (order - 1), atol=1e-11)
    t = np.linspace(0.5, 2.0, 17)
    np.testing.assert_allclose(s.interpolation(t) @ u, t**order, atol=1e-12)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_layers_ascend_from_start_to_end_with_positive_weights(scheme):
    s = TimeScheme(scheme, UNEVEN, 4)
    assert len(s.layers) == s.layer_count == 13
    assert (np.diff(s.layers) > 0).all()
    assert (s.layers[0], s.layers[-1]) == (0.5, 2.0)
    assert (s.weights > 0).all()
    assert s.weights.sum() == pytest.approx(1.5)


def test_galerkin_tests_integrate_by_parts():
    """For polynomials that vanish at both ends, the integral of u' v equals minus that of u v'."""
    s = TimeScheme("galerkin", UNEVEN, 3)
    B = (s.test @ s.trial[1]).toarray()
    inside = slice(1, -1)
    np.testing.assert_allclose(B[inside, inside], -B[inside, inside].T, atol=1e-12)
    K = (s.test_rate @ s.trial[1]).toarray()
    np.testing.assert_allclose(K, K.T, atol=1e-12)
    np.testing.assert_allclose(K @ np.ones(s.layer_count), 0, atol=1e-11)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
def test_rules_are_exact_to_their_degree(count):
    radau = radau_points(count)
    assert radau[-1] == 1.0
    assert interpolatory_weights(radau) @ radau ** (2 * count - 2) == pytest.approx(1 / (2 * count - 1))
    x, w = gauss_points(count)
    assert w @ x ** (2 * count - 1) == pytest.approx(1 / (2 * count))
    if count > 1:
        lobatto = lobatto_points(count)
        assert interpolatory_weights(lobatto) @ lobatto ** max(2 * count - 3, 1) == pytest.approx(
            1 / max(2 * count - 2, 2)
        )


def test_halvings_refine_the_start_alone():
    np.testing.assert_allclose(slab_times(1.0, 3.0, 2, 3), [1.0, 1.125, 1.25, 1.5, 2.0, 3.0])
    np.testing.assert_allclose(slab_times(0.0, 1.0, 4), [0, 0.25, 0.5, 0.75, 1.0])
