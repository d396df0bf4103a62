"""Initial weights have the variance that their name promises."""

import math

import pytest
import torch

from pcpinn.network.initialisation import INITIALISATIONS, initialise_layer

OUT, IN = 150, 400
VARIANCE = {
    "torch": 1 / (3 * IN),
    "glorot-normal": 2 / (IN + OUT),
    "cells": 2 / (IN + OUT),
    "radial": 2 / (IN + OUT),
    "glorot-uniform": 2 / (IN + OUT),
    "he-normal": 2 / IN,
    "he-uniform": 2 / IN,
    "spread": 4 * 13 / 12 / IN,  # length 2 on average, from half to one and a half times that
}


@pytest.fixture(params=INITIALISATIONS)
def layer(request):
    weight, bias = torch.empty(OUT, IN, dtype=torch.float64), torch.full((OUT,), torch.nan, dtype=torch.float64)
    initialise_layer(weight, bias, request.param, torch.Generator().manual_seed(0))
    return request.param, weight, bias


def test_variance(layer):
    name, weight, _ = layer
    assert set(VARIANCE) == set(INITIALISATIONS)
    assert float(weight.var()) == pytest.approx(VARIANCE[name], rel=0.03)
    assert float(weight.mean()) == pytest.approx(0, abs=4 * math.sqrt(VARIANCE[name] / weight.numel()))


def test_distribution(layer):
    """Uniform ones are bounded by sqrt(3) standard deviations; normal ones are not, and have their kurtosis."""
    name, weight, _ = layer
    z = weight / math.sqrt(VARIANCE[name])
    if name == "spread":
        lengths = weight.norm(dim=1)
        assert 1 <= float(lengths.min()) < 1.1
        assert 2.9 < float(lengths.max()) <= 3
        return
    normal = name.endswith("normal") or name in ("cells", "radial")
    assert (float(z.abs().max()) > 3) == normal
    assert float((z**4).mean()) == pytest.approx(3.0 if normal else 1.8, abs=0.1)


def test_biases(layer):
    name, weight, bias = layer
    if name == "spread":  # the sum of w_i c_i with c from -1 to 1
        assert float((bias / weight.norm(dim=1)).std()) == pytest.approx(1 / math.sqrt(3), rel=0.15)
    elif name == "torch":
        assert float(bias.abs().max()) <= 1 / math.sqrt(IN)
        assert float(bias.std()) == pytest.approx(1 / math.sqrt(3 * IN), rel=0.15)
    else:
        assert torch.all(bias == 0)


def test_torch_equals_a_linear_layer_of_torch():
    """Same distribution as torch.nn.Linear: same bounds of weights and biases."""
    torch.manual_seed(0)
    reference = torch.nn.Linear(IN, OUT, dtype=torch.float64)
    weight, bias = torch.empty(OUT, IN, dtype=torch.float64), torch.empty(OUT, dtype=torch.float64)
    initialise_layer(weight, bias, "torch", torch.Generator().manual_seed(0))
    assert float(weight.abs().max()) == pytest.approx(float(reference.weight.detach().abs().max()), rel=0.01)
    assert float(bias.abs().max()) == pytest.approx(float(reference.bias.detach().abs().max()), rel=0.1)
