"""The distance from interfaces as an input, and units whose slope jumps there."""

import numpy as np
import pytest
import torch

from pcpinn.errors import PcpinnError
from pcpinn.network.interfaces import distance
from pcpinn.network.radial import spread_units
from pcpinn.network.recipe import MLP, Place

ONE = torch.ones(())


def test_distance_from_pieces_of_lines():
    pieces = torch.tensor([[[0.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [1.0, 1.0]]], dtype=torch.float64)
    x = torch.tensor([[0.5, 0.3], [-0.3, 0.4], [0.9, 0.5], [2.0, 2.0]], dtype=torch.float64)
    assert distance(x, pieces, ONE)[:, 0].tolist() == pytest.approx([0.3, 0.5, 0.1, 2**0.5])
    many = torch.rand(500, 2, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    points = torch.rand(20000, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    parts = torch.stack([distance(points, piece[None], ONE) for piece in many[:40]]).amin(0)
    assert torch.allclose(distance(points, many[:40], ONE), parts)
    assert (distance(points, many, ONE) <= parts).all()


def test_distance_on_an_interface_has_a_derivative():
    x = torch.tensor([[0.25], [0.75]], dtype=torch.float64, requires_grad=True)
    distance(x, torch.tensor([[[0.25]]], dtype=torch.float64), ONE).sum().backward()
    assert x.grad[:, 0].tolist() == pytest.approx([0.0, 1.0])


def kinked(interfaces):
    """Error of the last layer by least squares, 30 units, for a function whose slope jumps at 0.3."""
    recipe = MLP(30, 1, "exp", "radial", "none", 1, interfaces=interfaces)
    network = recipe.build(Place([0.0], [1.0], 1), 0, torch.float64)
    ends = np.linspace(0, 1, 21)
    spread_units(network, np.stack([ends[:-1], ends[1:]], axis=1)[..., None], 0)
    x = np.linspace(0, 1, 2000)[:, None]
    hidden = network.hidden(network.theta.detach(), network.encode(torch.from_numpy(x))).detach().numpy()
    u = np.sin(3 * x[:, 0]) + np.abs(x[:, 0] - 0.3)
    return np.abs(hidden @ np.linalg.lstsq(hidden, u, rcond=1e-12)[0] - u).max()


def test_units_beside_an_interface_follow_a_kink():
    assert kinked(None) > 3e-3
    assert kinked(((0.3,),)) < 1e-4


@pytest.mark.parametrize("interfaces", [((0.3, 0.4),), ((float("nan"),),)])
def test_interfaces_that_fit_no_line_are_refused(interfaces):
    with pytest.raises(PcpinnError, match="interfaces"):
        MLP(8, 1, interfaces=interfaces).build(Place([0.0], [1.0], 1), 0, torch.float64)
