"""Problems of the catalog by name."""

from __future__ import annotations

import difflib

from ..errors import PcpinnError
from .entry import CATALOG, INVERSE, AnyEntry, Entry


def find_any(name: str) -> AnyEntry:
    """The entry called `name`, inverse or not; near misses are suggested."""
    found = CATALOG.get(name) or INVERSE.get(name)
    if found is not None:
        return found
    close = difflib.get_close_matches(name, (*CATALOG.names(), *INVERSE.names()), n=1)
    remedy = f"did you mean {close[0]}?" if close else "pcpinn list shows all; a file of your own must end in .py"
    raise PcpinnError(f"there is no problem {name!r}", remedy)


def find_entry(name: str) -> Entry:
    """The entry called `name`, of a problem without unknown coefficients; near misses are suggested."""
    found = find_any(name)
    if not isinstance(found, Entry):
        raise PcpinnError(f"{name} is an inverse problem", f"pcpinn infer {name}")
    return found
