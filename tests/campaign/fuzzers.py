"""Trials with damaged, odd or hostile input. A fuzzer takes a seed and an empty folder, and says what went wrong."""

import io
import random as rnd
import shutil
import string
import tokenize
from functools import cache
from pathlib import Path

import h5py  # noqa: F401  # before the forks, so that none has to import it
import numpy as np
import torch
from bases import BASES, finished, mesh_files, table
from damage import ODD_NUMBERS, ODD_VALUES, damage, damage_bytes
from forked import in_fork

import pcpinn as pc
from pcpinn.cli import main
from pcpinn.invert.observations import read_observations
from pcpinn.mesh.read import read_mesh
from pcpinn.solve.method import METHODS
from pcpinn.solve.settings import resolve

ALLOWED = (pc.PcpinnError,)
ENDS = {"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)}
BIG = (10**5, 10**6, 10**8, 10**11, 2**62, 1e300)


def folders(seed, folder, cache):
    """A file of a run folder is damaged, then the run is loaded, resumed, exported, drawn or evaluated."""
    random = rnd.Random(seed)
    name = random.choice(list(BASES))
    shutil.copytree(finished(name, cache), folder, dirs_exist_ok=True)
    run = folder / "run"
    action = random.choice(("load", "load", "resume", "resume", "export", "evaluate", "report"))
    if action == "resume" and random.random() < 0.5:  # as if it had been killed at its end
        (run / "result.json").unlink()
    path = random.choice(sorted(p for p in run.iterdir() if p.suffix in (".json", ".safetensors", ".csv")))
    what = damage(random, path, folder / "executed")

    def work():
        if action == "load":
            found = pc.load(run)
            found(np.full((3, 2 if name == "march" else 1), 0.5), *([[0.1]] if name == "family" else []))
        elif action == "resume":
            main(["resume", "run", "--problem", "own.py", "--set", "iterations=13"])
        elif action == "export":
            main(["export", "run", "--to", "npz"])
        elif action == "evaluate":
            Path("points.csv").write_text("0.5,0.5\n" if name == "march" else "0.5\n")
            main(["evaluate", "run", "--points", "points.csv"])
        else:
            main(["report", "run"])

    outcome = in_fork(work, folder, ALLOWED)
    if (folder / "executed").exists():
        return f"{name}/{path.name}, {what}, {action}", outcome, "executed a pickle"
    return f"{name}/{path.name}, {what}, {action}", outcome, ""


def meshes(seed, folder, cache):
    """A mesh file is damaged and read."""
    random = rnd.Random(seed)
    source = random.choice(mesh_files(cache / "meshes"))
    for part in source.parent.glob(source.stem + ".*"):
        shutil.copy(part, folder)
    path = folder / source.name
    what = damage(
        random, path if random.random() < 0.9 else random.choice(sorted(folder.iterdir())), folder / "executed"
    )
    outcome = in_fork(lambda: read_mesh(path), folder, ALLOWED)
    return f"{source.name}, {what}", outcome, "executed a pickle" if (folder / "executed").exists() else ""


def settings(seed, folder, bases):
    """Settings of any name and value, for a steady problem or a march; what is accepted is run, for two seconds at most."""
    random = rnd.Random(seed)
    over_time = random.random() < 0.3
    keys = _keys(over_time)
    chosen = {random.choice(keys): _value(random) for _ in range(random.choice((1, 1, 2, 3)))}
    if random.random() < 0.05:
        chosen["".join(random.choices(string.printable, k=8))] = _value(random)
    usual = {"cells": (6,), "degree": 2, "width": 5, "depth": 1, "feature_count": 2, "iterations": 4, "device": "cpu"}
    usual |= {"time_limit": 2.0, **({"steps": 3} if over_time else {})}
    problem = _heat() if over_time else _line()

    def work():
        pc.solve(problem, {**usual, **chosen}, out="run")

    return repr(chosen)[:200], in_fork(_quietly(work), folder, ALLOWED), ""


@cache
def _keys(over_time):
    """Slots, and the settings of what is usually in them."""
    usual = resolve(METHODS.find("pcpinn"), over_time, {}).to_dict()
    return sorted({key for recipe in usual.values() if isinstance(recipe, dict) for key in recipe} | set(usual))


def _value(random):
    words = (
        "auto",
        "ilu",
        "lu",
        "adam",
        "gauss-newton",
        "march",
        "slabs",
        "none",
        "mlp",
        "float32",
        "sin",
        "true",
        "1,2",
        "8",
    )
    kind = random.random()
    if kind < 0.45:
        return random.choice(ODD_VALUES)
    if kind < 0.7:
        return random.choice(words)
    if kind < 0.85:
        return random.choice((1, 2, 3, 5, 0.1, 1e-3, 10.0))
    return (random.choice(ODD_NUMBERS),) * random.choice((1, 2, 3))


def resources(seed, folder, cache):
    """One size is set beyond all measure: refused, or done within the limits."""
    random = rnd.Random(seed)
    over_time = random.random() < 0.5
    sizes = ["width", "depth", "feature_count", "cells", "degree", "quadrature", "iterations", "refinement"]
    key = random.choice(sizes + (["steps", "order"] if over_time else []))
    value = random.choice(BIG) * random.choice((1, 2, 3))
    chosen = {key: (int(value),) if key == "cells" else value, "time_limit": 3.0, "device": "cpu"}
    if over_time:
        chosen |= {"time": random.choice(("march", "slabs", "simplex"))}
    problem = _heat() if over_time else _line()
    return repr(chosen), in_fork(_quietly(lambda: pc.solve(problem, chosen, out="run")), folder, ALLOWED), ""


def data(seed, folder, cache):
    """A table of data is damaged, or has other numbers; it is read, and now and then used."""
    random = rnd.Random(seed)
    path = folder / "data.csv"
    path.write_text(table())
    if random.random() < 0.4:
        rows = [line.split(",") for line in path.read_text().splitlines()]
        for _ in range(random.choice((1, 2, 10))):
            row = random.choice(rows)
            row[random.randrange(len(row))] = str(
                random.choice((*ODD_VALUES, "1,5", "0x10", "1e-9", "x", "u", "noise"))
            )
        path.write_text("\n".join(",".join(row) for row in rows))
        what = "cells"
    else:
        what = damage_bytes(random, path)
    use = random.random() < 0.15
    BASES["infer"].prepare(folder) if use else None
    if use:  # prepare has written the table anew
        what = damage_bytes(random, path)

    def work():
        if use:
            BASES["infer"].begin()
        else:
            read_observations(path, _line(), False)

    return f"{what}, {'used' if use else 'read'}", in_fork(_quietly(work), folder, ALLOWED), ""


def problem_files(seed, folder, cache):
    """Numbers, names and arguments of a problem file are changed; the file is solved."""
    random = rnd.Random(seed)
    name = random.choice(list(BASES))
    base = BASES[name]
    base.prepare(folder)
    tokens = list(tokenize.generate_tokens(io.StringIO(base.text).readline))
    places = [
        i for i, t in enumerate(tokens) if t.type in (tokenize.NUMBER, tokenize.STRING, tokenize.NAME, tokenize.OP)
    ]
    places = [i for i in places if tokens[i].start[0] > 2]  # not the imports
    text, lines = base.text, base.text.splitlines(keepends=True)
    offsets = np.cumsum([0, *(len(line) for line in lines)])
    for i in sorted(random.sample(places, random.choice((1, 1, 2))), reverse=True):
        token = tokens[i]
        a, b = (offsets[row - 1] + column for row, column in (token.start, token.end))
        text = text[:a] + _other(random, token) + text[b:]
    text = text.replace("settings = {", 'settings = {"time_limit": 4.0, ', 1)
    (folder / "own.py").write_text(text)
    outcome = in_fork(base.begin, folder, ALLOWED)
    return f"{name}: {_difference(base.text, text)}", outcome, ""


def _other(random, token):
    if token.type == tokenize.NUMBER:
        return random.choice(
            ("0", "-1", "1e160", "1e-300", "float('nan')", "'a'", "None", "2", "1j", "3.7", "torch.ones(2)")
        )
    if token.type == tokenize.STRING:
        return random.choice(('"nowhere"', "''", "3", "None", '"right"', '"initial"', '"width"'))
    if token.type == tokenize.OP:
        return random.choice(("", token.string, ",", "-"))
    return random.choice(("x", "u", "pc", "None", "torch", "u.grad", "x[5]", "missing"))


def _difference(before, after):
    pairs = zip(before.splitlines(), after.splitlines(), strict=False)
    return "; ".join(b.strip() for a, b in pairs if a != b and "time_limit" not in b)[:150]


def _line():
    return pc.Problem(pc.Interval(0, 1), flux=lambda x, u: u.grad, source=lambda x, u: -1.0, boundary=ENDS)


def _heat():
    return pc.Problem(
        pc.Interval(0, 1).over(0, 1),
        density=lambda x, u: u.value,
        flux=lambda x, u: u.grad,
        boundary={**ENDS, "initial": pc.Initial(lambda x: torch.sin(torch.pi * x[0]))},
    )


def _quietly(work):
    def quiet():
        import warnings

        warnings.simplefilter("ignore")
        work()

    return quiet
