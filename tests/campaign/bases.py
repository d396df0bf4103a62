"""What campaigns start from: small problem files of every kind, the commands that run them, and their finished folders."""

import contextlib
import importlib
import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import meshio
import numpy as np
from forked import in_fork
from moments import Operations

from pcpinn.cli import main

SIDES = 'boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)}'
HEAD = "import torch\nimport pcpinn as pc\n"
SMALL = (
    '"cells": (8,), "degree": 2, "width": 6, "depth": 1, "feature_count": 2, "device": "cpu", "checkpoint_every": 0.0'
)

SOLVE = f"""{HEAD}
problem = pc.Problem(pc.Interval(0, 1), flux=lambda x, u: u.grad, source=lambda x, u: -1.0 - x[0], {SIDES})
settings = {{{SMALL}, "iterations": 12}}
"""
NEWTON = f"""{HEAD}
problem = pc.Problem(
    pc.Interval(0, 1), flux=lambda x, u: (1 + u.value**2) * u.grad, source=lambda x, u: u.value**3 - 3.0, {SIDES}
)
settings = {{{SMALL}, "iterations": 12}}
"""
MARCH = f"""{HEAD}
problem = pc.Problem(
    pc.Interval(0, 1).over(0, 1), density=lambda x, u: u.value, flux=lambda x, u: u.grad,
    boundary={{"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0), "initial": pc.Initial(lambda x: x[0] * (1 - x[0]))}},
)
settings = {{{SMALL}, "time": "march", "steps": 5, "iterations": 4}}
"""
INFER = f"""{HEAD}
import numpy as np
def problem(a):
    return pc.Problem(pc.Interval(0, 1), flux=lambda x, u: a(x) * u.grad, source=lambda x, u: -1.0, {SIDES})
unknowns = {{"a": pc.Coefficient(initial=1.5, low=0.1, width=6, depth=1)}}
settings = {{{SMALL}, "iterations": 9, "warmup": 3}}
"""
FAMILY = f"""{HEAD}
def make(a):
    return pc.Problem(pc.Interval(0, 1), flux=lambda x, u: torch.exp(a * x[0]) * u.grad, source=lambda x, u: -1.0, {SIDES})
family = pc.Family(make, a=pc.Range(-1, 1))
settings = {{{SMALL}, "samples": 8, "validation": 4, "iterations": 6}}
"""


@dataclass(frozen=True)
class Base:
    """One kind of run: its problem file, and the words of the command that begins it."""

    name: str
    text: str
    command: tuple[str, ...] = ("solve", "own.py", "--preset", "default", "--out", "run")

    def prepare(self, folder):
        """The files that the command needs."""
        Path(folder, "own.py").write_text(self.text)
        if "--data" in self.command:
            Path(folder, "data.csv").write_text(table())

    def begin(self):
        """In the folder at hand."""
        main(list(self.command))

    def resume(self):
        """Go on with what has begun; begin again where nothing has."""
        main(["resume", "run", "--problem", "own.py"]) if Path("run").exists() else self.begin()


_INFER = ("infer", "own.py", "--data", "data.csv", "--preset", "default", "--out", "run")
BASES = {
    b.name: b
    for b in (
        Base("solve", SOLVE),
        Base("newton", NEWTON),
        Base("march", MARCH),
        Base("infer", INFER, _INFER),
        Base("family", FAMILY, ("solve", "own.py", "--accuracy", "0.3", "--out", "run")),
    )
}


def table():
    """Twenty values of x (1 - x) / 4, the solution for a = 2, with noise."""
    x = np.linspace(0.05, 0.95, 20)
    u = x * (1 - x) / 4 + 1e-3 * np.random.default_rng(0).normal(size=20)
    return "x,u,noise\n" + "".join(f"{a:.6f},{b:.6f},0.001\n" for a, b in zip(x, u, strict=True))


def finished(name, cache):
    """The folder of a finished run, made once: own.py, run/ and perhaps data.csv in it."""
    folder = cache / name
    if not (folder / "run" / "result.json").exists():
        left_alone(BASES[name].begin, folder, BASES[name].prepare)
    return folder


def left_alone(work, folder, prepare=lambda folder: None):
    """Do some work in a fork that nobody kills, and note in FOLDER/took.json what it took: seconds and operations on files.

    What it has to import is imported here for all forks to come, nine tenths of the time of a small run; then it is done again.
    """
    modules = _noted(work, folder, prepare)["modules"]
    _import(modules)
    took = _noted(work, folder, prepare) | {"modules": modules}
    (folder / "took.json").write_text(json.dumps(took))


def _noted(work, folder, prepare):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    prepare(folder)
    operations, before, note = Operations(), set(sys.modules), folder / "took.json"

    def noted():
        operations.watch()
        try:
            work()
        finally:
            new = [m for m in sys.modules if m not in before]
            note.write_text(json.dumps({"operations": operations.count, "modules": new}))

    outcome = in_fork(noted, folder, seconds=120.0)
    if outcome.failure:
        raise RuntimeError(f"{folder.name} does not run: {outcome.failure}")
    return json.loads(note.read_text()) | {"seconds": outcome.seconds}


def preload(cache):
    """Import what the runs that are there had to import."""
    for note in sorted(cache.glob("*/took.json")):
        _import(json.loads(note.read_text())["modules"])


def _import(modules):
    for module in modules:
        with contextlib.suppress(ImportError):  # some are there in name alone
            importlib.import_module(module)


def mesh_files(folder):
    """A square in the formats that are read."""
    if not folder.exists():
        folder.mkdir(parents=True)
        x, y = (a.ravel() for a in np.meshgrid(np.linspace(0, 1, 4), np.linspace(0, 1, 4)))
        corner = np.array([4 * j + i for j in range(3) for i in range(3)])
        cells = np.vstack([np.c_[corner, corner + 1, corner + 5], np.c_[corner, corner + 5, corner + 4]])
        lines = np.array([[i, i + 1] for i in range(3)])
        points = np.c_[x, y, 0 * x]
        mesh = meshio.Mesh(
            points,
            [("triangle", cells), ("line", lines)],
            cell_data={
                "gmsh:physical": [np.ones(18, int), np.full(3, 2)],
                "gmsh:geometrical": [np.ones(18, int), np.ones(3, int)],
            },
            field_data={"inside": np.array([1, 2]), "floor": np.array([2, 1])},
        )
        mesh.write(folder / "ascii.msh", file_format="gmsh22", binary=False)
        mesh.write(folder / "binary.msh", file_format="gmsh22", binary=True)
        plain = meshio.Mesh(points, [("triangle", cells)])
        plain.write(folder / "square.vtu")
        plain.write(folder / "square.xdmf")
    return [p for p in sorted(folder.iterdir()) if p.suffix in (".msh", ".vtu", ".xdmf")]
