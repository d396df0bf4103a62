"""Prepared problems: the same solve from a file of numbers, and files that are not what they say."""

import copy
import functools
import json

import numpy as np
import pytest
import torch

from pcpinn.catalog.prepared import read_prepared, write_prepared
from pcpinn.catalog.task import catalog_task, find_task
from pcpinn.errors import PcpinnError
from pcpinn.files import read_tensors, write_tensors
from pcpinn.mesh.slab_mesh import SlabMesh

QUICK = {"width": 5, "depth": 1, "iterations": 4, "device": "cpu"}
TASKS = {
    "poisson1d": {"P": 2.0, "cells": 5},
    "poisson2d-c": {"size": 0.25, "curvature": 1.0},
    "wave1d-c": {"cells": 3, "steps": 12},
}
FILE = """
import pcpinn as pc
problem = pc.Problem(pc.Interval(0, 1), flux=lambda x, u: u.grad, source=lambda x, u: -1.0,
                     boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)})
settings = {"cells": 4, "width": 5, "depth": 1, "iterations": 3, "device": "cpu"}
"""


@pytest.mark.parametrize("name", TASKS)
def test_gives_the_same_weights(name, tmp_path):
    task = find_task(name, "quick", {**TASKS[name], **QUICK})
    write_prepared(task, tmp_path / "a.pcpinn")
    again = read_prepared(tmp_path / "a.pcpinn", {})
    assert again.settings == task.settings
    assert again.record == task.record
    for kind in ("points", "values"):
        np.testing.assert_array_equal(getattr(again.reference, kind), getattr(task.reference, kind))
    facts = ("kind", "error", "note", "components")
    assert [getattr(again.reference, f) for f in facts] == [getattr(task.reference, f) for f in facts]
    one, two = task.run(), again.run()
    assert torch.equal(one.network.theta, two.network.theta)
    np.testing.assert_array_equal(one.history.losses, two.history.losses)
    assert one.errors == two.errors
    assert (two.mesh.curved, two.mesh.has_time) == (name == "poisson2d-c", name == "wave1d-c")


def test_training_may_still_change(tmp_path):
    write_prepared(find_task("poisson1d", "quick", {**TASKS["poisson1d"], **QUICK}), tmp_path / "a.pcpinn")
    task = read_prepared(tmp_path / "a.pcpinn", {"iterations": "2", "seed": 3, "width": 7})
    chosen = task.settings
    assert (chosen.optimiser.iterations, chosen.run.seed, chosen.network.width) == (2, 3, 7)
    assert task.run().result["iterations"] == 2


@pytest.mark.parametrize("name", ["poisson2d-c", "wave1d-c", "heat2d-vc"])
def test_a_file_for_all_methods_on_the_strong_form(name, tmp_path):
    """Made with one of them, a preset of theirs holds in the file for each as it does without the file."""
    own = {"width": 5, "device": "cpu"}
    write_prepared(catalog_task(name, "pinnacle-quick", own, reference=False, method="pinn"), tmp_path / "a.pcpinn")
    for method in ("pinn", "pinn-w", "lra", "multiadam", "vpinn", "laaf", "fbpinn"):
        again = read_prepared(tmp_path / "a.pcpinn", {"seed": 3}, method=method)
        direct = catalog_task(name, "pinnacle-quick", {**own, "seed": 3}, reference=False, method=method)
        assert again.settings == direct.settings
    assert isinstance(again.mesh, SlabMesh) == (name == "heat2d-vc")
    with pytest.raises(PcpinnError, match="no preset 'pinnacle-quick'"):
        read_prepared(tmp_path / "a.pcpinn", {})


@pytest.mark.parametrize(("key", "value"), [("cells", "9"), ("size", "0.1"), ("curved", "false"), ("steps", "3")])
def test_the_mesh_may_not(key, value, tmp_path):
    write_prepared(find_task("poisson1d", "quick", {**TASKS["poisson1d"], **QUICK}), tmp_path / "a.pcpinn")
    with pytest.raises(PcpinnError, match=key):
        read_prepared(tmp_path / "a.pcpinn", {key: value})


