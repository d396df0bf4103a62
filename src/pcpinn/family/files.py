"""Surrogates back from disk. Functions are not kept: what needs the equations is given the family again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn

from ..errors import PcpinnError
from ..files import read_json
from ..solution.folder import fields_of, read_history, read_mesh_arrays, read_network, settings_of
from ..solution.load import loads
from ..solution.result import Result
from .family import Parameters
from .parameters import distribution_from
from .surrogate import Surrogate


@loads("family")
def load_surrogate(folder: Path, record: dict[str, Any], module: nn.Module | None) -> Surrogate:
    """A network of place and parameters on its mesh."""
    if not (folder / "result.json").exists():
        raise PcpinnError(f"{folder} holds no finished run", f"continue it with: pcpinn resume {folder}")
    network = read_network(folder / "network.safetensors", module)
    mesh = read_mesh_arrays(folder / "mesh.safetensors")
    fields = fields_of(record, folder)
    result = Result(read_json(folder / "result.json"))
    parameters = _parameters(record, folder)
    try:
        anchors = torch.tensor(result["family"]["anchors"], dtype=torch.float64).reshape(-1, parameters.count)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise PcpinnError(
            f"{folder}/result.json does not name its anchors", "the run is damaged; solve again"
        ) from error
    inputs = parameters.count + mesh.dimension
    if sum(f.components for f in fields) != network.outputs or network.inputs != inputs:
        raise PcpinnError(f"the files in {folder} do not fit each other", "do not mix the files of different runs")
    history, settings = read_history(folder), settings_of(record, folder)
    return Surrogate(network, fields, mesh, result, history, settings, None, parameters, anchors)


def _parameters(record: dict[str, Any], folder: Path) -> Parameters:
    try:
        named = {
            str(data["parameter"]): distribution_from({k: v for k, v in data.items() if k != "parameter"})
            for data in record["parameters"]
        }
        return Parameters(named, record.get("outside", "refuse"))
    except (KeyError, TypeError, AttributeError) as error:
        raise PcpinnError(
            f"{folder}/run.json does not name its parameters", "the run is damaged; solve again"
        ) from error
