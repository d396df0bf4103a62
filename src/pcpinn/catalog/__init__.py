"""The benchmark problems, one file each, all of the same shape."""

from __future__ import annotations

import difflib

from ..errors import PcpinnError
from . import (
    burgers1d,
    burgers1d_c,
    burgers2d_c,
    gs,
    heat2d_cg,
    heat2d_lt,
    heat2d_ms,
    heat2d_vc,
    heat_inv,
    helmholtz2d,
    ks,
    ns2d_c,
    ns2d_cg,
    ns2d_lt,
    poisson1d,
    poisson2d_c,
    poisson2d_cg,
    poisson2d_ms,
    poisson3d_cg,
    poisson_inv,
    wave1d,
    wave1d_c,
    wave2d_cg,
    wave2d_long,
    wave2d_ms,
)
from .entry import PRESETS, Entry
from .inverse_entry import InverseEntry

_MODULES = (
    poisson1d,
    poisson2d_c,
    poisson2d_cg,
    poisson2d_ms,
    poisson3d_cg,
    heat2d_vc,
    heat2d_ms,
    heat2d_cg,
    wave1d_c,
    wave2d_ms,
    wave2d_long,
    burgers1d_c,
    burgers2d_c,
    heat2d_lt,
    ns2d_c,
    ns2d_cg,
    ns2d_lt,
    wave2d_cg,
    gs,
    ks,
    wave1d,
    helmholtz2d,
    burgers1d,
)
CATALOG: dict[str, Entry] = {module.ENTRY.name: module.ENTRY for module in _MODULES}
INVERSE: dict[str, InverseEntry] = {module.ENTRY.name: module.ENTRY for module in (poisson_inv, heat_inv)}


def find_entry(name: str) -> Entry:
    """The entry called `name`; near misses are suggested."""
    if name in CATALOG:
        return CATALOG[name]
    if name in INVERSE:
        raise PcpinnError(f"{name} is an inverse problem", f"pcpinn infer {name}")
    close = difflib.get_close_matches(name, CATALOG, n=1)
    remedy = f"did you mean {close[0]}?" if close else "pcpinn list shows all; a file of your own must end in .py"
    raise PcpinnError(f"there is no problem {name!r}", remedy)


__all__ = ["CATALOG", "INVERSE", "PRESETS", "Entry", "InverseEntry", "find_entry"]
