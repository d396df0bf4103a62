"""Where a nonlinear solve begins: another solution, or a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..discretize.discretisation import Discretisation
from ..errors import PcpinnError
from ..network.protocol import Network
from ..solution.solution import Solution

Start = Solution | Callable[[np.ndarray], Any]


def nodal_start(start: Start, discretisation: Discretisation) -> np.ndarray:
    """(N,) values of the start at the degrees of freedom.

    Raises:
        PcpinnError: when it is of other fields, or not finite.
    """
    nodes, components = discretisation.unknown_nodes, np.asarray(discretisation.unknown_components)
    values = np.asarray(start(nodes), dtype=np.float64)
    values = values.reshape(len(nodes), -1) if values.ndim == 1 else values
    if values.shape != (len(nodes), discretisation.components):
        raise PcpinnError(
            f"start has values of shape {values.shape} at {len(nodes)} points",
            f"it must give (n, {discretisation.components}), one column per component",
        )
    if not np.isfinite(values).all():
        raise PcpinnError("start is not finite at some nodes", "correct the function")
    return values[np.arange(len(nodes)), components]


def take_over(network: Network, start: Start) -> bool:
    """Copy the weights of a solution whose network is of the same kind; tells whether that was so."""
    return isinstance(start, Solution) and network.copy_from(start.network)
