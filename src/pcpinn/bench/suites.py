"""Which problems belong together. A suite lists names; those that the catalog does not have (yet) are left out."""

from __future__ import annotations

from ..catalog import CATALOG
from ..catalog.published import published_figures
from ..errors import PcpinnError

_LINEAR: tuple[str, ...] = (
    "poisson2d-c", "poisson2d-cg", "poisson3d-cg", "poisson2d-ms", "heat2d-vc", "heat2d-ms", "heat2d-cg", "wave1d-c",
    "wave2d-ms", "wave2d-long",
)  # fmt: skip
# Nonlinear, or marched through time: wave2d-cg is linear, and solved and reported with the latter.
_NONLINEAR: tuple[str, ...] = (
    "burgers1d-c", "burgers2d-c", "heat2d-lt", "ns2d-c", "ns2d-cg", "ns2d-lt", "wave2d-cg", "gs", "ks",
)  # fmt: skip
SUITES = ("linear", "nonlinear", "paper", "all")


def suite(name: str) -> tuple[str, ...]:
    """The problems of a suite: `linear`, `nonlinear` (or marched), `paper` (all with figures there) or `all` of the catalog.

    Raises:
        PcpinnError: for an unknown suite.
    """
    if name == "linear":
        wanted = _LINEAR
    elif name == "nonlinear":
        wanted = _NONLINEAR
    elif name == "paper":
        wanted = tuple(dict.fromkeys(f.problem for f in published_figures()))
    elif name == "all":
        wanted = tuple(CATALOG)
    else:
        raise PcpinnError(f"there is no suite {name!r}", f"use one of {', '.join(SUITES)}")
    return available(wanted)


def available(names: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the names that the catalog has."""
    return tuple(name for name in names if name in CATALOG)
