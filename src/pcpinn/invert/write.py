"""What an inverse run adds to a folder: data, unknown functions and numbers, posterior; `files.py` reads it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..files import write_tensors
from .model import CoefficientNetwork
from .observations import Observations
from .truth import Uncertainty


def write_data(path: Path, data: tuple[Observations, ...]) -> None:
    """Points, values and noise of each set; observables are functions and not kept."""
    tensors: dict[str, np.ndarray] = {}
    for i, d in enumerate(data):
        tensors |= {f"{i}.points": d.points, f"{i}.values": d.values}
        if isinstance(d.noise, np.ndarray):
            tensors[f"{i}.noise"] = d.noise
    facts = [{"field": d.field, "component": d.component, "name": d.name, "plain": d.observable is None} for d in data]
    write_tensors(path, tensors, {"sets": facts})


def write_unknowns(folder: Path, coefficients: Mapping[str, CoefficientNetwork], parameters: Mapping[str, Any]) -> None:
    """Networks of the unknown functions, and the unknown numbers."""
    tensors: dict[str, np.ndarray] = {}
    facts: dict[str, Any] = {}
    for name, network in coefficients.items():
        tensors |= {f"{name}.{k}": v.detach().cpu().numpy() for k, v in network.base.state_dict().items()}
        b = network.bounded
        facts[name] = {
            "architecture": network.base.architecture.to_dict(),
            "low": b.low if math.isfinite(b.low) else None,
            "initial": b.initial,
            "unit": b.unit,
        }
    for name, value in parameters.items():
        tensors[f"parameter.{name}"] = np.asarray(value)
    write_tensors(folder / "coefficients.safetensors", tensors, {"coefficients": facts})


def write_posterior(folder: Path, known: Uncertainty) -> None:
    """Factors of the covariances."""
    parts = {"u": known.u.astype(np.float32)}
    parts |= {f"coefficient.{n}": v.astype(np.float32) for n, v in known.coefficients.items()}
    parts |= {f"parameter.{n}": v for n, v in known.parameters.items()}
    write_tensors(folder / "posterior.safetensors", parts, {"effective": known.effective})


def write_nodal(folder: Path, u: Any, coefficients: Mapping[str, Any], parameters: Mapping[str, Any]) -> None:
    """Nodal values of u and of the coefficients, and the unknown numbers."""
    tensors = {"u": u.theta.detach().numpy()}
    tensors |= {f"coefficient.{n}": c.base.theta.detach().numpy() for n, c in coefficients.items()}
    tensors |= {f"parameter.{n}": np.asarray(v) for n, v in parameters.items()}
    write_tensors(folder / "nodal.safetensors", tensors, {})
