"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import PcpinnError
from ..solve.settings import canonical_value

Changes = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting; may be repeated.")
]
AsJson = Annotated[
    bool,
    typer.Option("--json", help="Print the result as one JSON object on standard output, all else on standard error."),
]


def pairs(changes: list[str] | None, option: str = "set") -> dict[str, str]:
    """--set key=value, each taken apart."""
    result = {}
    for item in changes or []:
        key, separator, value = item.partition("=")
        if not separator or not key:
            example = {"set": "size=0.02"}.get(option, "account=NAME")
            raise PcpinnError(
                f"--{option} {item!r} is not of the form key=value", f"write --{option} {example}, for instance"
            )
        result[key.strip()] = value.strip()
    return result


def changes_with(changes: list[str] | None, **options: Any) -> dict[str, Any]:
    """--set key=value together with options of their own (--accuracy, --seed), None for those that are not given.

    Raises:
        PcpinnError: where both say different things.
    """
    result: dict[str, Any] = dict(pairs(changes))
    for name, value in options.items():
        if value is None:
            continue
        for key in (name, f"run.{name}"):
            if key in result and canonical_value(key, result[key]) != canonical_value(key, value):
                raise PcpinnError(
                    f"--{name} {value} and --set {key}={result[key]} contradict each other", "give one of them"
                )
            result.pop(key, None)
        result[name] = value
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
