"""What a family learns in equal time by samples, and by a span with a branch: by Adam, by Gauss-Newton, or one that solves.

python benchmarks/family_branches.py [family[:way] ...]     appends rows to docs/benchmarks/family-branches.csv
"""

import csv
import sys
from datetime import date
from pathlib import Path

import torch

import pcpinn as pc
from pcpinn.catalog.find import find_family

DOCS = Path(__file__).parents[1] / "docs"
sys.path.insert(0, str(DOCS / "examples"))
from common import family as plates  # noqa: E402

OUT = DOCS / "benchmarks" / "family-branches.csv"
SPAN = {"loss": "spanned", "accuracy": None}
TWO = {"network": "trunk-branch", "depth": 1, "features": "none", "initialisation": "spread", "branch_width": 128}
_CORNERS = ((0.0, 1.0), (1.0, 1.0))


def cases():
    """Family -> mesh, seconds, and settings by name of the way."""
    cavity = {"size": 0.3, "degree": 4, "corners": _CORNERS, "corner_size": 0.02}
    waves = SPAN | {"snapshots": 192, "modes": 48}
    media = SPAN | {"snapshots": 512, "modes": 96}
    states = SPAN | {"snapshots": 96, "modes": 48}
    return {
        "ns2d-c-lid": (find_family("ns2d-c-lid").family, cavity, 20.0, {
            "sampled": {"accuracy": None, "samples": 8, "sample": 3000, "width": 18, "iterations": 1000},
            "span, gauss-newton": SPAN | {"snapshots": 12, "samples": 4, "iterations": 60},
        }),
        "plate": (plates, {"cells": (8, 8), "degree": 3}, 40.0, {
            "sampled": {"accuracy": 1e-2, "width": 20, "depth": 3, "samples": 32},
            "span, gauss-newton": {"accuracy": 1e-2},
        }),
        "diffusion-16": (find_family("diffusion-16").family, {"cells": (10, 10), "degree": 2}, 60.0, {
            "span, adam": waves | TWO | {"width": 120, "branch_depth": 2, "optimiser": "adam", "learning_rate": 2e-3,
                                         "samples": 48, "iterations": 10**6},
            "span, gauss-newton": waves | TWO | {"width": 120, "branch_depth": 1, "samples": 96, "iterations": 10**6},
            "span, solved": waves | {"modes": 64, "samples": 64, "batch": 48, "iterations": 10**6},
        }),
        "darcy": (find_family("darcy").family, {"cells": (20, 20), "degree": 1}, 240.0, {
            "span, adam": media | TWO | {"width": 147, "branch_depth": 2, "optimiser": "adam", "learning_rate": 2e-3,
                                         "samples": 64, "iterations": 10**6},
            "span, solved": media | {"samples": 64, "batch": 48, "iterations": 10**6},
        }),
        "allen-cahn-step": (find_family("allen-cahn-step").family, {"cells": (14, 14), "degree": 2}, 60.0, {
            "span, adam": states | TWO | {"width": 120, "branch_depth": 1, "optimiser": "adam", "learning_rate": 2e-3,
                                          "samples": 32, "iterations": 10**6},
            "span, gauss-newton": states | TWO | {"width": 120, "branch_depth": 1, "samples": 32, "iterations": 10**6},
        }),
    }  # fmt: skip


def main(names):
    """All ways of some families, or of all."""
    known = cases()
    new = not OUT.exists()
    with OUT.open("a", newline="") as file:
        rows = csv.writer(file)
        if new:
            rows.writerow(["family", "way", "time_limit", "setup_s", "train_s", "total_s", "iterations", "dofs", "weights",
                           "mean", "p95", "worst", "training_mean", "discretisation_mean", "device", "date"])  # fmt: skip
        for wanted in names or known:
            name, _, only = wanted.partition(":")
            family, mesh, seconds, ways = known[name]
            for way, choices in ((w, c) for w, c in ways.items() if only in w):
                result = pc.solve(family, device="cpu", time_limit=seconds, **mesh, **choices).result
                found, took = result["family"]["errors"], result["time"]
                total = (f"{found['total'][k]:.3g}" for k in ("mean", "p95", "worst"))
                parts = (f"{found[k]['mean']:.3g}" for k in ("training", "discretisation"))
                rows.writerow([name, way, seconds, *(f"{took[k]:.1f}" for k in ("setup_s", "train_s", "total_s")),
                               result["iterations"], result["dofs"], result["parameters"], *total, *parts, "cpu",
                               date.today()])  # fmt: skip
                file.flush()
                print(name, way, found["total"], took)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(sys.argv[1:])
