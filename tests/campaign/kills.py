"""Runs that are killed at random moments, resumed, and compared with one that was left alone: bit for bit."""

import csv
import json
import random as rnd
from pathlib import Path

from bases import BASES, finished, left_alone
from forked import in_fork
from moments import Operations

from pcpinn.bench import BenchFolder, Request, make_plan, run_plan

ARRAYS = (
    "network.safetensors",
    "coefficients.safetensors",
    "posterior.safetensors",
    "mesh.safetensors",
    "data.safetensors",
)
OF_THE_PROCESS = {"time", "memory", "environment", "seconds", "setup_s"}
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
    """Up to six kills of one run; how many there were, and what its end differs in."""
    random = rnd.Random(seed)
    kind = random.choice((*BASES, "bench"))
    return (_bench if kind == "bench" else _run)(kind, random, folder, cache)


def _run(kind, random, folder, cache):
    base, whole = BASES[kind], finished(kind, cache)
    base.prepare(folder)
    moments, outcome = _killed(random, base.resume, folder, whole)
    what = f"{kind}, killed {', '.join(moments) or 'never'}"
    if outcome.failure:
        return what, outcome, "", len(moments)
    return what, outcome, difference(folder / "run", whole / "run"), len(moments)


def _killed(random, work, folder, whole):
    """Start, kill, start again; in the end let it finish. A run that is killed often lives shorter, and gets on all the same."""
    took = json.loads((whole / "took.json").read_text())
    kills, moments = random.choice((1, 2, 3, 4, 5, 6)), []
    part = min(1.0, 1.5 / kills)
    for _ in range(kills):
        limits = {"seconds": SECONDS, "memory": 8 << 30}
        if random.random() < 0.5:
            after = random.uniform(0.0, part * took["seconds"])
            limits["kill_after"], moment = after, f"after {after:.2f} s"
        else:
            operation = random.randint(1, max(1, round(part * took["operations"])))
            limits["prepare"], moment = Operations(operation).watch, f"at operation {operation}"
        outcome = in_fork(work, folder, **limits)
        if outcome.failure or outcome.code != -9:
            return moments, outcome
        moments.append(moment)
    return moments, in_fork(work, folder, seconds=SECONDS, memory=8 << 30)


def difference(run, whole):
    """What two finished runs differ in; empty if they are the same."""
    for name in ARRAYS:
        if (whole / name).exists() and (run / name).read_bytes() != (whole / name).read_bytes():
            return f"{name} differs"
    results = (json.loads((f / "result.json").read_text()) for f in (run, whole))
    different = _different(*results)
    if different:
        return f"result.json differs in {different}"
    if (whole / "history.csv").exists() and _history(run) != _history(whole):
        return "history.csv differs"
    left = [
        p.name
        for p in [*run.iterdir(), *run.parent.iterdir()]
        if p.name.startswith((".run.", ".network", ".checkpoint."))
    ]
    return f"left behind: {left}" if left else ""


def _different(a, b, at=""):
    """Where two records differ, apart from what belongs to the process; empty if nowhere."""
    if isinstance(a, dict) and isinstance(b, dict):
        keys = sorted((a.keys() | b.keys()) - OF_THE_PROCESS)
        return next(filter(None, (_different(a.get(k), b.get(k), f"{at}.{k}") for k in keys)), "")
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return next(
            filter(None, (_different(*pair, f"{at}[{k}]") for k, pair in enumerate(zip(a, b, strict=True)))), ""
        )
    return "" if a == b else f"{at}: {a!r:.100} and {b!r:.100}"


def _history(run):
    """Rows of the history, without what time it was."""
    with (run / "history.csv").open() as file:
        return [{k: v for k, v in row.items() if k != "seconds"} for row in csv.DictReader(file)]


def _bench(kind, random, folder, cache):
    plan = make_plan(Request(problems=("poisson1d",), presets=("quick",), trials=2, changes=tuple(_PLAN.items())))

    def work():
        _note(run_plan(BenchFolder(Path("bench")), plan, device="cpu"))

    whole = cache / "bench"
    if not (whole / "rows.json").exists():
        left_alone(work, whole)
    moments, outcome = _killed(random, work, folder, whole)
    what = f"bench, killed {', '.join(moments) or 'never'}"
    if outcome.failure:
        return what, outcome, "", len(moments)
    same = (folder / "rows.json").read_text() == (whole / "rows.json").read_text()
    return what, outcome, "" if same else "rows differ", len(moments)


def _note(rows):
    """What must not depend on how often the work was interrupted."""
    kept = {key: (row.status, row.l2re, row.l1re, row.mse, row.iterations) for key, row in rows.items()}
    Path("rows.json").write_text(json.dumps(kept, sort_keys=True))
