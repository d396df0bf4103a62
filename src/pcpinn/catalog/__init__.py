"""The benchmark problems, one file each, all of the same shape; each registers itself."""

from __future__ import annotations

from ..recipes import import_all
from .entry import CATALOG, FAMILIES, INVERSE, PRESETS, AnyEntry, Entry, FamilyEntry, InverseEntry
from .find import find_any, find_entry

import_all(__name__)

__all__ = [
    "CATALOG",
    "FAMILIES",
    "INVERSE",
    "PRESETS",
    "AnyEntry",
    "Entry",
    "FamilyEntry",
    "InverseEntry",
    "find_any",
    "find_entry",
]
