"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

from ..errors import PcpinnError

Changes = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting; may be repeated.")
]
AsJson = Annotated[
    bool,
    typer.Option("--json", help="Print the result as one JSON object on standard output, all else on standard error."),
]


def pairs(changes: list[str] | None) -> dict[str, str]:
    """--set key=value, each taken apart."""
    result = {}
    for item in changes or []:
        key, separator, value = item.partition("=")
        if not separator or not key:
            raise PcpinnError(
                f"--set {item!r} is not of the form key=value", "write --set mesh_size=0.02, for instance"
            )
        result[key.strip()] = value.strip()
    return result
