"""Run folders: exact round trips, and every way for their files to be broken, foreign or hostile."""

import json
import pickle
import struct

import numpy as np
import pytest
import torch
from small import quick, two_fields, vector

from pcpinn import Disk, Field, Interval, load
from pcpinn.errors import PcpinnError
from pcpinn.files import read_tensors, write_tensors
from pcpinn.mesh.generate import generate_mesh
from pcpinn.network import Architecture, DenseNetwork, Features
from pcpinn.solution import folder as run_folder
from pcpinn.solution.folder import create_run, read_mesh_arrays, read_network, read_run, write_mesh, write_network
from pcpinn.solution.solution import Solution

X = np.linspace(0, 1, 15)[:, None]
FILES = ("run.json", "mesh.safetensors", "network.safetensors", "history.csv", "result.json")
TENSORS = tuple(f for f in FILES if f.endswith("safetensors"))


@pytest.fixture(scope="module")
def solution():
    return quick(two_fields())


@pytest.fixture
def run(solution, tmp_path):
    return solution.save(tmp_path / "run")


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"precision": "float32"},
        {"features": "gaussian", "activation": "sin"},
        {"features": "none", "depth": 3, "initialisation": "he-normal"},
        {"kinks": "0.25,0.5"},
        {"kinks": "0.25,0.5", "precision": "float32"},
    ],
)
def test_round_trip_gives_identical_values(tmp_path, changes):
    before = quick(two_fields(), **changes)
    after = load(before.save(tmp_path / "run"))
    np.testing.assert_array_equal(before(X), after(X))
    assert after.network.theta.dtype == before.network.theta.dtype
    assert after.fields == before.fields == (Field("p", degree=1), Field("q", degree=2))
    assert after.result == before.result
    assert after.settings == before.settings
    np.testing.assert_array_equal(after.history.losses, before.history.losses)
    x = torch.tensor([[0.3]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.grad(after(x).sum(), x)[0].isfinite().all()


def test_vectors_and_meshes_come_back(tmp_path):
    before = quick(vector(), cells=(3, 3))
    after = load(before.save(tmp_path / "run"))
    points = np.random.default_rng(0).uniform(size=(5, 2))
    np.testing.assert_array_equal(before(points), after(points))
    np.testing.assert_array_equal(before.mesh.nodes, after.mesh.nodes)
    np.testing.assert_array_equal(before.mesh.cells, after.mesh.cells)


@pytest.mark.parametrize("domain", [Interval(0, 1).over(0, 2), Disk((0, 0), 1)])
def test_meshes_of_every_kind_come_back(tmp_path, domain):
    before = generate_mesh(domain, size=0.4)
    write_mesh(tmp_path / "mesh", before)
    after = read_mesh_arrays(tmp_path / "mesh")
    assert (after.curved, after.has_time, after.boundary_names) == (
        before.curved,
        before.has_time,
        before.boundary_names,
    )
    np.testing.assert_array_equal(before.nodes, after.nodes)
    np.testing.assert_array_equal(before.cells, after.cells)
    for name in before.boundary_names:
        np.testing.assert_array_equal(before.boundaries[name], after.boundaries[name])


def test_saved_twice_is_refused(solution, run):
    before = {f: (run / f).read_bytes() for f in FILES}
    with pytest.raises(PcpinnError, match="exists already"):
        solution.save(run)
    assert {f: (run / f).read_bytes() for f in FILES} == before


# Broken files


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file(run, name):
    (run / name).unlink()
    with pytest.raises(PcpinnError, match=name if name != "network.safetensors" else "no finished run"):
        load(run)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", ["empty", "half", "noise", "pickle", "folder", "zeros"])
def test_damaged_files(run, name, damage, tmp_path):
    """Cut, overwritten, replaced by a pickle that would leave a trace if it were opened as one."""
    path = run / name
    data = path.read_bytes()
    trace = tmp_path / "executed"
    replacement = {
        "empty": b"",
        "half": data[: len(data) // 2],
        "noise": np.random.default_rng(0).bytes(500),
        "pickle": pickle.dumps(Bomb(str(trace))),
        "folder": None,
        "zeros": bytes(len(data)),
    }[damage]
    path.unlink()
    if replacement is None:
        path.mkdir()
    else:
        path.write_bytes(replacement)
    if name == "history.csv" and damage == "half":
        assert len(load(run).history.rows) < 3  # only a figure for the report, and without a checksum
        return
    with pytest.raises(PcpinnError, match=name):
        load(run)
    assert not trace.exists()


class Bomb:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (self.path, "w"))


@pytest.mark.parametrize("name", TENSORS)
def test_every_truncation_of_a_tensor_file(run, name):
    data = (run / name).read_bytes()
    for size in (1, 7, 8, 9, 50, len(data) - 8, len(data) - 1):
        (run / name).write_bytes(data[:size])
        with pytest.raises(PcpinnError):
            load(run)


@pytest.mark.parametrize("name", TENSORS)
@pytest.mark.parametrize("length", [0, 2**40, 2**63])
def test_a_lying_header_length(run, name, length):
    data = (run / name).read_bytes()
    (run / name).write_bytes(struct.pack("<Q", length) + data[8:])
    with pytest.raises(PcpinnError, match="cannot be read"):
        load(run)


@pytest.mark.parametrize("name", ["run.json", "result.json"])
@pytest.mark.parametrize("text", ["[1, 2]", "3", "null", '"run"', "{", "[" * 100_000, "\udc80"])
def test_json_that_is_no_object(run, name, text):
    (run / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(PcpinnError, match=name):
        load(run)


def edit(path, **changes):
    data = json.loads(path.read_text())
    path.write_text(json.dumps({k: v for k, v in {**data, **changes}.items() if v != "remove"}))


@pytest.mark.parametrize(
    "changes",
    [
        {"format": 99},
        {"format": None},
        {"format": "remove"},
        {"fields": "remove"},
        {"fields": None},
        {"fields": 3},
        {"fields": "u"},
        {"fields": []},
        {"fields": ["u"]},
        {"fields": [{}]},
        {"fields": [{"name": 3}]},
        {"fields": [{"name": "p"}]},
        {"fields": [{"name": "p", "components": "2"}]},
        {"fields": [{"name": "p", "components": 2, "colour": "red"}]},
        {"fields": [{"name": "p", "components": -2}]},
        {"fields": [{"name": "__import__('os')", "components": 2}]},
        pytest.param({"fields": [{"name": "p"}, {"name": "p"}]}),
        pytest.param({"fields": [{"name": "p", "components": 2.0}]}),
        pytest.param({"settings": [1, 2]}),
    ],
)
def test_wrong_entries_of_run_json(run, changes):
    edit(run / "run.json", **changes)
    with pytest.raises(PcpinnError):
        load(run)


def rewrite(path, arrays=None, metadata=None):
    """Change single tensors and metadata of a file; None removes."""
    tensors, facts = read_tensors(path)
    tensors = {k: v for k, v in {**tensors, **(arrays or {})}.items() if v is not None}
    write_tensors(path, tensors, {k: v for k, v in {**facts, **(metadata or {})}.items() if v is not None})


def architecture(**changes):
    base = {"width": 6, "depth": 1, "activation": "tanh", "initialisation": "torch", "features": {"kind": "none"}}
    return {"architecture": {**base, **changes}}


@pytest.mark.parametrize(
    ("arrays", "metadata"),
    [
        ({"theta": None}, {}),
        ({"theta": np.zeros(3)}, {}),
        ({"theta": np.zeros((2, 2))}, {}),
        ({"theta": np.zeros(5, dtype=np.int64)}, {}),
        ({"centre": None}, {}),
        ({"centre": np.zeros(2), "half_width": np.ones(2)}, {}),
        ({"half_width": np.ones(3)}, {}),
        ({"frequencies": np.zeros((1, 9))}, {}),
        ({"extra": np.zeros(1)}, {}),
        ({}, {"architecture": None}),
        ({}, {"architecture": [1]}),
        ({}, {"architecture": {}}),
        ({}, {"outputs": None}),
        ({}, {"outputs": "many"}),
        ({}, {"outputs": -1}),
        ({}, {"outputs": 7}),
        ({}, {"outputs": [2]}),
        ({}, architecture(width=-3)),
        ({}, architecture(width="6")),
        ({}, architecture(width=6.5)),
        ({}, architecture(activation="exec")),
        ({}, architecture(activation=["tanh"])),
        ({}, architecture(features=None)),
        ({}, architecture(features={"kind": "none", "more": 1})),
        ({}, architecture(features={"kind": "magic"})),
        ({}, architecture(features={"kind": "log", "count": "3"})),
        ({}, architecture(features={"kind": "none", "kinks": "0.5"})),
        ({}, architecture(features={"kind": "none", "kinks": [[None]]})),
        ({}, architecture(features={"kind": "none", "kinks": [[0.5], [0.5]]})),
        ({}, architecture(features={"kind": "none", "kinks": [[0.5, 0.6]]})),
        ({}, architecture(surprise=1)),
        pytest.param({}, {"outputs": float("inf")}),
        pytest.param({"theta": np.full(38, np.nan)}, {}),
        pytest.param({"half_width": np.zeros(1)}, {}),
    ],
)
def test_networks_that_do_not_fit(run, arrays, metadata):
    path = run / "network.safetensors"
    if "theta" in arrays and arrays["theta"] is not None and np.isnan(arrays["theta"].astype(float)).all():
        arrays = {"theta": np.full_like(read_tensors(path)[0]["theta"], np.nan)}
    rewrite(path, arrays, metadata)
    with pytest.raises(PcpinnError):
        load(run)


@pytest.mark.parametrize(
    ("arrays", "metadata"),
    [
        ({"nodes": None}, {}),
        ({"cells": None}, {}),
        ({"nodes": np.zeros(9)}, {}),
        ({"nodes": np.zeros((9, 4))}, {}),
        ({"nodes": np.full((9, 1), np.nan)}, {}),
        ({"nodes": np.zeros((0, 1))}, {}),
        ({"cells": np.array([[0, 99]])}, {}),
        ({"cells": np.array([[0, -1]])}, {}),
        ({"cells": np.array([[0.0, 1.0]])}, {}),
        ({"boundary.0": None}, {}),
        ({"boundary.0": np.array([[77]])}, {}),
        ({}, {"boundaries": None}),
        ({}, {"boundaries": 3}),
        ({}, {"boundaries": ["left", "right", "third"]}),
        ({}, {"has_time": None}),
    ],
)
def test_meshes_that_do_not_fit(run, arrays, metadata):
    rewrite(run / "mesh.safetensors", arrays, metadata)
    with pytest.raises(PcpinnError):
        load(run)


def test_files_of_different_runs(run, tmp_path):
    """A network for the plane in a run on a line, a mesh of the plane in a run on a line, one output for two fields."""

    def network(d, outputs):
        return DenseNetwork(Architecture(4, 1), [0.0] * d, [1.0] * d, outputs, torch.Generator())

    good = (run / "network.safetensors").read_bytes()
    for d, outputs in ((2, 2), (1, 1), (1, 3)):
        write_network(run / "network.safetensors", network(d, outputs))
        with pytest.raises(PcpinnError, match="do not fit each other"):
            load(run)
    (run / "network.safetensors").write_bytes(good)
    write_mesh(run / "mesh.safetensors", generate_mesh(Disk((0, 0), 1), size=0.5))
    with pytest.raises(PcpinnError, match="do not fit each other"):
        load(run)


def test_a_foreign_safetensors_file(run):
    from safetensors.numpy import save_file

    for metadata in (None, {"format": "pt"}, {"pcpinn": "not json"}, {"pcpinn": "[1]"}):
        save_file({"theta": np.zeros(3)}, run / "network.safetensors", metadata)
        with pytest.raises(PcpinnError):
            load(run)


def test_a_type_that_numpy_does_not_have(run):
    from safetensors.torch import save_file

    tensors, metadata = read_tensors(run / "network.safetensors")
    strange = {k: torch.from_numpy(v.copy()).to(torch.bfloat16) for k, v in tensors.items()}
    save_file(strange, run / "network.safetensors", {"pcpinn": json.dumps(metadata)})
    with pytest.raises(PcpinnError):
        load(run)


@pytest.mark.parametrize("where", ["nowhere", "file"])
def test_not_a_folder(tmp_path, where):
    (tmp_path / "file").write_text("x")
    with pytest.raises(PcpinnError, match="is not a folder"):
        load(tmp_path / where)
    with pytest.raises(PcpinnError):
        read_run(tmp_path)


# Making a folder

MESH = generate_mesh(Interval(0, 1), cells=2)


def test_an_empty_folder_may_be_used(tmp_path):
    (tmp_path / "run").mkdir()
    create_run(tmp_path / "run", {"problem": "p"}, MESH)
    assert read_run(tmp_path / "run")["problem"] == "p"
    assert [f.name for f in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("what", ["file", "full folder", "parent is a file"])
def test_a_place_that_is_taken(tmp_path, what):
    target = tmp_path / "run"
    if what == "full folder":
        target.mkdir()
        (target / "x").write_text("kept")
    elif what == "file":
        target.write_text("kept")
    else:
        target.write_text("kept")
        target = target / "below"
    before = sorted(str(p) for p in tmp_path.rglob("*"))
    with pytest.raises(PcpinnError):
        create_run(target, {}, MESH)
    assert sorted(str(p) for p in tmp_path.rglob("*")) == before


@pytest.mark.parametrize("failing", ["write_json", "write_mesh", "rename", "interrupt"])
def test_a_failure_leaves_nothing_behind(tmp_path, monkeypatch, failing):
    def fail(*args, **options):
        if failing == "interrupt":
            raise KeyboardInterrupt
        raise PcpinnError("cannot write") if failing.startswith("write") else OSError(28, "No space left on device")

    if failing == "rename":
        monkeypatch.setattr("pathlib.Path.rename", fail)
    else:
        monkeypatch.setattr(run_folder, "write_mesh" if failing == "interrupt" else failing, fail)
    with pytest.raises((PcpinnError, KeyboardInterrupt)):
        create_run(tmp_path / "run", {}, MESH)
    assert list(tmp_path.iterdir()) == []


def test_architectures_survive(tmp_path):
    kinked = Features("log", 2, -1, 1, kinks=((0.5, 1.5),))
    for features in (Features("none"), Features("log", 2, -1, 1), Features("gaussian", 3), kinked):
        network = DenseNetwork(
            Architecture(4, 2, "silu", "he-normal", features), [0.0], [2.0], 2, torch.Generator().manual_seed(1)
        )
        write_network(tmp_path / "n", network)
        back = read_network(tmp_path / "n")
        assert back.architecture == network.architecture
        assert torch.equal(back.theta, network.theta)
        assert torch.equal(back.frequencies, network.frequencies)
        assert torch.equal(back.kinks, network.kinks)


def test_a_solution_made_by_hand_can_be_saved(tmp_path):
    network = DenseNetwork(Architecture(4, 1), [0.0], [1.0], 1, torch.Generator().manual_seed(0))
    by_hand = Solution(network, (Field("u"),), MESH, {})
    np.testing.assert_array_equal(load(by_hand.save(tmp_path / "run"))(X), by_hand(X))


def test_metadata_cannot_ask_for_a_network_without_end(run):
    tensors, metadata = read_tensors(run / "network.safetensors")
    metadata["architecture"]["depth"] = 2**31
    write_tensors(run / "network.safetensors", tensors, metadata)
    with pytest.raises(PcpinnError, match="at most 1000 hidden layers"):
        load(run)
