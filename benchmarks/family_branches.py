"""What a family learns in equal time by samples, by a span with Adam, and by a span with Gauss-Newton.

python benchmarks/family_branches.py [family[:way] ...]     appends rows to docs/benchmarks/family-branches.csv
"""

import csv
import sys
from datetime import date
from pathlib import Path

import torch

import pcpinn as pc
from pcpinn.catalog.find import find_family

OUT = Path(__file__).parents[1] / "docs" / "benchmarks" / "family-branches.csv"
SPAN = {"loss": "spanned", "accuracy": None}
TWO = {"network": "trunk-branch", "depth": 1, "features": "none", "initialisation": "spread", "branch_width": 128}
_CORNERS = ((0.0, 1.0), (1.0, 1.0))


def plate(x, y, k):
    """The plate of docs/examples/common.py: a heater at (x, y), conductivity k."""
    return pc.Problem(
        pc.Rectangle((0, 0), (1, 1)),
        flux=lambda p, u: k * u.grad,
        source=lambda p, u: -10 * torch.exp(-20 * ((p[0] - x) ** 2 + (p[1] - y) ** 2)),
        boundary={
            "left": pc.Dirichlet(0.0),
            "right": pc.Dirichlet(0.0),
            "bottom": pc.Robin(0.5, 0.0),
            "top": pc.Robin(2.0, 0.0),
        },
        name="plate",
    )


def cases():
    """Family -> mesh, seconds, and settings by name of the way."""
    cavity = {"size": 0.3, "degree": 4, "corners": _CORNERS, "corner_size": 0.02}
    heater = pc.Family(plate, x=pc.Range(0.2, 0.8), y=pc.Range(0.2, 0.8), k=pc.Range(0.5, 2.0))
    waves = SPAN | {"snapshots": 192, "modes": 48}
    states = SPAN | {"snapshots": 96, "modes": 48}
    return {
        "ns2d-c-lid": (find_family("ns2d-c-lid").family, cavity, 20.0, {
            "sampled": {"accuracy": None, "samples": 8, "sample": 3000, "width": 18, "iterations": 1000},
            "span, gauss-newton": SPAN | {"snapshots": 12, "samples": 4, "iterations": 60},
        }),
        "plate": (heater, {"cells": (8, 8), "degree": 3}, 40.0, {
            "sampled": {"accuracy": 1e-2, "width": 20, "depth": 3, "samples": 32},
            "span, gauss-newton": {"accuracy": 1e-2},
        }),
        "diffusion-16": (find_family("diffusion-16").family, {"cells": (10, 10), "degree": 2}, 60.0, {
            "span, adam": waves | TWO | {"width": 120, "branch_depth": 2, "optimiser": "adam", "learning_rate": 2e-3,
                                         "samples": 48, "iterations": 10**6},
            "span, gauss-newton": waves | TWO | {"width": 120, "branch_depth": 1, "samples": 96, "iterations": 10**6},
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
