"""Gaussian units spread as the cells are."""

import math

import numpy as np
import pytest
import torch

from pcpinn.errors import PcpinnError
from pcpinn.network.radial import spread, spread_units
from pcpinn.network.recipe import MLP, Place

RECIPE = MLP(width=40, depth=1, activation="exp", initialisation="radial", features="none", feature_count=1)


def intervals(ends):
    """Cells (c, 2, 1) between ascending ends."""
    ends = np.asarray(ends, dtype=float)
    return np.stack([ends[:-1], ends[1:]], axis=1)[..., None]


def hidden(network, x):
    """(n, width)"""
    x = torch.as_tensor(x, dtype=torch.float64)
    return network.hidden(network.theta.detach(), network.encode(x)).detach().numpy()


def test_units_are_gaussians_about_their_centres():
    """Value 1 at the centre, exp(-1/2) one width away, in each direction."""
    network = RECIPE.build(Place([0.0, -1.0], [4.0, 1.0], 1), 0, torch.float64)
    random = np.random.default_rng(0)
    corners = random.uniform([0, -1], [4, 1], (60, 3, 2))
    spread_units(network, corners, 0)
    centres, spacing = spread(corners, 40, 0)
    for shift in ([0, 0], [1, 0], [0, 1]):
        values = np.diagonal(hidden(network, centres + 2.5 * spacing * np.array(shift)))
        assert np.allclose(values, math.exp(-sum(shift) / 2), atol=1e-9)


def test_units_are_as_dense_as_cells():
    """Half of the cells, and so of the units, lie in the first tenth; they are as much narrower."""
    centres, spacing = spread(intervals(np.concatenate([np.linspace(0, 0.1, 21), np.linspace(0.1, 1, 21)[1:]])), 200, 0)
    left = centres[:, 0] < 0.1
    assert abs(left.mean() - 0.5) < 0.03
    assert 6 < np.median(spacing[~left]) / np.median(spacing[left]) < 13


def test_units_repeat_themselves_along_periodic_axes():
    """The same values at both ends, and a bump at the seam."""
    network = RECIPE.build(Place([0.0], [2.0], 1, periodic=(0,)), 0, torch.float64)
    spread_units(network, intervals(np.linspace(0, 2, 21)), 0)
    ends = hidden(network, [[0.0], [2.0]])
    assert np.allclose(ends[0], ends[1], atol=1e-12)
    assert ends[0].max() > 0.5
    assert np.isclose(hidden(network, np.linspace(0, 2, 4001)[:, None]).max(axis=0), 1.0, atol=1e-3).all()


def test_a_narrow_bump_is_fitted_by_the_last_layer():
    """Least squares with 60 units to 3e-4, where the cells are fine around a bump of width 0.01."""
    recipe = MLP(width=60, depth=1, activation="exp", initialisation="radial", features="none", feature_count=1)
    network = recipe.build(Place([0.0], [1.0], 1), 0, torch.float64)
    ends = np.concatenate([np.linspace(0, 0.4, 9), np.linspace(0.4, 0.6, 41)[1:], np.linspace(0.6, 1, 9)[1:]])
    spread_units(network, intervals(ends), 0)
    x = np.linspace(0, 1, 2001)[:, None]
    wanted = np.exp(-(((x[:, 0] - 0.5) / 0.01) ** 2) / 2)
    table = np.column_stack([hidden(network, x), np.ones(len(x))])
    found = table @ np.linalg.lstsq(table, wanted, rcond=1e-12)[0]
    assert np.linalg.norm(found - wanted) < 3e-4 * np.linalg.norm(wanted)


@pytest.mark.parametrize("changes", [{"depth": 2}, {"activation": "tanh"}, {"initialisation": "cells"}])
def test_half_of_the_recipe_is_refused(changes):
    """Radial units need all three settings."""
    whole = {"depth": 1, "activation": "exp", "initialisation": "radial"}
    with pytest.raises(PcpinnError, match="radial"):
        MLP(width=10, **{**whole, **changes})
