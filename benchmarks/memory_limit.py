"""Marches with and without a limit of memory: the same answer, the memory and the time that each took; on a CPU.

    python benchmarks/memory_limit.py --out docs/benchmarks/memory_limit.csv

Small versions of the default presets whose tables are the largest. Each run is a process of its own; memory is the most that
it held, program and libraries included; seconds are of one core. The last layer of the first two is solved for by normal
equations, as that of the large presets is: here by lowering the number of features from which on they are used.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

CASES: dict[str, dict[str, Any]] = {
    "burgers2d-c": {"cells": (24, 24), "steps": 2, "feature_count": 30, "solves": "factors", "memory": 0.9},
    "gs": {"cells": (24, 24), "steps": 2, "halvings": 0, "feature_count": 60, "solves": "factors", "memory": 0.95},
    "wave2d-cg": {"cells": (11, 11), "steps": 4, "width": 768, "solves": "dense", "memory": 0.7},
}
UNTIL = {"burgers2d-c": 0.04, "gs": 6.0, "wave2d-cg": 0.4}  # as much of the time as there are steps for
NORMAL = ("burgers2d-c", "gs")


def one(name: str, limited: bool) -> dict[str, Any]:
    """Run a case in this process: values at points of its reference, seconds, GiB."""
    from pcpinn.catalog import CATALOG
    from pcpinn.environment import peak_memory, reset_peak_memory
    from pcpinn.solve.build import make_device
    from pcpinn.solve.march import room
    from pcpinn.solve.march.march import march
    from pcpinn.train import heads

    if name in NORMAL:
        heads.LARGE = room.LARGE = 0
    changes = {**CASES[name], "device": "cpu", "split_errors": False}
    memory = changes.pop("memory")
    entry = CATALOG.find(name)
    parameters, settings = entry.resolve("quick", changes | ({"memory": memory} if limited else {}))
    problem = entry.make(**parameters)
    problem = replace(problem, domain=problem.domain.shape.over(0.0, UNTIL[name]))
    device = make_device("cpu")
    before = peak_memory(device)["host_gib"] or 0.0
    reset_peak_memory()
    started = time.process_time()
    solution = march(problem, settings)
    seconds = time.process_time() - started
    held = peak_memory(device)["host_gib"] or 0.0
    return {
        "seconds": seconds,
        "gib": held,
        "before": before,
        "P": solution.result["preconditioner"]["solves"],
        "values": solution(_points(entry.reference(**parameters).points, UNTIL[name])).tolist(),
    }


def _points(points: np.ndarray, until: float) -> np.ndarray:
    """Places of a reference, each at two times of the march: the times of the reference may all be later."""
    places = np.unique(points[:, :-1], axis=0)[::7]
    return np.vstack([np.column_stack([places, np.full(len(places), t)]) for t in (until / 2, until)])


def main() -> None:
    """All cases, each with and without its limit."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--case")
    asked.add_argument("--limited", action="store_true")
    asked.add_argument("--only")
    asked.add_argument("--out", type=Path)
    given = asked.parse_args()
    if given.case:
        print(json.dumps(one(given.case, given.limited)))
        return
    table = []
    for name in [given.only] if given.only else CASES:
        found = []
        for limited in (False, True):
            words = [sys.executable, __file__, "--case", name] + ["--limited"] * limited
            answer = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
            found.append(json.loads(answer.splitlines()[-1]))
        free, limited_one = found
        u, v = (np.asarray(f["values"]) for f in found)
        table.append(
            {
                "problem": name,
                "memory": CASES[name]["memory"],
                "program_gib": round(free["before"], 3),
                "free_gib": round(free["gib"], 3),
                "limited_gib": round(limited_one["gib"], 3),
                "free_s": round(free["seconds"], 1),
                "limited_s": round(limited_one["seconds"], 1),
                "difference": f"{np.linalg.norm(u - v) / np.linalg.norm(u):.1e}",
                "free_P": free["P"],
                "limited_P": limited_one["P"],
            }
        )
        print(table[-1], flush=True)
    if given.out is not None:
        from common import write_csv  # not before: what it imports would count in the memory of `one`

        write_csv(given.out, table)


if __name__ == "__main__":
    main()
