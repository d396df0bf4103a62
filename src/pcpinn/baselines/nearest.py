"""The nearest neighbour: for every query the direct solution whose parameters are nearest."""

from __future__ import annotations

import torch
from torch import Tensor

from ..family.discretise import AnySystem
from ..solve.method import FAMILY_METHODS
from ..solve.settings import Settings
from .family_recipes import Solves
from .family_tables import Values, table_method


def nearest(system: AnySystem, z: Tensor, u: Tensor, settings: Settings) -> Values:
    """Values of the solution with the nearest scaled parameters."""
    return lambda at: u[torch.cdist(at.double(), z).argmin(1)]


FAMILY_METHODS.register(table_method("nearest", nearest, Solves()))
