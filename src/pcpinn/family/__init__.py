"""Families: one network for a whole range of parameters, with an error for every query."""

from .files import load_surrogate
from .run import solve_family

__all__ = ["load_surrogate", "solve_family"]  # importing them registers them
