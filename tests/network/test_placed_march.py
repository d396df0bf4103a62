"""A march at points that stay where they are: the same values as anywhere else."""

import numpy as np
import pytest
import torch

from pcpinn.network import Architecture, DenseNetwork
from pcpinn.network.marched import MarchedNetwork, Plan
from pcpinn.network.placed_march import PlacedMarch


@pytest.mark.parametrize(("scheme", "order", "window"), [("radau", 3, 1), ("bdf2", 1, 1), ("gauss", 2, 2)])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("kept", [0, 1000, 1e6])
def test_the_same_values(monkeypatch, scheme, order, window, shared, kept):
    monkeypatch.setattr("pcpinn.network.placed_march._ROWS", 16)
    monkeypatch.setattr("pcpinn.network.placed_march._KEPT", kept)
    plan = Plan(scheme, order, window, 2, shown=1)
    generator = torch.Generator().manual_seed(0)
    base = DenseNetwork(Architecture(5, 1), [0.0, 0.0], [1.0, 2.0], 2 * plan.layers, generator)
    base.output_scale.fill_(3.0)
    thetas = torch.randn(6 // window + 1, base.parameter_count, generator=generator, dtype=torch.float64)
    if shared:
        thetas[:, : -base.head_size] = thetas[0, : -base.head_size]
    network = MarchedNetwork(base, plan, np.linspace(0, 3, 7), thetas)
    x = torch.rand(40, 2, generator=generator, dtype=torch.float64)
    placed = PlacedMarch(network, x)
    for t in (0.0, 0.2, 0.3, 1.1, 2.9, 3.0, 0.6):
        expected = network(torch.column_stack([x, torch.full((40,), t, dtype=torch.float64)]))
        torch.testing.assert_close(placed.at(t), expected.detach(), rtol=1e-12, atol=1e-12)
