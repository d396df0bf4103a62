"""Seconds per iteration of the `paper` presets that march: their first interval, with few and with more iterations.

    python benchmarks/paper_steps.py [--device cuda] [--few 2 --more 6] [--out steps.csv] [NAME ...]

The difference of two runs leaves out assembly, P and what else is done once per interval. On a machine that others use, too, take
more iterations, or the least of several runs.
"""

import argparse
import csv
import sys
import warnings

from pcpinn.catalog import CATALOG
from pcpinn.solve.method import METHODS

COLUMNS = ("problem", "device", "dofs", "steps", "solves", "iterations", "seconds_per_iteration")


def timed(entry, device, iterations):
    """The result of the first interval alone, trained for some iterations."""
    _, whole = entry.resolve("paper", {})
    window = whole.time.window
    parameters, settings = entry.resolve("paper", {"device": device, "start_iterations": 0, "split_errors": False})
    shorter = settings.updated({
        "steps": window,
        "iterations": iterations,
        "cold_iterations": iterations if whole.time.cold_iterations else 0,
    })  # fmt: skip
    problem = entry.problem(**parameters)
    domain = problem.domain
    length = (domain.end - domain.start) * window / whole.time.steps  # of steps as long as in the preset
    short = type(problem)(**{**vars(problem), "domain": domain.shape.over(domain.start, domain.start + length)})
    return METHODS.find("pcpinn").solver(short, shorter).result


def row(entry, device, few, more):
    """One line of the table."""
    first, second = (timed(entry, device, k) for k in (few, more))
    each = (second["time"]["train_s"] - first["time"]["train_s"]) / (more - few)
    steps = second["march"]["per_window"]
    P = second["preconditioner"]["solves"]
    return [entry.name, device, second["dofs"], steps, P, f"{few} to {more}", f"{each:.2e}"]


def main():
    """Print the table, row by row, and write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--few", type=int, default=2)
    parser.add_argument("--more", type=int, default=6)
    parser.add_argument("--out")
    given = parser.parse_args()
    marched = [e for e in CATALOG if "paper" in e.presets and e.resolve("paper", {})[1].marches]
    chosen = [CATALOG.find(name) for name in given.names] or marched
    warnings.simplefilter("ignore")
    rows = []
    for entry in chosen:
        rows.append(row(entry, given.device, given.few, given.more))
        print(*rows[-1], sep=",", flush=True)
    if given.out:
        with open(given.out, "w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])


if __name__ == "__main__":
    sys.exit(main())
