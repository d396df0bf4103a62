"""Fuzzers and kills for as long as one likes; calls add up in one folder.

python tests/campaign/run.py --minutes 30                    all fuzzers in turn, from the first seeds not tried yet
python tests/campaign/run.py --trials 20 --only folders      so many trials of one
python tests/campaign/run.py --only folders --seed 17        one trial again; its files stay in FOLDER/again
python tests/campaign/run.py --failed                        all trials again that failed when they were last tried
"""

import argparse
import csv
import shutil
import sys
import time
from pathlib import Path

import torch
from bases import preload
from fuzzers import data, folders, meshes, problem_files, resources, settings
from hard import problems
from kills import kills
from ledger import Ledger, show
from selftest import selftest

INPUTS, HARD = "mutated inputs", "wrong or hard problems"
FUZZERS = {f.__name__: f for f in (kills, folders, meshes, settings, data, problem_files, resources, problems)}
ALL = FUZZERS | {"selftest": selftest}
KINDS = dict.fromkeys(FUZZERS, INPUTS) | {"kills": "kills", "problems": HARD}
TURN = {  # trials in a row: some 70 turns reach the goals
    "kills": 5,
    "folders": 12,
    "meshes": 22,
    "settings": 16,
    "data": 15,
    "problem_files": 5,
    "resources": 2,
    "problems": 3,
}


def trial(name, seed, place, cache):
    """Row of one trial; its folder is left behind."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    what, outcome, wrong, *counts = ALL[name](seed, place, cache)
    failure = outcome.failure or wrong
    row = {"fuzzer": name, "seed": seed, "counts": counts[0] if counts else 1, "outcome": "failed" if failure else "ok"}
    row |= {"seconds": f"{outcome.seconds:.2f}", "megabytes": f"{outcome.megabytes:.0f}", "what": what}
    return row, failure


def again(folder):
    """Those that failed, once more: the fuzzers are the same, what they try may have been corrected."""
    ledger = Ledger(folder)
    for row in ledger.failures:
        _try(ledger, folder, row["fuzzer"], int(row["seed"]))
    return ledger


def _try(ledger, folder, name, seed):
    row, failure = trial(name, seed, folder / "trial", folder / "bases")
    ledger.add(**row)
    if failure:
        keep(folder, row, failure)


def campaign(folder, sizes, minutes):
    """Trials in turn until the time is over, or so many of each fuzzer as its size says."""
    ledger, end = Ledger(folder), time.monotonic() + 60 * minutes
    done = dict.fromkeys(sizes, 0)
    while any(done[name] < size for name, size in sizes.items()) and time.monotonic() < end:
        for name, size in sizes.items():
            for _ in range(TURN.get(name, 1)):
                if time.monotonic() >= end or done[name] >= size:
                    break
                _try(ledger, folder, name, ledger.next_seed(name))
                done[name] += 1
    return ledger


def keep(folder, row, failure):
    """The files of a failed trial, and how to try it again."""
    place = folder / "failures" / f"{row['fuzzer']}-{row['seed']}"
    shutil.rmtree(place, ignore_errors=True)
    place.parent.mkdir(exist_ok=True)
    shutil.copytree(folder / "trial", place, symlinks=True, ignore=_pipes)
    again = f"python tests/campaign/run.py --only {row['fuzzer']} --seed {row['seed']}"
    (place / "FAILURE.txt").write_text(f"{again}\n{row['what']}\n{failure}\n")
    print(f"FAILED {row['fuzzer']} {row['seed']}: {row['what']}\n    {failure.strip().splitlines()[-1]}", flush=True)


def _pipes(folder, names):
    return [
        n for n in names if not (Path(folder, n).is_symlink() or Path(folder, n).is_file() or Path(folder, n).is_dir())
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("build/campaign"))
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--trials", type=int, default=10**9, help="of each fuzzer")
    parser.add_argument("--sizes", help="folders=20,meshes=30: trials of some fuzzers")
    parser.add_argument("--only", action="append", choices=list(ALL))
    parser.add_argument("--seed", type=int)
    parser.add_argument("--failed", action="store_true", help="try again what failed")
    parser.add_argument("--totals", type=Path, help="also write the table to this file, as CSV")
    options = parser.parse_args()
    torch.set_num_threads(1)
    folder = options.folder.absolute()
    preload(folder / "bases")
    if options.seed is not None:
        row, failure = trial(options.only[0], options.seed, folder / "again", folder / "bases")
        print(row["what"], failure or "ok", sep="\n")
        return 1 if failure else 0
    sizes = dict.fromkeys(options.only or FUZZERS, options.trials)
    if options.sizes:
        sizes = {name: int(size) for name, size in (part.split("=") for part in options.sizes.split(","))}
    ledger = again(folder) if options.failed else campaign(folder, sizes, options.minutes)
    totals = ledger.totals(KINDS)
    show(totals)
    if options.totals:
        with options.totals.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(totals[0]))
            writer.writeheader()
            writer.writerows(totals)
    if ledger.failures:
        print(f"{len(ledger.failures)} failures; their files are in {folder / 'failures'}")
    return 1 if ledger.failures else 0


if __name__ == "__main__":
    sys.exit(main())
