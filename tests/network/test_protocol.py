"""What can be asked of a network while the program runs."""

import pytest
import torch

from pcpinn.network import Architecture, DenseNetwork
from pcpinn.network.protocol import HeadMethods, Layered
from pcpinn.train.model import LeastSquaresLoss


@pytest.mark.parametrize("protocol", [Layered, HeadMethods, LeastSquaresLoss])
def test_protocols_that_are_asked_for_have_methods_only(protocol):
    """From Python 3.12 on isinstance looks no further than __dict__ and the class: modules keep parameters elsewhere."""
    kept_elsewhere = {"theta", "output_scale", "centre", "half_width", "frequencies"}
    declared = {name for base in protocol.__mro__ for name in getattr(base, "__annotations__", {})}
    assert not declared & kept_elsewhere


def test_the_mlp_has_them():
    network = DenseNetwork(Architecture(4, 1), [0.0], [1.0], 1, torch.Generator())
    assert isinstance(network, HeadMethods)
    assert not isinstance(torch.nn.Linear(1, 1), Layered)
