"""Which problems belong together: each problem of the catalog says itself which suites it is in."""

from __future__ import annotations

from pathlib import Path

from ..catalog import CATALOG, FAMILIES
from ..catalog.entry import FAMILIES_SUITE
from ..catalog.published import published_figures
from ..errors import PcpinnError

STRANGERS = "strangers"
STRANGERS_ACCURACY = "1e-3"  # that is asked of them
_STRANGERS = Path("tests") / STRANGERS  # of a source checkout; not part of the package


def suite_names() -> tuple[str, ...]:
    """Suites that problems say they are in (linear; nonlinear or marched), then `paper`, `all`, `strangers` and `families`."""
    own = dict.fromkeys(name for entry in CATALOG for name in entry.suites)
    return (*own, "paper", "all", "strangers", FAMILIES_SUITE)


def suite(name: str) -> tuple[str, ...]:
    """The problems of a suite, in the order of the catalog; those of `paper` have figures there, `all` are all of it.

    `strangers` are files of a source checkout that the catalog knows nothing of, as paths; `families` have one network each.

    Raises:
        PcpinnError: for an unknown suite, or where the files of `strangers` are not there.
    """
    if name not in suite_names():
        raise PcpinnError(f"there is no suite {name!r}", f"use one of {', '.join(suite_names())}")
    if name == FAMILIES_SUITE:
        return tuple(entry.name for entry in FAMILIES if name in entry.suites)
    if name == "strangers":
        return _stranger_files()
    if name == "paper":
        return available(tuple(dict.fromkeys(f.problem for f in published_figures())))
    return tuple(entry.name for entry in CATALOG if name == "all" or name in entry.suites)


def available(names: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the names that the catalog has."""
    return tuple(name for name in names if name in CATALOG)


def _stranger_files() -> tuple[str, ...]:
    """Paths of the files in tests/strangers, sorted: below the current folder, else of the checkout that runs."""
    checkout = Path(__file__).resolve().parents[3]
    for folder in (_STRANGERS, checkout / _STRANGERS):
        files = sorted(str(p) for p in folder.glob("*.py") if not p.name.startswith(("test_", "make_", "_")))
        if files:
            return tuple(files)
    raise PcpinnError(
        f"the files of the suite 'strangers' are not in {_STRANGERS}",
        "run it in a source checkout of pcpinn; the installed package does not have them",
    )
