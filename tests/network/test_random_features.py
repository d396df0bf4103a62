"""Random sines and cosines, through the inputs of corners too."""

import math

import torch

from pcpinn.network.random_features import RandomFeatures
from pcpinn.network.recipe import Place

HOLES = ((-0.4, 0.0), (0.4, 0.1))


def test_corners_are_seen_one_by_one():
    """Each wave is a sine and a cosine of the coordinates and of one corner's inputs; its last layer begins at zero."""
    place = Place([-1, -1], [1, 1], 1, corners=HOLES, corner_size=0.05)
    network = RandomFeatures(waves=30, spread=3.0).build(place, 0, torch.float64)
    weight, bias = network.layers(network.theta.detach())[0]
    assert weight.shape == (60, 2 + 3 * 2)
    torch.testing.assert_close(weight[:30], weight[30:])
    assert set(bias.tolist()) == {0.0, math.pi / 2}
    seen = torch.stack([weight[:, 2:5].abs().sum(1) > 0, weight[:, 5:8].abs().sum(1) > 0], 1)
    assert (seen.sum(1) == 1).all()
    assert seen.any(0).all()
    assert 2 < weight[:, :2].std() < 4
    assert float(network.theta.detach()[-network.head_size :].abs().max()) == 0.0


def test_what_is_singular_in_a_hole_is_within_their_reach():
    """log r and the field of a dipole outside of a hole: within 1e-6 with its centre as a corner, not without."""
    place = Place([-1, -1], [1, 1], 1)
    random = torch.Generator().manual_seed(1)
    x = 2 * torch.rand(3000, 2, generator=random, dtype=torch.float64) - 1
    away = x - torch.tensor(HOLES[0], dtype=torch.float64)
    r = away.norm(dim=1)
    wanted = (torch.log(r) + 0.02 * away[:, 0] / r**2)[r > 0.2]
    left = {}
    for corners in ((), HOLES[:1]):
        where = Place(place.lower, place.upper, 1, corners=corners, corner_size=0.05)
        network = RandomFeatures(waves=200, spread=3.0).build(where, 0, torch.float64)
        hidden = network.hidden(network.theta.detach(), network.encode(x[r > 0.2]))
        fit = torch.linalg.lstsq(hidden, wanted[:, None], driver="gelsd").solution
        left[corners] = float((hidden @ fit - wanted[:, None]).norm() / wanted.norm())
    assert left[HOLES[:1]] < 1e-6 < 1e-4 < left[()]


def test_waves_repeat_themselves_along_periodic_axes():
    """Values and slopes at opposite points are the same, and there is no coordinate among the inputs of that axis."""
    for more in ({}, {"kinks": ((), (0.3,))}):
        place = Place([0, 0], [3, 1], 1, periodic=(0,), **more)
        network = RandomFeatures(waves=20, spread=4.0).build(place, 0, torch.float64)
        y = torch.rand(7, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        left, right = (torch.cat([torch.full_like(y, c), y], 1) for c in (0.0, 3.0))
        with torch.no_grad():
            a, b = (network.hidden(network.theta, network.encode(x)) for x in (left, right))
            moved = network.hidden(network.theta, network.encode(left + torch.tensor([1.3, 0.0])))
        torch.testing.assert_close(a, b)
        assert float((a - moved).abs().max()) > 0.5
        assert float((a[0] - a[1]).abs().max()) > 0.1  # along the other axis they are free


def test_a_slope_that_jumps_is_within_their_reach():
    """|x - 0.3| (1 + y) sin x: far closer with the kink than without."""
    x = 2 * torch.rand(2000, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64) - 1
    wanted = (x[:, 0] - 0.3).abs() * (1 + x[:, 1]) * torch.sin(x[:, 0])
    left = {}
    for kinks in ((), ((0.3,), ())):
        network = RandomFeatures(waves=200, spread=3.0).build(Place([-1, -1], [1, 1], 1, kinks=kinks), 0, torch.float64)
        hidden = network.hidden(network.theta.detach(), network.encode(x))
        fit = torch.linalg.lstsq(hidden, wanted[:, None], driver="gelsd").solution
        left[kinks] = float((hidden @ fit - wanted[:, None]).norm() / wanted.norm())
    assert left[((0.3,), ())] < 1e-6 < 1e-4 < left[()]


def test_a_sudden_start_is_an_input():
    """sqrt(t) is within reach where the start is told."""
    x = torch.rand(2000, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    wanted = torch.sqrt(x[:, 1] + 1e-4) * torch.cos(x[:, 0])
    left = []
    for start in (0.0, 1e-4):
        network = RandomFeatures(waves=150, spread=3.0).build(Place([0, 0], [1, 1], 1, start=start), 0, torch.float64)
        hidden = network.hidden(network.theta.detach(), network.encode(x))
        fit = torch.linalg.lstsq(hidden, wanted[:, None], driver="gelsd").solution
        left.append(float((hidden @ fit - wanted[:, None]).norm() / wanted.norm()))
    assert left[1] < 1e-7 < 1e-4 < left[0]
