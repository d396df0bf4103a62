"""Networks: they know nothing of PDEs."""

from ..recipes import import_all
from .ansatz import Ansatz, Part
from .features import Features
from .mlp import MLP, Architecture
from .module import ModuleNetwork
from .protocol import Network

import_all(__name__)  # a new file registers itself

__all__ = ["MLP", "Ansatz", "Architecture", "Features", "ModuleNetwork", "Network", "Part"]
