"""A network of a family at the nodes of a discretisation, for many parameters at once."""

from __future__ import annotations

import torch
from torch import Tensor

from ..discretize.equation import Nodes, TensorNodes
from ..network.parametric import OneSet
from ..network.protocol import Network, Placed
from ..network.query import HiddenUnits
from ..network.trunk_branch import PlacedProduct, TrunkBranchNetwork

_ROWS = 65_536


class NodalNetwork:
    """u_theta at nodes.

    Args:
        network: on (z, x).
        nodes: where the degrees of freedom sit.
    """

    def __init__(self, network: Network, nodes: Nodes) -> None:
        self.network = network
        self._units = HiddenUnits()
        like = network.theta
        self.points = torch.as_tensor(nodes.points, dtype=like.dtype, device=like.device)
        self.point_of = torch.as_tensor(nodes.point_of, device=like.device)
        self.component_of = torch.as_tensor(nodes.component_of, device=like.device)

    def extended(self, z: Tensor) -> Tensor:
        """Points (S M, K + d), sample by sample."""
        z, x = z.to(self.points), self.points
        return torch.cat([z[:, None].expand(-1, len(x), -1), x.expand(len(z), -1, -1)], dim=2).flatten(0, 1)

    @torch.no_grad()
    def values(self, z: Tensor) -> Tensor:
        """(S, N) for scaled parameters (S, K)."""
        if isinstance(self.network, TrunkBranchNetwork):
            flat = self._combined(self.network, z.to(self.points))
        elif len(z) == 1 and isinstance(self.network, OneSet):
            flat = self.network.query_one(z[0].to(self.points), self.points)
        else:
            points = self.extended(z)
            flat = torch.cat([self.network(points[k : k + _ROWS]) for k in range(0, len(points), _ROWS)])
        at = flat.reshape(len(z), len(self.points), -1)
        return at[:, self.point_of, self.component_of].double()

    def _combined(self, network: TrunkBranchNetwork, z: Tensor) -> Tensor:
        """(S, M, outputs) of a trunk and a branch: the trunk's functions are kept from call to call, while their weights stay."""
        theta = network.theta.detach()
        phi, factor = self._units.at(network.layers(theta)[0], network.activation, network.encode(self.points))
        c = network.head(theta, z)
        if len(z) == 1:
            return torch.addmm(c[0, :, -1], phi, c[0, :, :-1].T, alpha=factor)[None] * network.output_scale
        return (torch.einsum("mw,sow->smo", phi, factor * c[..., :-1]) + c[:, None, :, -1]) * network.output_scale

    def nodes(self, z: Tensor) -> TensorNodes:
        """The degrees of freedom of all samples as those of one function on extended points."""
        offset = (torch.arange(len(z), device=self.points.device) * len(self.points))[:, None]
        return TensorNodes(self.extended(z), (offset + self.point_of).reshape(-1), self.component_of.repeat(len(z)))

    def placed(self, z: Tensor) -> Placed | None:
        """The network at these extended points, where it is known that they are a grid of parameters and places."""
        if isinstance(self.network, TrunkBranchNetwork):
            return PlacedProduct.on_grid(self.network, z.to(self.points), self.points)
        return None
