"""Runs on disk: JSON, safetensors and CSV only, so that opening a stranger's run cannot execute a stranger's code.

run.json               problem, settings, fields: written when training starts; to an accuracy, at once
mesh.safetensors       where it is trained
checkpoint.safetensors the last state of the training; of a march the windows that are done, until all are; to an accuracy
                       the plan, until it is reached
networks/              to an accuracy: a folder of a run for each network, until the accuracy is reached
network.safetensors    the trained network
history.csv            loss by iteration
result.json            errors, times, sizes
"""

from __future__ import annotations

import contextlib
import operator
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from ..errors import PcpinnError
from ..files import (
    clear_stagings,
    make_staging,
    read_json,
    read_plain_text,
    read_tensors,
    write_atomically,
    write_json,
    write_tensors,
)
from ..lock import unlock_folder
from ..mesh.check import check_mesh
from ..mesh.mesh import Mesh
from ..mesh.slab_mesh import AnyMesh, SlabMesh
from ..network import Ansatz, Architecture, DenseNetwork, ModuleNetwork, Network
from ..network.marched import MarchedNetwork, Plan, pack_windows, unpack_windows
from ..network.module_recipe import module_again
from ..network.parametric import ParametricNetwork
from ..network.trunk_branch import TrunkBranchNetwork
from ..network.trunk_solve import TrunkSolveNetwork
from ..problem.field import Field, as_fields
from ..train.history import History

FORMAT = 1

AnyNetwork = Network | MarchedNetwork


def create_run(
    folder: Path, record: dict[str, Any], mesh: AnyMesh | None, more: Callable[[Path], None] | None = None
) -> None:
    """Make the folder with run.json and the mesh, if it is known, in one move: it is there whole, or not at all.

    Args:
        folder, record, mesh: what is made, of what.
        more: writes whatever else has to be there from the first moment.

    Raises:
        PcpinnError: when the folder exists with something in it, or cannot be written.
    """
    folder = Path(folder)
    require_free(folder)
    staging, key = None, None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        clear_stagings(folder)
        staging, key = make_staging(folder)
        staging.chmod(0o755)
        write_json(staging / "run.json", {"format": FORMAT, **record})
        if mesh is not None:
            write_mesh(staging / "mesh.safetensors", mesh)
        if more is not None:
            more(staging)
        if folder.is_dir():
            folder.rmdir()
        staging.rename(folder)
    except OSError as error:
        raise PcpinnError(
            f"cannot make the run folder {folder}: {error.strerror or error}", "choose another with --out"
        ) from error
    finally:
        if staging is not None and staging.exists():
            shutil.rmtree(staging, ignore_errors=True)
        unlock_folder(key)


def missing_parents(folder: Path | None) -> list[Path]:
    """Folders that making this one will make as well, the innermost first."""
    return [] if folder is None else [p for p in folder.absolute().parents if not p.exists()]


def discard_run(folder: Path, made: Sequence[Path]) -> None:
    """Remove a run of which nothing is worth keeping, and the folders that were made for it, where nothing else is in them."""
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        for parent in made:
            parent.rmdir()


def settle_run(folder: Path, record: dict[str, Any], mesh: AnyMesh) -> None:
    """Replace record and mesh of a run that was begun before these were known."""
    write_mesh(folder / "mesh.safetensors", mesh)
    write_json(folder / "run.json", {"format": FORMAT, **record})


def require_free(folder: Path) -> None:
    """Refuse a folder that already holds something, or whose name the system cannot take."""
    try:
        if folder.is_dir() and not any(folder.iterdir()):
            return
        there = folder.exists()
    except OSError as error:
        raise PcpinnError(
            f"cannot make the run folder {str(folder)[:200]}: {error.strerror or error}", "choose another with --out"
        ) from error
    if there:
        raise PcpinnError(
            f"{folder} exists already", "choose another folder, remove it, or continue it with: pcpinn resume DIR"
        )


def finish_run(folder: Path, network: AnyNetwork, history: History, result: dict[str, Any]) -> None:
    """Add the trained network, the history and, last, result.json."""
    write_network(folder / "network.safetensors", network)
    finish_record(folder, history, result)


def finish_record(folder: Path, history: History, result: dict[str, Any]) -> None:
    """The part of it that says how the answer came about."""
    write_atomically(folder / "history.csv", history.to_csv())
    write_json(folder / "result.json", result)


