"""What the benchmarks share: a Poisson problem with a known solution, prepared problems, the machine in words, tables."""

from __future__ import annotations

import csv
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

import pcpinn as pc
from pcpinn.catalog.prepared import SUFFIX, read_prepared
from pcpinn.catalog.task import Task, catalog_task


def exact(x: torch.Tensor) -> torch.Tensor:
    """sin(pi x) sin(pi y) + 0.5 sin(2 pi x) sin(pi y) at points (..., 2)."""
    px, py = torch.pi * x[..., 0], torch.pi * x[..., 1]
    return (torch.sin(px) + 0.5 * torch.sin(2 * px)) * torch.sin(py)


def load(x: torch.Tensor) -> torch.Tensor:
    """Minus its Laplacian."""
    px, py = torch.pi * x[..., 0], torch.pi * x[..., 1]
    return torch.pi**2 * (2 * torch.sin(px) + 2.5 * torch.sin(2 * px)) * torch.sin(py)


def poisson() -> pc.Problem:
    """-Laplace u = f on the unit square, u = 0 around it."""
    domain = pc.Rectangle((0, 0), (1, 1))
    return pc.Problem(
        domain,
        flux=lambda x, u: u.grad,
        source=lambda x, u: -load(x),
        boundary=dict.fromkeys(domain.boundary_names, pc.Dirichlet(0.0)),
        name="poisson",
    )


def square_cells(unknowns: int, degree: int) -> tuple[int, int]:
    """Cells along both sides of the square for about so many unknowns."""
    n = max(2, round((unknowns**0.5 - 1) / degree))
    return n, n


def prepared_or_named(name: str, preset: str, changes: dict[str, Any]) -> Task:
    """The task in a prepared file, which needs no mesher, or a catalog problem by name with a preset."""
    if name.endswith(SUFFIX):
        return read_prepared(Path(name), changes)
    return catalog_task(name, preset, changes, reference=False)


def machine(device: torch.device) -> str:
    """The GPU, or the processor and its threads."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{platform.machine()} CPU, {torch.get_num_threads()} threads"


def synchronise(device: torch.device) -> None:
    """Wait until the device has done all it was asked for."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Aligned columns: the first to the left, the others to the right."""
    widths = [max(len(r[k]) for r in [head, *rows]) for k in range(len(head))]
    lines = [head, ["-" * w for w in widths], *rows]
    return "\n".join(
        "  ".join(c.rjust(w) if k else c.ljust(w) for k, (c, w) in enumerate(zip(line, widths, strict=True))).rstrip()
        for line in lines
    )


def write_csv(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """One line per row; a key that a row lacks stays empty."""
    keys = list(dict.fromkeys(k for row in rows for k in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, keys, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def pyplot() -> Any | None:
    """matplotlib.pyplot, or None with a line that says so."""
    try:
        import matplotlib
    except ImportError:
        print("matplotlib is not installed: no picture")
        return None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt
