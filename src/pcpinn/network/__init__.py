"""Networks: they know nothing of PDEs."""

from ..recipes import import_all
from .ansatz import Ansatz, Part
from .dense import Architecture, DenseNetwork
from .features import Features
from .module import ModuleNetwork
from .module_recipe import ModuleRecipe
from .protocol import Network
from .recipe import NETWORKS, NetworkRecipe, Place

import_all(__name__)  # a new file registers itself

__all__ = [
    "NETWORKS",
    "Ansatz",
    "Architecture",
    "DenseNetwork",
    "Features",
    "ModuleNetwork",
    "ModuleRecipe",
    "Network",
    "NetworkRecipe",
    "Part",
    "Place",
]
