"""How certified references are computed: one file per problem, independent of the discretisations that they judge."""

from __future__ import annotations

from typing import Any

from ...errors import PcpinnError
from ...progress import Progress
from ...recipes import import_all
from ...solution.reference import Reference
from .maker import MAKERS, Agreement, Level, Maker, agreement

import_all(__name__)


def find_maker(name: str) -> Maker:
    """The maker of a problem's reference."""
    maker = MAKERS.get(name)
    if maker is None:
        raise PcpinnError(
            f"the reference of {name!r} is not computed level by level", f"those that are: {', '.join(MAKERS.names())}"
        )
    return maker


def make_reference(name: str, level: int, progress: Progress | None = None) -> tuple[Reference, dict[str, Any]]:
    """The reference of a problem at a level of refinement, with its error, and how it was made."""
    return find_maker(name).make(level, progress)


__all__ = ["MAKERS", "Agreement", "Level", "Maker", "agreement", "find_maker", "make_reference"]
