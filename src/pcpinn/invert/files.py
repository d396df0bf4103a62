"""Inverse runs on disk: as any run, with the data, the coefficients' networks and the posterior beside them (`write.py`).

data.safetensors          what was observed
coefficients.safetensors  networks of the unknown functions
posterior.safetensors     factors of covariances at the nodes
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ..errors import PcpinnError
from ..files import read_tensors
from ..network import Architecture, DenseNetwork
from ..solution.load import load_forward, loads
from ..solution.solution import Solution
from .model import Bounded, CoefficientNetwork
from .observations import Observations
from .restore import restored_uncertainty
from .solution import InverseSolution


def read_data(path: Path) -> tuple[Observations, ...]:
    """Inverse of `write_data`; sets of a user's observable come without it."""
    tensors, metadata = read_tensors(path)
    try:
        return tuple(
            Observations(
                tensors[f"{i}.points"],
                tensors[f"{i}.values"],
                tensors.get(f"{i}.noise"),
                facts["field"],
                int(facts["component"]),
                name=str(facts["name"]),
            )
            for i, facts in enumerate(metadata["sets"])
        )
    except (KeyError, TypeError, ValueError) as error:
        raise PcpinnError(f"{path} does not hold data: {error}", "the file is damaged; start again") from error


@loads("inverse")
def load_inverse(folder: Path, record: dict[str, Any], module: nn.Module | None) -> InverseSolution:
    """u as any forward run, with its coefficients and their posterior."""
    plain = load_forward(folder, record, module)
    tensors, metadata = read_tensors(folder / "coefficients.safetensors")
    coefficients: dict[str, CoefficientNetwork] = {}
    try:
        for name, facts in metadata["coefficients"].items():
            state = {
                k.removeprefix(f"{name}."): torch.from_numpy(v.copy())
                for k, v in tensors.items()
                if k.startswith(f"{name}.")
            }
            architecture = Architecture.from_dict(facts["architecture"])
            d = len(state["centre"])
            if not all(bool(torch.isfinite(v).all()) for v in state.values()) or not bool(
                (state["half_width"] > 0).all()
            ):
                raise ValueError(f"{name} is not finite")
            if architecture.parameter_count(d, 1) != len(state["theta"]) or d > plain.mesh.dimension:
                raise ValueError(f"the weights of {name} do not fit")
            base = DenseNetwork(architecture, [0.0] * d, [1.0] * d, 1, torch.Generator())
            base.load_state_dict(state)
            low = -math.inf if facts["low"] is None else float(facts["low"])
            coefficients[name] = CoefficientNetwork(
                base, Bounded(low, math.inf, float(facts["initial"]), float(facts["unit"]))
            )
    except (LookupError, TypeError, ValueError, RuntimeError, AttributeError) as error:
        raise PcpinnError(
            f"{folder} does not hold coefficients: {error}", "the file is damaged; run it again"
        ) from error
    parameters = {k.removeprefix("parameter."): v[()] for k, v in tensors.items() if k.startswith("parameter.")}
    return InverseSolution.from_solution(
        plain,
        coefficients=coefficients,
        parameters=parameters,
        uncertainty=_posterior(folder, plain),
        data=read_data(folder / "data.safetensors"),
    )


def _posterior(folder: Path, plain: Solution) -> Any:
    path = folder / "posterior.safetensors"
    if not path.exists():
        return None
    return restored_uncertainty(path, plain)
