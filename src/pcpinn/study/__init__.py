"""The paper's studies as commands: numbers, figures and the paper's statement beside them; each registers itself."""

from __future__ import annotations

from ..recipes import import_all
from .study import STUDIES, Data, Study, conduct, draw_study, find_study, page, read_study, write_study
from .unfinished import is_unfinished

import_all(__name__)

__all__ = [
    "STUDIES",
    "Data",
    "Study",
    "conduct",
    "draw_study",
    "find_study",
    "is_unfinished",
    "page",
    "read_study",
    "write_study",
]
