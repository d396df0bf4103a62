"""Every numbered table and figure of the paper, beside ours: one declaration each, which registers itself."""

from __future__ import annotations

from ..recipes import import_all
from .choice import Choice
from .compare import Comparison, Line
from .found import Found, Sources
from .item import ITEMS, Item
from .part import Runs, Studied

import_all(__name__)

__all__ = ["ITEMS", "Choice", "Comparison", "Found", "Item", "Line", "Runs", "Sources", "Studied"]
