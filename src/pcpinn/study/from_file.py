"""Studies that users' own files register."""

from __future__ import annotations

from pathlib import Path

from ..catalog.user_file import import_file
from ..errors import PcpinnError
from .study import STUDIES, Study


def study_of_file(path: Path) -> Study:
    """The one study that a user's file registers.

    Raises:
        PcpinnError: when it registers none, or several.
    """
    before = {one.name: one for one in STUDIES}
    import_file(path)
    added = [one for one in STUDIES if before.get(one.name) is not one]
    if len(added) != 1:
        names = ", ".join(one.name for one in added) or "none"
        raise PcpinnError(
            f"{path} should register one study, and registers {names}",
            "write pcpinn.study.STUDIES.register(Study(...))",
        )
    return added[0]