def test_without_a_reference(tmp_path):
    (tmp_path / "mine.py").write_text(FILE)
    task = find_task(str(tmp_path / "mine.py"), "default", {})
    write_prepared(task, tmp_path / "deep" / "a.pcpinn")
    again = read_prepared(tmp_path / "deep" / "a.pcpinn", {}, tmp_path / "mine.py")
    assert again.reference is None
    assert torch.equal(again.run().network.theta, task.run().network.theta)


def test_a_users_file_is_named_and_unchanged(tmp_path):
    """The prepared file holds no code, and runs none that nobody named."""
    mine, packed = tmp_path / "mine.py", tmp_path / "a.pcpinn"
    mine.write_text(FILE)
    write_prepared(find_task(str(mine), "default", {}), packed)
    assert b"lambda" not in packed.read_bytes()
    with pytest.raises(PcpinnError, match=r"mine\.py") as caught:
        read_prepared(packed, {})
    assert "--problem mine.py" in caught.value.remedy
    mine.write_text(FILE + "# changed\n")
    with pytest.raises(PcpinnError, match="not the file"):
        read_prepared(packed, {}, mine)
    moved = tmp_path / "elsewhere.py"
    moved.write_text(FILE)
    assert read_prepared(packed, {}, moved).mesh is not None


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("prepared") / "a.pcpinn"
    write_prepared(find_task("poisson1d", "quick", {**TASKS["poisson1d"], **QUICK}), path)
    return read_tensors(path)


def put(data, keys, value):
    """Replace an entry of nested dicts; `...` removes it."""
    *path, last = keys.split("/")
    inside = functools.reduce(lambda d, k: d[k], path, data)
    if value is ...:
        del inside[last]
    else:
        inside[last] = value


METADATA = [
    ("prepared", 2),
    ("prepared", [1]),
    ("prepared", ...),
    ("record", ...),
    ("record", []),
    ("record/preset", ...),
    ("record/preset", "fast"),
    ("record/preset", ["quick"]),
    ("record/problem_parameters", [1]),
    ("record/problem_parameters", {"Q": 1}),
    ("record/problem_parameters", {"P": "long"}),
    ("record/problem_parameters", {"P": float("inf")}),
    ("record/source", ...),
    ("record/source", "poisson1d"),
    ("record/source/kind", ...),
    ("record/source/kind", "file"),
    ("record/source/name", "nothing"),
    ("record/source/name", 7),
    ("record/source/name", "poisson2d-c"),
    ("settings", ...),
    ("settings", None),
    ("settings", [1]),
    ("settings/network", {"name": "mlp", "width": "wide"}),
    ("settings/optimiser", {"name": "adam", "iterations": -3}),
    ("settings/mesh", {"name": "fem", "unheard": 1}),
    ("settings/mesh", {"name": "unheard"}),
    ("settings/time", 3),
    ("mesh", None),
    ("mesh/boundaries", ["ends", "more"]),
    ("mesh/boundaries", 3),
    ("reference", 3),
    ("reference", ...),
    ("reference/components", None),
    ("reference/components", [0, 1]),
    ("reference/unheard", 1),
]


@pytest.mark.parametrize(("keys", "value"), METADATA, ids=lambda v: str(v)[:30])
def test_hostile_metadata(good, tmp_path, keys, value):
    tensors, metadata = good
    metadata = copy.deepcopy(metadata)
    put(metadata, keys, value)
    write_tensors(tmp_path / "a.pcpinn", tensors, metadata)
    with pytest.raises(PcpinnError) as caught:
        read_prepared(tmp_path / "a.pcpinn", {})
    assert caught.value.remedy


