"""Every item of the paper, carried out in a tiny size: the path is the real one, the numbers mean nothing."""

import csv
import json

import pytest
from typed import run

from pcpinn.reproduce import ITEMS, Choice, Runs
from pcpinn.reproduce.compare import BETTER, DIFFERS, MATCH, UNTOLD

SMALL = ("width=4", "depth=1", "features=none", "iterations=3", "precision=float64")
FLAT = (*SMALL, "size=0.3", "degree=1", "certify=false")
SQUARE = (*SMALL, "cells=6,6", "degree=1", "certify=false")
WAVE = (*SMALL, "cells=4", "steps=4", "certify=false")
STATED = ("definition-3.1", "theorem-3.3", *(f"assumption-a.{n}" for n in (1, 2, 3, 5)), "remark-a.4", "remark-a.6",
          "proposition-a.7", "theorem-a.8", "theorem-a.9", "theorem-a.10", "lemma-a.11", "lemma-b.1")  # fmt: skip
NOTHING_TO_RUN = ("table-1", *(f"algorithm-{n}" for n in range(1, 5)), *STATED)
ERROR_CONTROL = ((), ("mesh_size=0.2", "iterations=5", "width=4", "drop_tolerances=1e-2"))
KERNEL = ((), ("width=4", "depth=1", "iterations=3", "moments=2"))
POINTS = ("collocation=20", "boundary_points=8")

# options of each, then changes; what is not named has neither
TINY = {
    "table-2": (("--problems", "poisson2d-c", "--methods", "pcpinn"), FLAT),
    "table-3": (("--problems", "poisson2d-c"), FLAT),
    "table-4": (("--problems", "poisson2d-c"), FLAT),
    "table-5": (("--problems", "poisson2d-ms"), SQUARE),
    "table-6": (("--problems", "poisson2d-ms"), SQUARE),
    "table-7": ((), SQUARE),
    "table-8": ((), SQUARE),
    "table-9": ((), tuple(c for c in SQUARE if not c.startswith("width"))),
    "table-10": ((), tuple(c for c in SQUARE if not c.startswith("depth"))),
    "table-11": (
        ("--problems", "poisson-inv"),
        ("cells=2", "points=25", "iterations=2", "pinn_iterations=2", "adjoint_iterations=2"),
    ),
    "table-12": (("--problems", "poisson2d-c", "--methods", "pcpinn"), FLAT),
    "table-13": (("--problems", "poisson2d-c", "--methods", "pcpinn"), FLAT),
    "table-14": (("--problems", "poisson2d-c", "--methods", "pinn"), (*FLAT, *POINTS)),
    "figure-1a": (("--methods", "pcpinn"), WAVE),
    "figure-1b": ((), ("cells=4", "iterations=4", "marks=3", "grid=3", "test=50", "width=4", "points=20")),
    "figure-2a": ((), ("P=1", "meshes=10", "elements=4")),
    "figure-2b": (
        ("--problems", "helmholtz"),
        ("values=3", "cells=8", "iterations=4", "width=4", "points=32", "batch=32"),
    ),
    "figure-2c": ((), ("values=3", "cells=4", "iterations=4", "width=4", "points=32", "batch=32")),
    "figure-3a": (("--problems", "wave1d-c", "--methods", "pcpinn"), WAVE),
    "figure-3b": ((), ("mesh_sizes=0.5,0.4,0.3", "iterations=5", "width=4")),
    "figure-3c": ((), FLAT),
    "figure-4a": ((), FLAT),
    "figure-4b": ((), SQUARE),
    "figure-4c": ((), (*FLAT, "size=0.3", "curvature=1")),
    **dict.fromkeys(NOTHING_TO_RUN, ((), ())),
    "theorem-3.5": ((), ("P=1", "meshes=10", "elements=4")),
    **dict.fromkeys(("remark-3.2", "remark-3.4", "corollary-3.6", "remark-3.7"), ERROR_CONTROL),
    **dict.fromkeys(("definition-3.8", "theorem-3.9", "remark-3.10"), KERNEL),
}


def arguments(name, seeds="2"):
    options, changes = TINY[name]
    words = [*options, *(w for change in changes for w in ("--set", change))]
    return ["reproduce", name, "--preset", "quick", "--seeds", seeds, "--device", "cpu", *words]


def test_every_item_is_tried():
    assert TINY.keys() == set(ITEMS.names())


@pytest.mark.parametrize("name", ITEMS.names())
def test_items_run(capfd, tmp_path, name):
    """Runs, compares, writes; --from sees what is there, and says the same without running anything."""
    seeds = "10" if name == "table-4" else "1"
    code, out, err = run(capfd, *arguments(name, seeds), "--out", tmp_path / "r", "--json")
    assert code == 0, err
    (item,) = json.loads(out)["items"]
    compared = item["verdict"] in (MATCH, BETTER, DIFFERS)
    assert compared or name in ("figure-1a", "figure-3a") or item["verdict"] == UNTOLD  # these two take two methods
    assert item["done"] == item["planned"]
    lines = list(csv.reader((tmp_path / "r" / name / "lines.csv").read_text().splitlines()))
    assert lines[0] == item["columns"]
    assert lines[1:] == item["lines"]
    assert f"# {name}:" in (tmp_path / "r" / name / "page.md").read_text()
    (verdict,) = csv.DictReader((tmp_path / "r" / "verdicts.csv").read_text().splitlines())
    assert (verdict["id"], verdict["verdict"]) == (name, item["verdict"])
    code, again, _ = run(capfd, *arguments(name, seeds), "--from", tmp_path / "r", "--out", tmp_path / "none", "--json")
    assert code == 0
    assert json.loads(again)["items"] == [item]
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("preset", ["quick", "default", "paper"])
def test_every_item_can_be_planned(preset):
    """In all its sizes: problems, methods and settings exist."""
    for item in ITEMS:
        assert item.parts(Choice(preset)) or item.name in NOTHING_TO_RUN


def test_tables_of_all_methods_share_their_runs():
    """Table 12 runs what Table 2 does and two methods more; 13 and 14 nothing new."""
    parts = {n: ITEMS.find(n).parts(Choice()) for n in ("table-2", "table-12", "table-13", "table-14")}
    assert parts["table-12"] == parts["table-13"] == parts["table-14"]
    methods = [{m for p in parts[n] if isinstance(p, Runs) for m in p.request.methods} for n in ("table-2", "table-12")]
    assert methods[1] - methods[0] == {"rar", "vpinn"}
