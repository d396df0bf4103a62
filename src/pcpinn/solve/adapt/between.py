"""How far a network is, between the nodes of the mesh that it is trained on, from what its own values at these nodes say."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...discretize.space import Space
from ...discretize.transfer import by_field, values_in_cells


def between_nodes(space: Space, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """(c, F) squares over each cell of the distance from a function of points (m, d) to its own interpolant, by field."""
    quadrature = space.quadrature
    x = quadrature.x.reshape(-1, space.mesh.dimension)
    values = function(x).reshape(*quadrature.dx.shape, -1)
    nodal = function(space.unknown_nodes)[np.arange(space.size), space.unknown_components]
    own = np.stack([values_in_cells(space, k, nodal) for k in range(space.components)], axis=-1)
    return by_field(space, np.einsum("cq,cqk->ck", quadrature.dx, (values - own) ** 2))
