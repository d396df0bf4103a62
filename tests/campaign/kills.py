"""Runs that are killed at random moments, resumed, and compared with one that was left alone: bit for bit."""

import json
import random as rnd
import shutil
from pathlib import Path

from bases import BASES, finished
from forked import in_fork

from pcpinn.bench import BenchFolder, Request, make_plan, run_plan

ARRAYS = (
    "network.safetensors",
    "coefficients.safetensors",
    "posterior.safetensors",
    "mesh.safetensors",
    "data.safetensors",
)
OF_THE_PROCESS = {"time", "memory", "preconditioner", "seconds", "environment", "family"}
SECONDS = 120.0
_PLAN = {
    "cells": "6",
    "degree": "2",
    "width": "4",
    "depth": "1",
    "feature_count": "1",
    "iterations": "3",
    "certify": "false",
}


def kills(seed, folder, cache):
    """Up to three kills of one run; how many there were, and what its end differs in."""
    random = rnd.Random(seed)
    kind = random.choice((*BASES, "bench"))
    return (_bench if kind == "bench" else _run)(kind, random, folder, cache)


def _run(kind, random, folder, cache):
    base, whole = BASES[kind], finished(kind, cache, in_fork)
    base.prepare(folder)
    count, outcome = _killed(random, base.resume, folder, float((cache / f"{kind}.seconds").read_text()))
    if outcome.failure:
        return f"{kind}, {count} kills", outcome, "", count
    return f"{kind}, {count} kills", outcome, difference(folder / "run", whole / "run"), count


def _killed(random, work, folder, usual):
    """Start, kill, start again; in the end let it finish."""
    count = 0
    for _ in range(random.choice((1, 2, 3))):
        outcome = in_fork(work, folder, seconds=SECONDS, kill_after=random.uniform(0.0, usual), memory=8 << 30)
        if outcome.failure or outcome.code != -9:
            break
        count += 1
    if not outcome.failure and outcome.code == -9:
        outcome = in_fork(work, folder, seconds=SECONDS, memory=8 << 30)
    return count, outcome


def difference(run, whole):
    """What two finished runs differ in; empty if they are the same."""
    for name in ARRAYS:
        if (whole / name).exists() and (run / name).read_bytes() != (whole / name).read_bytes():
            return f"{name} differs"
    a, b = (json.loads((f / "result.json").read_text()) for f in (run, whole))
    for key in sorted((a.keys() | b.keys()) - OF_THE_PROCESS):
        if a.get(key) != b.get(key):
            return f"result.json differs in {key}: {str(a.get(key))[:100]} and {str(b.get(key))[:100]}"
    left = [
        p.name
        for p in [*run.iterdir(), *run.parent.iterdir()]
        if p.name.startswith((".run.", ".network", ".checkpoint."))
    ]
    return f"left behind: {left}" if left else ""


def _bench(kind, random, folder, cache):
    plan = make_plan(Request(problems=("poisson1d",), presets=("quick",), trials=2, changes=tuple(_PLAN.items())))

    def work():
        run_plan(BenchFolder(folder / "bench"), plan, device="cpu")

    whole = cache / "bench"
    if not (whole / "rows.json").exists():
        shutil.rmtree(whole, ignore_errors=True)
        whole.mkdir(parents=True)
        outcome = in_fork(
            lambda: _note(run_plan(BenchFolder(whole / "bench"), plan, device="cpu"), whole), whole, seconds=SECONDS
        )
        (whole / "seconds").write_text(str(outcome.seconds))
    count, outcome = _killed(random, work, folder, float((whole / "seconds").read_text()))
    if outcome.failure:
        return f"bench, {count} kills", outcome, "", count
    last = in_fork(
        lambda: _note(run_plan(BenchFolder(folder / "bench"), plan, device="cpu"), folder), folder, seconds=SECONDS
    )
    same = (folder / "rows.json").read_text() == (whole / "rows.json").read_text() if not last.failure else False
    return f"bench, {count} kills", last, "" if same else "rows differ", count


def _note(rows, folder):
    """What must not depend on how often the work was interrupted."""
    kept = {key: (row.status, row.l2re, row.l1re, row.mse, row.iterations) for key, row in rows.items()}
    Path(folder, "rows.json").write_text(json.dumps(kept, sort_keys=True))
