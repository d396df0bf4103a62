"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
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
            raise PcpinnError(f"--set {item!r} is not of the form key=value", "write --set size=0.02, for instance")
        result[key.strip()] = value.strip()
    return result


def free_folder(wanted: Path) -> Path:
    """The wanted folder, or the first of wanted-2, wanted-3, ... that does not exist."""
    folder, k = wanted, 1
    while folder.exists():
        k += 1
        folder = wanted.with_name(f"{wanted.name}-{k}")
    return folder


def movie_path(folder: Path, out: Path | None, kind: str | None) -> Path:
    """Where `plot --animate` writes: --out, or solution.gif (or as --format says) in the run's folder."""
    if kind not in (None, "gif", "mp4"):
        raise PcpinnError(f"cannot animate as {kind!r}", "use --format gif or --format mp4")
    if out is None:
        return folder / f"solution.{kind or 'gif'}"
    if kind is not None and out.suffix.lower() != f".{kind}":
        raise PcpinnError(f"--format {kind} and --out {out} contradict each other", f"let the name end in .{kind}")
    return out
