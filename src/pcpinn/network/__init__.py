"""Networks: they know nothing of PDEs."""

from .ansatz import Ansatz, Part
from .features import Features
from .mlp import MLP, Architecture
from .module import ModuleNetwork
from .protocol import Network

__all__ = ["MLP", "Ansatz", "Architecture", "Features", "ModuleNetwork", "Network", "Part"]
