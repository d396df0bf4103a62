"""Networks: they know nothing of PDEs."""

from .features import Features
from .mlp import MLP, Architecture

__all__ = ["MLP", "Architecture", "Features"]
