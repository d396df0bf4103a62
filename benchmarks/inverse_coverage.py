"""How often the truth lies within one and two standard deviations of what an inference finds: one row per set of noise.

python benchmarks/inverse_coverage.py --out inverse-coverage.csv [--seeds 40] [--minutes 10]

-u'' = f on (0, 1), u = 0 at both ends, 60 values of u with noise; f is unknown, and the first guess of it is zero. Four kinds of
truth. Rows that the file has already are kept; what is missing is added, and the table of all is printed.
"""

import argparse
import csv
import time
import warnings
from pathlib import Path

import numpy as np

import pcpinn as pc

NOISE = 0.02  # of the largest value of u; of that of the bump where f is near zero
TRUTHS = {
    "smooth": lambda x: 1 + 0.5 * np.sin(2 * np.pi * x),
    "bump": lambda x: 0.8 * np.exp(-(((x - 0.35) / 0.12) ** 2)),
    "jump": lambda x: np.where(x > 0.45, 1.0, 0.0),
    "near zero": lambda x: 0.01 * np.sin(3 * x),
}
SMALL = {"cells": (20,), "degree": 2, "width": 12, "depth": 1, "feature_count": 3, "iterations": 75, "device": "cpu"}
FIELDS = ("truth", "seed", "error", "std", "one", "two", "noise_raised", "converged", "seconds")


def problem(f):
    """-u'' = f."""
    ends = {"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)}
    return pc.Problem(pc.Interval(0, 1), flux=lambda x, u: u.grad, source=lambda x, u: -f(x), boundary=ends)


def solution_of(truth, points):
    """u at points, by two sums over a fine grid."""
    grid = np.linspace(0, 1, 20_001)
    middle = (grid[1:] + grid[:-1]) / 2
    slope = np.r_[0, np.cumsum(truth(middle)) * grid[1]]  # -u' + u'(0)
    fall = np.r_[0, np.cumsum((slope[1:] + slope[:-1]) / 2) * grid[1]]
    return np.interp(points, grid, grid * fall[-1] - fall)


def data_of(kind, seed):
    """Noisy values of one kind of truth."""
    x = np.linspace(0.01, 0.99, 60)
    u = solution_of(TRUTHS[kind], x)
    noise = NOISE * np.abs(solution_of(TRUTHS["bump"], x) if kind == "near zero" else u).max()
    return pc.Observations(x[:, None], u + noise * np.random.default_rng(seed).normal(size=60), noise)


def measure(kind, seed):
    """One row."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pc.PcpinnWarning)
        found = pc.infer(problem, data_of(kind, seed), {"f": pc.Coefficient(initial=0.0, width=12, depth=1)}, **SMALL)
    x = np.linspace(0, 1, 101)[:, None]
    error, std = found.coefficient("f")(x) - TRUTHS[kind](x[:, 0]), found.std("f", x)
    facts = found.result["inverse"]
    numbers = [
        np.sqrt(np.mean(error**2)),
        np.sqrt(np.mean(std**2)),
        *(np.mean(np.abs(error) < k * std) for k in (1, 2)),
    ]
    raised = facts["noise_raised"] or 1.0
    rest = (f"{raised:.3g}", facts["converged"], f"{time.perf_counter() - start:.1f}")
    return dict(zip(FIELDS, (kind, seed, *(f"{n:.4g}" for n in numbers), *rest), strict=True))


def table(rows):
    """Means by kind of truth, and of all."""
    print("truth       runs  error     expected  one sd  two sd  raised  converged")
    for kind in (*TRUTHS, "all"):
        own = [r for r in rows if kind in (r["truth"], "all")]
        if own:
            error, std = (np.sqrt(np.mean([float(r[k]) ** 2 for r in own])) for k in ("error", "std"))
            one, two = (100 * np.mean([float(r[k]) for r in own]) for k in ("one", "two"))
            raised = sum(float(r["noise_raised"]) > 1 for r in own)
            arrived = sum(str(r["converged"]) == "True" for r in own)
            print(
                f"{kind:10s} {len(own):5d}  {error:.2e}  {std:.2e}  {one:4.0f} %  {two:4.0f} %  {raised:6d}  {arrived:9d}"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("inverse-coverage.csv"))
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--minutes", type=float, default=60.0)
    options = parser.parse_args()
    rows = list(csv.DictReader(options.out.open())) if options.out.exists() else []
    done, end = {(r["truth"], int(r["seed"])) for r in rows}, time.monotonic() + 60 * options.minutes
    for seed in range(options.seeds):
        for kind in TRUTHS:
            if (kind, seed) not in done and time.monotonic() < end:
                rows.append(measure(kind, seed))
                with options.out.open("a", newline="") as file:
                    writer = csv.DictWriter(file, FIELDS)
                    if file.tell() == 0:
                        writer.writeheader()
                    writer.writerow(rows[-1])
    table(rows)


if __name__ == "__main__":
    main()
