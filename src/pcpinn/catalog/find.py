"""Problems of the catalog by name."""

from __future__ import annotations

import difflib

from ..errors import PcpinnError
from .entry import CATALOG, Entry
from .inverse_entry import INVERSE


def find_entry(name: str) -> Entry:
    """The entry called `name`; near misses are suggested."""
    found = CATALOG.get(name)
    if found is not None:
        return found
    if name in INVERSE:
        raise PcpinnError(f"{name} is an inverse problem", f"pcpinn infer {name}")
    close = difflib.get_close_matches(name, CATALOG.names(), n=1)
    remedy = f"did you mean {close[0]}?" if close else "pcpinn list shows all; a file of your own must end in .py"
    raise PcpinnError(f"there is no problem {name!r}", remedy)
