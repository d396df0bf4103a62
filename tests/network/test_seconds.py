"""Which second derivatives jets carry; test_jets.py has them go through networks."""

import torch

from pcpinn.network.seconds import Seconds


def test_units_of_a_sum():
    half = torch.tensor([2.0, 0.5], dtype=torch.float64)
    assert Seconds(((0, 0), (0, 1)), (4.0, 1.0)).in_units(half) == Seconds(((0, 0), (0, 1)), (1.0, 1.0))
    assert Seconds(((0, 0),)).in_units(half) == Seconds(((0, 0),))
