"""Networks: they know nothing of PDEs."""

from ..recipes import import_all
from .ansatz import Ansatz, Part
from .features import Features
from .mlp import MLP, Architecture
from .module import ModuleNetwork
from .module_recipe import ModuleRecipe
from .protocol import Network
from .recipe import NETWORKS, NetworkRecipe, Place

import_all(__name__)  # a new file registers itself

__all__ = [
    "MLP",
    "NETWORKS",
    "Ansatz",
    "Architecture",
    "Features",
    "ModuleNetwork",
    "ModuleRecipe",
    "Network",
    "NetworkRecipe",
    "Part",
    "Place",
]
