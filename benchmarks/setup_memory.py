"""Memory of the host that the set-up of a shared problem takes in every process: bytes per degree of freedom.

    python benchmarks/setup_memory.py --out docs/benchmarks/setup_memory.csv

One process that holds all 8 parts of P, or has no P; one iteration of Adam. The most that a process held, for two sizes of
the mesh; their difference is free of what the program itself takes.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
from pathlib import Path

SIZES = {"square, degree 2": (60, 120), "cube, degree 1": (16, 28)}


def one(name: str, cells: int, P: str) -> dict[str, float]:
    """Set up and take one step: degrees of freedom, and GiB of the host."""
    import torch

    import pcpinn as pc
    from pcpinn.environment import peak_memory

    square = name.startswith("square")
    shape = pc.Rectangle((0, 0), (1, 1), name="wall") if square else pc.Box((0, 0, 0), (1, 1, 1), name="wall")
    problem = pc.Problem(
        shape, flux=lambda x, u: u.grad, source=lambda x, u: -1.0 + 0 * u.value, boundary={"wall": pc.Dirichlet(0.0)}
    )
    settings = {
        "accuracy": None,
        "cells": (cells,) * (2 if square else 3),
        "degree": 2 if square else 1,
        "certify": False,
    }
    settings |= {"preconditioner": P, "optimiser": "adam", "iterations": 1, "device": "cpu"}
    result = pc.solve(problem, settings).result
    return {"dofs": result["dofs"], "gib": peak_memory(torch.device("cpu"))["host_gib"] or 0.0}


def main() -> None:
    """Two sizes of each mesh, each in a process of its own."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--one", nargs=3)
    asked.add_argument("--out", type=Path)
    given = asked.parse_args()
    if given.one:
        print(json.dumps(one(given.one[0], int(given.one[1]), given.one[2])))
        return
    table = []
    for (name, sizes), P in itertools.product(SIZES.items(), ("schwarz", "none")):
        found = []
        for cells in sizes:
            words = [sys.executable, __file__, "--one", name, str(cells), P]
            found.append(json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout))
        small, large = found
        each = (large["gib"] - small["gib"]) * 2**30 / (large["dofs"] - small["dofs"])
        row = {"mesh": name, "P": P, "dofs": large["dofs"], "gib": large["gib"], "fewer_dofs": small["dofs"]}
        table.append({**row, "fewer_gib": small["gib"], "bytes_per_dof": round(each)})
        print(table[-1], flush=True)
    if given.out is not None:
        from common import write_csv  # not before: what it imports would count in the memory of `one`

        write_csv(given.out, table)


if __name__ == "__main__":
    main()
