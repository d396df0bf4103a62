"""True errors of runs with P in parts beside those with the P that one process takes by itself.

    python benchmarks/shared_errors.py --out docs/benchmarks/shared_errors.csv

A linear problem, a nonlinear one and a march; by one process, which finds what several find (tests/solve/test_shared.py).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common import exact, load, write_csv

import pcpinn as pc
from pcpinn.catalog.task import catalog_task


def reaction() -> pc.Problem:
    """-Laplace u + u^3 = f on the unit square, u = 0 around it."""
    domain = pc.Rectangle((0, 0), (1, 1))
    return pc.Problem(
        domain,
        flux=lambda x, u: u.grad,
        source=lambda x, u: u.value**3 - load(x) - exact(x) ** 3,
        boundary=dict.fromkeys(domain.boundary_names, pc.Dirichlet(0.0)),
        name="reaction",
    )


def error(name: str, changes: dict[str, Any]) -> tuple[float, dict[str, Any]]:
    """Relative L2 error, and the record."""
    if not name.startswith("reaction"):
        result = catalog_task(name.partition(",")[0], "quick", changes).run(None, pc.Progress(), False).result
        return result["errors"]["l2re"], result
    keys = {"cells": (24, 24), "degree": 2, "certify": False, "device": "cpu", **changes}
    solution = pc.solve(reaction(), keys, accuracy=None, progress=pc.Progress())
    x = np.random.default_rng(0).random((20_000, 2))
    wanted = exact(torch.from_numpy(x)).numpy()
    return float(np.linalg.norm(solution(x) - wanted) / np.linalg.norm(wanted)), solution.result


def main() -> None:
    """Run and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="CSV file to write")
    options = parser.parse_args()
    rows = []
    cases: dict[str, dict[str, Any]] = {
        "reaction": {"iterations": 40, "width": 10, "depth": 2, "degree": 1, "cells": (48, 48)},
        "reaction, 625 nodes": {"iterations": 40, "width": 16, "depth": 2, "degree": 1},
        "reaction, degree 2": {"iterations": 60, "width": 16, "depth": 2},
        "burgers1d": {},
        "poisson2d-c": {},
        "poisson2d-c, longer": {"iterations": 60, "width": 20},
    }
    for name, keys in cases.items():
        found: dict[str, float] = {}
        for P in ({}, {"preconditioner": "schwarz"}):
            l2re, result = error(name, {**keys, **P})
            kind = str(result["preconditioner"]["name"])
            found[kind] = l2re
            training, discretisation = (result["errors"].get(k) for k in ("training", "discretisation"))
            rows.append({"problem": name, "dofs": result["dofs"], "preconditioner": kind, "l2re": l2re})
            rows[-1] |= {"training": training, "discretisation": discretisation, "iterations": result["iterations"]}
            rows[-1] |= {"parts": result["preconditioner"].get("parts")}
            print(rows[-1], flush=True)
        rows[-1]["over_unpartitioned"] = round(l2re / next(iter(found.values())), 4)
    write_csv(options.out, rows)


if __name__ == "__main__":
    main()
