"""Larger networks that are the same function: new units count for nothing until training gives them weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import torch
from torch import Tensor

from .dense import DenseNetwork
from .parametric import ParametricNetwork
from .trunk_branch import TrunkBranchNetwork

N = TypeVar("N", bound=DenseNetwork | TrunkBranchNetwork)
Layers = Sequence[tuple[Tensor, Tensor]]


@torch.no_grad()
def widened(network: N, width: int, seed: int) -> N:
    """The network with `width` units per hidden layer, of a trunk and branch those of the trunk; the same function as before.

    New units have random weights from what is below them, and weights zero to what is above.
    """
    lower = (network.centre - network.half_width).tolist()
    upper = (network.centre + network.half_width).tolist()
    box, generator = (lower, upper, network.outputs), torch.Generator().manual_seed(seed)
    architecture, dtype = replace(network.architecture, width=width), network.theta.dtype
    grown: DenseNetwork | TrunkBranchNetwork
    if isinstance(network, TrunkBranchNetwork):
        grown = TrunkBranchNetwork(
            architecture, *box, network.numbers, network.branch, generator, dtype, network.bends_by, network.sized
        )
    elif isinstance(network, ParametricNetwork):
        grown = ParametricNetwork(architecture, *box, network.numbers, generator, dtype)
    else:
        grown = DenseNetwork(architecture, *box, generator, dtype)
    grown = grown.to(network.theta.device)
    grown.frequencies.copy_(network.frequencies)
    grown.output_scale = network.output_scale.clone()
    if isinstance(network, TrunkBranchNetwork):
        assert isinstance(grown, TrunkBranchNetwork)
        (trunk, branch), (Trunk, Branch) = network.layers(network.theta), grown.layers(grown.theta)
        _widen(trunk, Trunk)
        _widen(branch[:-1], Branch[:-1])
        for own, larger in zip(branch[-1], Branch[-1], strict=True):
            _spread(own, larger, network.outputs)
        for own, larger in zip(
            network.size_layer(network.theta) or (), grown.size_layer(grown.theta) or (), strict=True
        ):
            larger.copy_(own)
    else:
        assert isinstance(grown, DenseNetwork)
        _widen(network.layers(network.theta), grown.layers(grown.theta))
    return grown  # type: ignore[return-value]


def _widen(layers: Layers, larger: Layers) -> None:
    """Copy layers into wider ones; what is new there does not reach what was."""
    for k, ((w, b), (W, B)) in enumerate(zip(layers, larger, strict=True)):
        rows, columns = w.shape
        if k:
            W[:rows, columns:] = 0.0
        W[:rows, :columns] = w
        B[:rows] = b


def _spread(own: Tensor, larger: Tensor, outputs: int) -> None:
    """Copy a branch's last layer, by output: coefficients of functions that are new are zero; the constant's is the last."""
    few, many = own.unflatten(0, (outputs, -1)), larger.unflatten(0, (outputs, -1))
    many[:, few.shape[1] - 1 : -1] = 0.0
    many[:, : few.shape[1] - 1] = few[:, :-1]
    many[:, -1] = few[:, -1]
