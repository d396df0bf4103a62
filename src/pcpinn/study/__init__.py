"""The paper's studies as commands: numbers, figures and the paper's statement beside them."""

from __future__ import annotations

import difflib

from ..errors import PcpinnError
from . import (
    correlation,
    error_control,
    inverse_comparison,
    inverse_robustness,
    landscape,
    ntk,
    poisson1d,
    scaling,
)
from .study import Data, Study, conduct, draw_study, page, read_study, write_study
from .unfinished import is_unfinished

_ALL = (
    poisson1d.STUDY,
    correlation.WAVE,
    correlation.HELMHOLTZ,
    correlation.BURGERS,
    error_control.STUDY,
    landscape.STUDY,
    ntk.STUDY,
    scaling.STUDY,
    inverse_comparison.STUDY,
    inverse_robustness.STUDY,
)
STUDIES: dict[str, Study] = {study.name: study for study in _ALL}


def find_study(name: str) -> Study:
    """The study called `name`; near misses are suggested."""
    if name in STUDIES:
        return STUDIES[name]
    close = difflib.get_close_matches(name, STUDIES, n=1)
    raise PcpinnError(
        f"there is no study {name!r}", f"did you mean {close[0]}?" if close else f"use one of {', '.join(STUDIES)}"
    )


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
