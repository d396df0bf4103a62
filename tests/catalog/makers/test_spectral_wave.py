"""Waves: standing ones against their formula, and one through a medium that changes along x only."""

from itertools import islice

import numpy as np
import pytest

from pcpinn.catalog.makers.spectral_wave import LobattoLine, wave


def standing_error(cells, degree):
    """m = 1 / 2, u = cos(pi x) cos(2 pi y) cos(sqrt(10) pi t)."""
    line = LobattoLine(0.0, 1.0, cells, degree)
    mode = np.outer(np.cos(np.pi * line.nodes), np.cos(2 * np.pi * line.nodes))
    march = islice(wave(line, lambda x, y: np.full((len(x), len(y)), 0.5), mode, 0.3), 11)
    return max(np.abs(u - mode * np.cos(np.sqrt(10) * np.pi * 0.3 * k)).max() for k, u in enumerate(march))


def test_standing_waves():
    errors = [standing_error(6, degree) for degree in (2, 4, 6)]
    assert errors[1] < errors[0] / 50
    assert errors[2] < errors[1] / 50
    assert errors[2] < 1e-6


def test_a_medium_that_changes_along_x():
    """m = 1 / x^2 on [1, e]: u = sqrt(x) (cos b log x - sin(b log x) / (2 b)) cos(w t), w^2 = b^2 + 1/4, b = 2 pi."""
    line = LobattoLine(1.0, np.e, 8, 6)
    b, x = 2 * np.pi, line.nodes
    mode = np.sqrt(x) * (np.cos(b * np.log(x)) - np.sin(b * np.log(x)) / (2 * b))
    start = np.repeat(mode[:, None], len(x), axis=1)
    *_, end = islice(wave(line, lambda x, y: np.repeat(1 / x[:, None] ** 2, len(y), axis=1), start, 0.4), 6)
    np.testing.assert_allclose(end, start * np.cos(2 * np.sqrt(b**2 + 0.25)), atol=1e-4)


def test_lines():
    line = LobattoLine(-1.0, 2.0, 5, 4)
    x = np.linspace(-1, 2, 13)
    np.testing.assert_allclose(line.evaluation(x) @ line.nodes**4, x**4, atol=1e-12)
    assert line.nodes @ line.stiffness @ line.nodes**2 == pytest.approx(3.0)  # the integral of 2 x
    assert line.mass @ line.nodes**3 == pytest.approx(15 / 4)
    points, integrate = line.quadrature
    assert line.nodes @ (integrate @ np.exp(points)) == pytest.approx(np.exp(2) + 2 * np.exp(-1))
