"""Options that several commands share."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import torch
import typer

from ..errors import PcpinnError
from ..family.surrogate import Surrogate
from ..solution.load import load
from ..solution.solution import Solution
from ..solve.settings import canonical_value

Changes = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting; may be repeated.")
]
Force = Annotated[bool, typer.Option("--force", help="Begin though the run seems to need more memory than there is.")]
Memory = Annotated[
    float | None,
    typer.Option(
        "--memory", metavar="GIB", help="Memory of the GPU, or of the host without one, that the run may take."
    ),
]
AsJson = Annotated[
    bool,
    typer.Option("--json", help="Print the result as one JSON object on standard output, all else on standard error."),
]


RunFolder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run.")]
At = Annotated[
    list[str] | None,
    typer.Option("--at", metavar="NAME=VALUE", help="Of a family: a parameter (1 or 1,2,3); the middle by default."),
]


def answer_at(folder: Path, at: list[str] | None) -> Solution:
    """The solution of a run; of a family, that for parameters NAME=VALUE, those not named in the middle of their ranges."""
    solution = load(folder)
    if not isinstance(solution, Surrogate):
        if at:
            raise PcpinnError(f"{folder} is not the run of a family", "leave --at out")
        return solution
    parameters = solution.parameters
    values = parameters.middle
    for name, text in _taken_apart(at, "--at", "a=1.5").items():
        if name not in parameters.named:
            raise PcpinnError(f"there is no parameter {name!r}", f"the parameters are {', '.join(parameters.named)}")
        try:
            numbers = [float(v) for v in text.split(",")]
        except ValueError:
            raise PcpinnError(
                f"--at {name}={text} is not a number", "write --at a=1.5, or 1,2,3 for a vector"
            ) from None
        size = parameters.named[name].size
        if len(numbers) != size:
            raise PcpinnError(f"--at {name}={text} has {len(numbers)} numbers", f"give {size}, separated by commas")
        values[parameters.columns[name]] = torch.tensor(numbers, dtype=values.dtype)
    return solution.at(values)


def pairs(changes: list[str] | None, option: str = "set") -> dict[str, str]:
    """--set key=value, each taken apart."""
    return _taken_apart(changes, f"--{option}", {"set": "size=0.02"}.get(option, "account=NAME"))


def _taken_apart(items: list[str] | None, option: str, example: str) -> dict[str, str]:
    result = {}
    for item in items or []:
        key, separator, value = item.partition("=")
        if not separator or not key:
            raise PcpinnError(
                f"{option} {item!r} is not of the form key=value", f"write {option} {example}, for instance"
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


def run_name(*parts: str) -> str:
    """The name of a run's folder from names that problem files choose: one plain name, never a path, at most 100 characters."""
    name = re.sub(r"[^\w.+-]+", "-", "-".join(parts), flags=re.ASCII).strip(".-")
    return name[:100] or "problem"


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
