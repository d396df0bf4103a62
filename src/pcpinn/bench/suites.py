"""Which problems belong together: each problem of the catalog says itself which suites it is in."""

from __future__ import annotations

from ..catalog import CATALOG
from ..catalog.published import published_figures
from ..errors import PcpinnError


def suite_names() -> tuple[str, ...]:
    """Suites that problems say they are in (linear; nonlinear or marched), then `paper` and `all`."""
    return (*dict.fromkeys(name for entry in CATALOG for name in entry.suites), "paper", "all")


def suite(name: str) -> tuple[str, ...]:
    """The problems of a suite, in the order of the catalog; those of `paper` have figures there, `all` are all.

    Raises:
        PcpinnError: for an unknown suite.
    """
    if name not in suite_names():
        raise PcpinnError(f"there is no suite {name!r}", f"use one of {', '.join(suite_names())}")
    if name == "paper":
        return available(tuple(dict.fromkeys(f.problem for f in published_figures())))
    return tuple(entry.name for entry in CATALOG if name == "all" or name in entry.suites)


def available(names: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the names that the catalog has."""
    return tuple(name for name in names if name in CATALOG)
