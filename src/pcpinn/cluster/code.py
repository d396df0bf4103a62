"""Which code this is: the version of the package and a digest of its source. Workers with other code are refused."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from ..environment import package_version


@cache
def code_of_this_process() -> str:
    """Such as "0.1.0 (4f1c9a2e)": in a source checkout the version alone says little."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return f"{package_version('pcpinn') or 'not installed'} ({digest.hexdigest()[:8]})"