def keep_network(folder: Path, network: Network) -> Path:
    """Write the network of a run that failed, for its user to look at; the run stays unfinished."""
    path = folder / "network-unfinished.safetensors"
    write_network(path, network)
    return path


def read_history(folder: Path) -> History:
    """history.csv of a run."""
    try:
        return History.from_csv(read_plain_text(folder / "history.csv"))
    except (OSError, ValueError) as error:
        raise PcpinnError(f"{folder}/history.csv cannot be read: {error}", "the run is damaged; solve again") from error


def settings_of(record: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The settings that run.json holds."""
    settings = record.get("settings", {})
    if not isinstance(settings, dict):
        raise PcpinnError(f"{folder}/run.json does not hold its settings", "the file is damaged; run the solve again")
    return settings


def read_run(folder: Path) -> dict[str, Any]:
    """run.json, checked."""
    if not Path(folder).is_dir():
        raise PcpinnError(f"{folder} is not a folder", "give the folder of a run, such as runs/poisson2d-c")
    record = read_json(Path(folder) / "run.json")
    if record.get("format") != FORMAT:
        raise PcpinnError(
            f"{folder}/run.json has format {record.get('format')!r}", f"this version reads format {FORMAT}"
        )
    return record


def fields_of(record: dict[str, Any], folder: Path) -> tuple[Field, ...]:
    """The fields that run.json names."""
    try:
        return as_fields(
            [
                Field(str(f["name"]), operator.index(f["components"]), f["degree"], operator.index(f.get("lower", 0)))
                for f in record["fields"]
            ]
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise PcpinnError(
            f"{folder}/run.json does not name its fields", "the file is damaged; run the solve again"
        ) from error


def write_mesh(path: Path, mesh: AnyMesh) -> None:
    """Mesh arrays; boundary names go into the metadata."""
    write_tensors(path, *mesh_tensors(mesh))


def read_mesh_arrays(path: Path) -> AnyMesh:
    """Inverse of `write_mesh`."""
    return mesh_from_tensors(*read_tensors(path), path)


def mesh_tensors(mesh: AnyMesh) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """A mesh as arrays and plain data; one of slabs is its mesh in space with times."""
    if isinstance(mesh, SlabMesh):
        tensors, metadata = mesh_tensors(mesh.space)
        return {**tensors, "times": mesh.times}, metadata
    tensors = {"nodes": mesh.nodes, "cells": mesh.cells.astype(np.int64)}
    names = list(mesh.boundary_names)
    tensors |= {f"boundary.{i}": mesh.boundaries[name].astype(np.int64) for i, name in enumerate(names)}
    return tensors, {"boundaries": names, "has_time": mesh.has_time}


def mesh_from_tensors(tensors: Mapping[str, np.ndarray], metadata: Mapping[str, Any], path: Path) -> AnyMesh:
    """Inverse of `mesh_tensors`, checked; `path` is for messages."""
    try:
        boundaries = {str(name): tensors[f"boundary.{i}"] for i, name in enumerate(metadata["boundaries"])}
        mesh = Mesh(tensors["nodes"], tensors["cells"], boundaries, bool(metadata["has_time"]))
    except (KeyError, TypeError) as error:
        raise PcpinnError(f"{path} does not hold a mesh", "the file is damaged; make it again") from error
    mesh = check_mesh(mesh)
    return SlabMesh(mesh, tensors["times"]) if "times" in tensors else mesh


_POSITIVE = ("half_width", "output_scale")


def write_network(path: Path, network: AnyNetwork) -> None:
    """Weights, architecture and ansatz; of a march, the weights of all windows; of a user's module, all but its code."""
    facts: dict[str, Any]
    if isinstance(network, MarchedNetwork):
        tensors = {k: v for k, v in network.base.state_dict().items() if k != "theta"} | {"times": network.times}
        windows = pack_windows(network.theta.detach().cpu().numpy(), network.base.head_size)
        facts = {"kind": "march", "architecture": network.base.architecture.to_dict(), "plan": network.plan.to_dict()}
        write_tensors(path, _arrays(tensors) | windows, facts)
    elif isinstance(network, ModuleNetwork):
        ansatz = {} if network.ansatz is None else network.ansatz.state_dict(prefix="ansatz.")
        tensors = network.to_tensors() | {"probe": network.probe()} | ansatz
        facts = {"kind": "module", "class": network.class_name, "outputs": network.outputs}
        facts |= {} if network.made_by is None else {"made_by": dict(network.made_by)}
        write_tensors(path, _arrays(tensors), facts)
    elif isinstance(network, ParametricNetwork):
        facts = {"kind": "parametric", "architecture": network.architecture.to_dict(), "outputs": network.outputs}
        write_tensors(path, _arrays(network.state_dict()), facts | {"parameters": network.numbers})
    elif isinstance(network, TrunkBranchNetwork):
        kind = "trunk-solve" if isinstance(network, TrunkSolveNetwork) else "trunk-branch"
        facts = {"kind": kind, "architecture": network.architecture.to_dict(), "outputs": network.outputs}
        facts |= {"parameters": network.numbers, "branch": list(network.branch)}
        facts |= {"bends_by": network.bends_by, "sized": network.sized}
        write_tensors(path, _arrays(network.state_dict()), facts)
    elif isinstance(network, DenseNetwork):
        facts = {"kind": "mlp", "architecture": network.architecture.to_dict(), "outputs": network.outputs}
        write_tensors(path, _arrays(network.state_dict()), facts)
    else:
        raise PcpinnError(
            f"{type(network).__name__} cannot be written to disk", "make the network of an MLP or of a torch.nn.Module"
        )


def read_network(path: Path, module: nn.Module | None = None) -> AnyNetwork:
    """Inverse of `write_network`.

    Args:
        path: the file.
        module: of the class that the file names, for a network that was made of one: no code is kept on disk. One that a
            registered recipe made need not be given.

    Raises:
        PcpinnError: when the file is damaged, or does not fit the module.
    """
    tensors, metadata = read_tensors(path)
    kind = metadata.get("kind")
    _check_module(path, metadata, module)
    try:
        if kind == "march":
            return _marched(tensors, metadata)
        state = {k: torch.from_numpy(v.copy()) for k, v in tensors.items()}
        for name, tensor in state.items():
            own = name.startswith(
                "module."
            )  # a user's buffers may hold anything: the probe tells whether they are as they were
            if not (own or torch.isfinite(tensor).all()) or (name in _POSITIVE and not (tensor > 0).all()):
                raise ValueError(f"{name} is not finite")
        outputs = int(metadata["outputs"])
        if kind == "module":
            same = module_again(metadata["made_by"]) if module is None else module
            return _of_module(state, same, outputs, path, metadata.get("made_by"))
        architecture = Architecture.from_dict(metadata["architecture"])
        d = len(state["centre"])
        if kind in ("parametric", "trunk-branch", "trunk-solve"):
            return _of_family(state, architecture, outputs, metadata)
        if architecture.parameter_count(d, outputs) != len(state["theta"]):
            raise ValueError("the weights do not fit the architecture")
        network = DenseNetwork(architecture, [0.0] * d, [1.0] * d, outputs, torch.Generator(), state["theta"].dtype)
        network.ansatz = _ansatz(state, d, outputs)
        _take_units(network, state)
        network.load_state_dict(state)
    except (LookupError, TypeError, ValueError, OverflowError, RuntimeError, AttributeError) as error:
        raise PcpinnError(
            f"{path} does not hold a network: {error}", "the file is damaged; run the solve again"
        ) from error
    return network


def _of_family(
    state: dict[str, torch.Tensor], architecture: Architecture, outputs: int, metadata: Mapping[str, Any]
) -> ParametricNetwork | TrunkBranchNetwork:
    """Raises: what `read_network` expects for files that do not hold such a network."""
    box = [0.0] * len(state["centre"]), [1.0] * len(state["centre"])
    numbers, rest = int(metadata["parameters"]), (torch.Generator(), state["theta"].dtype)
    network: ParametricNetwork | TrunkBranchNetwork
    if metadata["kind"] == "parametric":
        network = ParametricNetwork(architecture, *box, outputs, numbers, *rest)
    else:
        made = TrunkSolveNetwork if metadata["kind"] == "trunk-solve" else TrunkBranchNetwork
        more = metadata.get("bends_by"), bool(metadata.get("sized", False))
        network = made(architecture, *box, outputs, numbers, tuple(int(n) for n in metadata["branch"]), *rest, *more)
    _take_units(network, state)
    network.load_state_dict(state)
    return network


def _take_units(network: DenseNetwork | TrunkBranchNetwork, state: Mapping[str, torch.Tensor]) -> None:
    """One unit for all outputs, or one for each, as the file has it."""
    units = state["output_scale"]
    if units.shape not in ((), (network.outputs,)):
        raise ValueError("the units of the outputs do not fit the network")
    network.output_scale = torch.ones_like(units)


def _arrays(tensors: Mapping[str, torch.Tensor]) -> dict[str, np.ndarray]:
    return {k: v.detach().cpu().numpy() for k, v in tensors.items()}


def _check_module(path: Path, metadata: Mapping[str, Any], module: nn.Module | None) -> None:
    """A module is given where, and only where, the file has the weights of one."""
    kind = metadata.get("kind")
    if kind not in ("mlp", "march", "module", "parametric", "trunk-branch", "trunk-solve"):
        raise PcpinnError(f"{path} holds a network of the unknown kind {kind!r}", "it was made by another version")
    if kind == "module" and module is None and "made_by" not in metadata:
        name = str(metadata.get("class", "a torch.nn.Module"))
        raise PcpinnError(
            f"{path} has the weights of {name}, whose code is not kept on disk",
            f"give a module of that class: pcpinn.load(folder, network={name.rpartition('.')[2]}(...))",
        )
    if kind != "module" and module is not None:
        raise PcpinnError(f"{path} does not hold the weights of a module", "leave network= out")


def _of_module(
    state: dict[str, torch.Tensor],
    module: nn.Module,
    outputs: int,
    path: Path,
    made_by: Mapping[str, Any] | None,
) -> ModuleNetwork:
    """Raises: LookupError, ValueError, RuntimeError for what is not such a network; PcpinnError for another module."""
    values = state.pop("probe")
    ansatz = _ansatz(state, len(state["centre"]), outputs)
    bare = {k: v for k, v in state.items() if not k.startswith("ansatz.")}
    network = ModuleNetwork.from_tensors(bare, module, outputs, made_by)
    if not network.agrees(values):
        raise PcpinnError(
            f"{network.class_name} with the weights of {path} is not the function that was trained",
            "make it with the arguments (activation, scales) that it had then",
        )
    network.ansatz = ansatz
    return network


def _ansatz(state: Mapping[str, torch.Tensor], d: int, outputs: int) -> Ansatz | None:
    own = {k.removeprefix("ansatz."): v for k, v in state.items() if k.startswith("ansatz.")}
    if not own:
        return None
    ansatz = Ansatz.from_tensors(own)
    if len(ansatz.lower) != d or not ansatz.components <= set(range(outputs)):
        raise ValueError("the ansatz does not fit the network")
    return ansatz


def _marched(tensors: Mapping[str, np.ndarray], metadata: Mapping[str, Any]) -> MarchedNetwork:
    """Raises: LookupError, TypeError, ValueError, RuntimeError for what is not a march."""
    plan = Plan(**metadata["plan"])
    if not (1 <= plan.components <= 1000 and 1 <= plan.per_window <= 10_000 and 1 <= plan.order <= 12):
        raise ValueError(f"a march of {plan}")
    if plan.shown is not None and not 1 <= plan.shown <= plan.components:
        raise ValueError(f"a march that shows {plan.shown} of {plan.components} components")
    architecture = Architecture.from_dict(metadata["architecture"])
    state = {k: torch.from_numpy(tensors[k].copy()) for k in ("centre", "half_width", "frequencies", "output_scale")}
    thetas, times = torch.from_numpy(unpack_windows(tensors)), tensors["times"]
    d, outputs = len(state["centre"]), plan.components * plan.layers
    if not all(bool(torch.isfinite(v).all()) for v in (thetas, torch.from_numpy(times.copy()), *state.values())):
        raise ValueError("its weights are not finite")
    if any(not bool((state[name] > 0).all()) for name in _POSITIVE) or (np.diff(times) <= 0).any():
        raise ValueError("its units or times are not in order")
    if (
        thetas.shape[1] != architecture.parameter_count(d, outputs)
        or (len(thetas) - 1) * plan.per_window != len(times) - 1
    ):
        raise ValueError("the weights do not fit the architecture")
    base = DenseNetwork(architecture, [0.0] * d, [1.0] * d, outputs, torch.Generator(), thetas.dtype)
    _take_units(base, state)
    base.load_state_dict({**state, "theta": thetas[-1]})
    return MarchedNetwork(base, plan, times, thetas)