TENSORS = {
    "no nodes": ("nodes", lambda v: None),
    "nan": ("nodes", lambda v: v * np.nan),
    "whole numbers": ("nodes", lambda v: v.astype(np.int64)),
    "four dimensions": ("nodes", lambda v: np.zeros((len(v), 4))),
    "a number": ("nodes", lambda v: np.float64(3)),
    "no cells": ("cells", lambda v: v[:0]),
    "nodes that are not there": ("cells", lambda v: v + 3),
    "flat": ("cells", lambda v: v * 0),
    "no facets": ("boundary.0", lambda v: None),
    "inner facets": ("boundary.0", lambda v: v + 2),
    "reference of nan": ("reference.values", lambda v: v * np.nan),
    "short reference": ("reference.values", lambda v: v[:-1]),
    "no points": ("reference.points", lambda v: None),
}


@pytest.mark.parametrize("case", TENSORS)
def test_hostile_tensors(good, tmp_path, case):
    tensors, metadata = good
    key, change = TENSORS[case]
    changed = {**tensors, key: change(tensors[key])}
    write_tensors(tmp_path / "a.pcpinn", {k: v for k, v in changed.items() if v is not None}, metadata)
    with pytest.raises(PcpinnError) as caught:
        read_prepared(tmp_path / "a.pcpinn", {})
    assert caught.value.remedy


@pytest.mark.parametrize("data", [b"", b"not one of ours", b"\xff" * 64, (2**40).to_bytes(8, "little") + b"{}"])
def test_files_that_are_not_ours(tmp_path, data):
    (tmp_path / "a.pcpinn").write_bytes(data)
    with pytest.raises(PcpinnError, match=r"a\.pcpinn"):
        read_prepared(tmp_path / "a.pcpinn", {})
    with pytest.raises(PcpinnError, match="does not exist"):
        read_prepared(tmp_path / "b.pcpinn", {})


def test_the_record_is_not_taken_from_the_file(good, tmp_path):
    """A name such as ../../elsewhere would lead the run folder astray."""
    tensors, metadata = good
    metadata = copy.deepcopy(metadata)
    metadata["record"] |= {"problem": "../../elsewhere", "method": "none"}
    write_tensors(tmp_path / "a.pcpinn", tensors, metadata)
    record = read_prepared(tmp_path / "a.pcpinn", {}).record
    assert record["problem"] == "poisson1d"
    assert "method" not in record


@pytest.mark.parametrize("what", ["prepared", "run"])
def test_no_code_is_run_that_a_file_names(good, tmp_path, monkeypatch, what):
    """As a catalog problem, that is: a user's own file is named on the command line."""
    from pcpinn.catalog.task import task_of_run

    monkeypatch.chdir(tmp_path)
    (tmp_path / "evil.py").write_text("open('it-ran', 'w').close()\n" + FILE)
    tensors, metadata = good
    metadata = copy.deepcopy(metadata)
    metadata["record"]["source"]["name"] = "evil.py"
    metadata["record"]["problem_parameters"] = {}
    write_tensors(tmp_path / "a.pcpinn", tensors, metadata)
    (tmp_path / "run.json").write_text(
        json.dumps({"format": 1, **metadata["record"], "settings": metadata["settings"]})
    )
    with pytest.raises(PcpinnError):
        read_prepared(tmp_path / "a.pcpinn", {}) if what == "prepared" else task_of_run(tmp_path)
    assert not (tmp_path / "it-ran").exists()


@pytest.mark.parametrize(("key", "value"), [("error", "small"), ("kind", 3), ("components", ["u"])])
def test_hostile_facts_of_the_reference(good, tmp_path, key, value):
    tensors, metadata = good
    metadata = copy.deepcopy(metadata)
    metadata["reference"][key] = value
    write_tensors(tmp_path / "a.pcpinn", tensors, metadata)
    with pytest.raises(PcpinnError):
        read_prepared(tmp_path / "a.pcpinn", {})
