"""The command `pcpinn export`: a solution for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import PcpinnError
from .options import At, RunFolder, answer_at
from .output import working_progress

_KINDS = {  # and the options that they read
    "vtu": (),
    "pvd": ("frames",),
    "xdmf": ("frames",),
    "vtkhdf": ("frames",),
    "npz": (),
    "csv": ("cut", "count"),
    "onnx": (),
    "pt2": (),
}


def export(
    folder: RunFolder,
    to: Annotated[
        str,
        typer.Option(
            help="vtu, xdmf, vtkhdf (ParaView), pvd (ParaView, a series over time), npz (NumPy), csv (cuts), "
            "onnx (values and gradients), pt2 (torch.export)."
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="File to write.")] = None,
    frames: Annotated[
        int | None,
        typer.Option(help="For pvd, xdmf, vtkhdf: number of evenly spaced times; by default those of the mesh."),
    ] = None,
    cut: Annotated[
        list[str] | None,
        typer.Option(help="For csv: a line 0,0:1,1 or fixed coordinates x=0.5,t=1; may be repeated."),
    ] = None,
    count: Annotated[int | None, typer.Option(help="For csv: points along each cut.")] = None,
    at: At = None,
) -> None:
    """Write the solution for other programs."""
    if to not in _KINDS:
        raise PcpinnError(f"cannot export to {to!r}", f"use --to {', '.join(_KINDS)}")
    given: dict[str, Any] = {"frames": frames, "cut": cut, "count": count}
    for name, value in given.items():
        if value is None or name in _KINDS[to]:
            continue
        kinds = ", ".join(f"--to {kind}" for kind, options in _KINDS.items() if name in options)
        raise PcpinnError(f"--{name} {value} says nothing about {to}", f"use {kinds}, or leave it out")
    solution = answer_at(folder, at)
    path = out or folder / f"solution.{to}"
    if to == "csv":
        solution.to_csv(path, *(cut or ()), count=count)
    elif "frames" in _KINDS[to]:
        with working_progress() as progress:
            getattr(solution, f"to_{to}")(path, frames=frames, progress=progress)
    else:
        getattr(solution, f"to_{to}")(path)
    print(path)
