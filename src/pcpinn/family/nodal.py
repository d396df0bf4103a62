"""A network of a family at the nodes of a discretisation, for many parameters at once."""

from __future__ import annotations

import torch
from torch import Tensor

from ..discretize.equation import Nodes, TensorNodes
from ..network.parametric import OneSet
from ..network.protocol import Network, Placed
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
        grid = self.placed(z)
        if len(z) == 1 and isinstance(self.network, OneSet):
            flat = self.network.query_one(z[0].to(self.points), self.points)
        elif grid is None:
            points = self.extended(z)
            flat = torch.cat([self.network(points[k : k + _ROWS]) for k in range(0, len(points), _ROWS)])
        else:
            flat = grid.values()
        at = flat.reshape(len(z), len(self.points), -1)
        return at[:, self.point_of, self.component_of].double()

    def nodes(self, z: Tensor) -> TensorNodes:
        """The degrees of freedom of all samples as those of one function on extended points."""
        offset = (torch.arange(len(z), device=self.points.device) * len(self.points))[:, None]
        return TensorNodes(self.extended(z), (offset + self.point_of).reshape(-1), self.component_of.repeat(len(z)))

    def placed(self, z: Tensor) -> Placed | None:
        """The network at these extended points, where it is known that they are a grid of parameters and places."""
        if isinstance(self.network, TrunkBranchNetwork):
            return PlacedProduct.on_grid(self.network, z.to(self.points), self.points)
        return None
