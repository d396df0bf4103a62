"""Answers back from disk: each kind of run has a loader of its own, which registers itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import nn

from ..errors import PcpinnError
from ..files import read_json
from .folder import fields_of, read_history, read_mesh_arrays, read_network, read_run, settings_of
from .result import Result
from .solution import Solution

Loader = Callable[[Path, dict[str, Any], nn.Module | None], Solution]

_LOADERS: dict[str, Loader] = {}


def loads(kind: str) -> Callable[[Loader], Loader]:
    """Make a function the loader of a kind of run: of its folder, what run.json says, and the module that `load` was given."""

    def register(loader: Loader) -> Loader:
        _LOADERS[kind] = loader
        return loader

    return register


def load(folder: str | Path, network: nn.Module | None = None) -> Solution:
    """The solution in a run folder.

    Args:
        folder: of the run.
        network: for a run whose network was a torch.nn.Module of your own, a module of the same class and sizes: its weights are
            replaced (in a copy) by the trained ones. Folders hold no code.

    Raises:
        PcpinnError: when files are missing, damaged, or do not fit each other or the module.
    """
    folder = Path(folder)
    record = read_run(folder)
    kind = record.get("kind", "forward")
    if kind not in _LOADERS:
        raise PcpinnError(f"{folder} is a run of the unknown kind {kind!r}", "it was made by another version")
    return _LOADERS[kind](folder, record, network)


@loads("forward")
def load_forward(folder: Path, record: dict[str, Any], module: nn.Module | None) -> Solution:
    """A network on its mesh."""
    if not (folder / "network.safetensors").exists():
        raise PcpinnError(f"{folder} holds no finished run", f"continue it with: pcpinn resume {folder}")
    network = read_network(folder / "network.safetensors", module)
    mesh = read_mesh_arrays(folder / "mesh.safetensors")
    fields = fields_of(record, folder)
    if sum(f.components for f in fields) != network.outputs or network.inputs != mesh.dimension:
        raise PcpinnError(f"the files in {folder} do not fit each other", "do not mix the files of different runs")
    history, settings = read_history(folder), settings_of(record, folder)
    return Solution(network, fields, mesh, Result(read_json(folder / "result.json")), history, settings)
