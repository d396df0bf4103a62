"""The benchmark problems, one file each, all of the same shape; each registers itself."""

from __future__ import annotations

from ..recipes import import_all
from .entry import CATALOG, PRESETS, Entry
from .find import find_entry
from .inverse_entry import INVERSE, InverseEntry

import_all(__name__)

__all__ = ["CATALOG", "INVERSE", "PRESETS", "Entry", "InverseEntry", "find_entry"]
