"""True errors of runs with P in parts beside those with the P that one process takes by itself.

    python benchmarks/shared_errors.py --out docs/benchmarks/shared_errors.csv
    python benchmarks/shared_errors.py --fair --seeds 3,4,5 --out docs/benchmarks/shared_errors_again.csv

A linear problem, a nonlinear one and a march, of degree 1 and 2, each with some seeds; by one process, which finds what several
find (tests/solve/test_shared.py). The rules of `FAIR` cases:

- a run has ended if its residual is a 300th of the error of the discrete solution, which is measured first, or if it falls no
  more (less than one percent in 20 iterations; in a march, if a window gains nothing): not if iterations were over;
- a network has at most one weight for four degrees of freedom, so that nodes hold it everywhere.

`SHORT` cases keep neither. How far the seeds of one P are apart is what a difference between two P is to be compared with.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common import exact, load, poisson, write_csv

import pcpinn as pc
from pcpinn.catalog.task import catalog_task

PART, LEAST_NODES = 300, 4
WHOLE: dict[str, Any] = {"features": "none", "depth": 2, "iterations": 600}
STEPS: dict[str, Any] = {"features": "log", "feature_count": 3, "feature_low": -2.0, "feature_high": 0.0, "width": 8}
STEPS |= {"iterations": 60, "start_iterations": 200}
FAIR: dict[str, dict[str, Any]] = {
    "poisson, degree 1": {**WHOLE, "cells": (32, 32), "degree": 1, "width": 12},
    "poisson, degree 2": {**WHOLE, "cells": (16, 16), "degree": 2, "width": 14},
    "reaction, degree 1": {**WHOLE, "cells": (32, 32), "degree": 1, "width": 12},
    "reaction, degree 2": {**WHOLE, "cells": (16, 16), "degree": 2, "width": 14},
    "burgers1d, degree 1": {**STEPS, "cells": (256,), "degree": 1},
    "burgers1d, degree 2": {**STEPS, "cells": (128,), "degree": 2},
    "poisson2d-c, to the end": {**WHOLE, "width": 14},
}
SHORT: dict[str, dict[str, Any]] = {
    "reaction, 40 iterations": {"iterations": 40, "width": 10, "depth": 2, "degree": 1, "cells": (48, 48)},
    "reaction, 625 nodes": {"iterations": 40, "width": 16, "depth": 2, "degree": 1, "cells": (24, 24)},
    "reaction, degree 2, 60 iterations": {"iterations": 60, "width": 16, "depth": 2, "cells": (24, 24), "degree": 2},
    "burgers1d": {},
    "poisson2d-c": {},
    "poisson2d-c, longer": {"iterations": 60, "width": 20},
}


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


def run(case: str, changes: dict[str, Any]) -> dict[str, Any]:
    """The record of a run."""
    name = case.partition(",")[0]
    if name not in ("poisson", "reaction"):
        return catalog_task(name, "quick", changes).run(None, pc.Progress(), False).result
    x = np.random.default_rng(0).random((20_000, 2))
    known = pc.Reference(x, exact(torch.from_numpy(x)).numpy())
    keys = {"certify": False, "device": "cpu", **changes}
    problem = poisson() if name == "poisson" else reaction()
    return pc.solve(problem, keys, reference=known, accuracy=None, progress=pc.Progress()).result


def ended(result: dict[str, Any]) -> bool:
    """Whether training stopped by itself."""
    if "march" in result:
        return set(result["march"]["ended_by"]) <= {"tolerance", "training"}
    return result["stopped_by"] in ("tolerance", "stagnation")


def rows_of(case: str, keys: dict[str, Any], fair: bool, seeds: Sequence[int]) -> list[dict[str, Any]]:
    """Both P with all seeds."""
    if fair:
        first = run(case, {**keys, "iterations": 5, "tolerance": 0.1})["errors"]["discretisation"]
        keys = {**keys, "tolerance": first / PART}
    rows = []
    for seed in seeds:
        found = []
        for P in ({}, {"preconditioner": "schwarz"}):
            result = run(case, {**keys, **P, "seed": seed})
            errors, used = result["errors"], result["preconditioner"]
            if fair and LEAST_NODES * result["parameters"] > result["dofs"]:
                raise ValueError(f"{case}: {result['parameters']} weights on {result['dofs']} degrees of freedom")
            row = {"problem": case, "fair": fair, "dofs": result["dofs"], "weights": result["parameters"]}
            row |= {"preconditioner": used["name"], "parts": used.get("parts"), "seed": seed, "l2re": errors["l2re"]}
            row |= {"training": errors["training"], "discretisation": errors["discretisation"]}
            row |= {"iterations": result["iterations"], "stopped_by": result["stopped_by"], "ended": ended(result)}
            found.append(row)
            print(row, flush=True)
        found[1]["over_unpartitioned"] = round(found[1]["l2re"] / found[0]["l2re"], 4)
        rows += found
    return rows


def summary(rows: list[dict[str, Any]]) -> str:
    """A line of docs/clusters.md: mean errors of both P, ratios by seed, how far the seeds of the first P are apart."""
    own, shared = ([r for r in rows if (r["preconditioner"] == "schwarz") is parts] for parts in (False, True))
    u, v = (np.array([r["l2re"] for r in some]) for some in (own, shared))
    ratios = ", ".join(f"{r['over_unpartitioned']:.3f}" for r in shared)
    done = sum(r["ended"] for r in rows)
    counts = f"{rows[0]['dofs']} / {rows[0]['weights']}"
    means = f"{u.mean():.3e} ({own[0]['preconditioner']}) | {v.mean():.3e} | {v.mean() / u.mean():.3f}"
    return (
        f"| {rows[0]['problem']} | {counts} | {done} of {len(rows)} | {means} | {ratios} | {np.ptp(u) / u.mean():.1%} |"
    )


def main() -> None:
    """Run and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="CSV file to write")
    parser.add_argument("--fair", action="store_true", help="no others")
    parser.add_argument("--seeds", default="0,1,2")
    options = parser.parse_args()
    rows, lines = [], []
    seeds = [int(seed) for seed in options.seeds.split(",")]
    for cases, fair in ((FAIR, True), *(() if options.fair else ((SHORT, False),))):
        for case, keys in cases.items():
            some = rows_of(case, keys, fair, seeds)
            rows += some
            lines.append(summary(some))
            write_csv(options.out, rows)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
