"""Networks: they know nothing of PDEs."""

from .ansatz import Ansatz, Part
from .features import Features
from .mlp import MLP, Architecture

__all__ = ["MLP", "Ansatz", "Architecture", "Features", "Part"]
