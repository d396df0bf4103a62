"""How certified references are computed: one file per problem, independent of the discretisations that they judge."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ...errors import PcpinnError
from ...progress import Progress
from ...solution.reference import Reference
from .maker import Agreement, Level, Maker, agreement

# problem -> module here that defines MAKER
MAKERS: dict[str, str] = {
    "burgers2d-c": "burgers2d_c",
    "gs": "gs",
    "heat2d-cg": "heat2d_cg",
    "heat2d-lt": "heat2d_lt",
    "heat2d-vc": "heat2d_vc",
    "ks": "ks",
    "ns2d-c": "ns2d_c",
    "ns2d-cg": "ns2d_cg",
    "ns2d-lt": "ns2d_lt",
    "poisson2d-ms": "poisson2d_ms",
    "poisson3d-cg": "poisson3d_cg",
    "wave2d-cg": "wave2d_cg",
}


def find_maker(name: str) -> Maker:
    """The maker of a problem's reference."""
    if name not in MAKERS:
        raise PcpinnError(
            f"the reference of {name!r} is not computed level by level", f"those that are: {', '.join(sorted(MAKERS))}"
        )
    maker: Maker = import_module(f".{MAKERS[name]}", __name__).MAKER
    return maker


def make_reference(name: str, level: int, progress: Progress | None = None) -> tuple[Reference, dict[str, Any]]:
    """The reference of a problem at a level of refinement, with its error, and how it was made."""
    return find_maker(name).make(level, progress)


__all__ = ["MAKERS", "Agreement", "Level", "Maker", "agreement", "find_maker", "make_reference"]
