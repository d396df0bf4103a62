"""Problems of the catalog by name."""

from __future__ import annotations

import difflib

from ..errors import PcpinnError
from .entry import CATALOG, FAMILIES, INVERSE, AnyEntry, Entry, FamilyEntry


def find_any(name: str) -> AnyEntry:
    """The entry called `name`, of a problem, an inverse one or a family; near misses are suggested."""
    found = CATALOG.get(name) or INVERSE.get(name) or FAMILIES.get(name)
    if found is not None:
        return found
    close = difflib.get_close_matches(name, (*CATALOG.names(), *INVERSE.names(), *FAMILIES.names()), n=1)
    remedy = f"did you mean {close[0]}?" if close else "pcpinn list shows all; a file of your own must end in .py"
    raise PcpinnError(f"there is no problem {name!r}", remedy)


def find_entry(name: str) -> Entry:
    """The entry called `name`, of a problem without unknown coefficients; near misses are suggested."""
    found = find_any(name)
    if not isinstance(found, Entry):
        if isinstance(found, FamilyEntry):
            raise PcpinnError(f"{name} is a family of problems, and one problem is wanted here", f"pcpinn solve {name}")
        raise PcpinnError(f"{name} is an inverse problem", f"pcpinn infer {name}")
    return found


def find_family(name: str) -> FamilyEntry:
    """The family called `name`; near misses are suggested."""
    found = find_any(name)
    if not isinstance(found, FamilyEntry):
        raise PcpinnError(f"{name} is a problem, not a family of them", f"families: {', '.join(FAMILIES.names())}")
    return found
