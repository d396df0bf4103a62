"""Inverse runs without networks on disk: as any inverse run, with nodal values instead.

nodal.safetensors         u at its nodes; coefficients at theirs, by name; parameters
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from ..discretize.finite_elements import FiniteElements
from ..discretize.probe import probe
from ..discretize.slabs import TimeSlabs
from ..errors import PcpinnError
from ..files import read_json, read_tensors
from ..solution.folder import fields_of, read_history, read_mesh_arrays, settings_of
from ..solution.load import loads
from ..solution.result import Result
from ..solution.solution import Solution
from .files import read_data
from .nodal import NodalCoefficient, NodalFunction
from .restore import restored_form
from .solution import InverseSolution


def nodal_u(form: FiniteElements | TimeSlabs, u: np.ndarray) -> NodalFunction:
    """u from its values at the nodes of a discretisation."""
    return NodalFunction(u, lambda x: [probe(form, x, k) for k in range(form.components)], form.mesh.dimension)


def nodal_solution(
    plain: Solution,
    form: FiniteElements | TimeSlabs,
    u: np.ndarray,
    coefficients: dict[str, np.ndarray],
    parameters: dict[str, Any],
    data: tuple[Any, ...],
) -> InverseSolution:
    """An answer from nodal values; of `plain` everything but the network counts."""
    space = form.space.scalar[0]
    return InverseSolution.from_solution(
        plain,
        network=nodal_u(form, u),
        coefficients={
            name: NodalCoefficient(values, lambda x: [space.interpolation(x)], space.mesh.dimension)
            for name, values in coefficients.items()
        },
        parameters=parameters,
        data=data,
    )


@loads("nodal")
def load_nodal(folder: Path, record: dict[str, Any], module: nn.Module | None) -> InverseSolution:
    """Inverse of `write_nodal`; `record` is run.json.

    Raises:
        PcpinnError: when files are missing, damaged or do not fit each other.
    """
    if module is not None:
        raise PcpinnError(f"{folder} is a run without a network", "leave network= out")
    tensors, _ = read_tensors(folder / "nodal.safetensors")
    mesh = read_mesh_arrays(folder / "mesh.safetensors")
    plain = Solution(
        NodalFunction(np.zeros(0), lambda x: [], mesh.dimension),
        fields_of(record, folder),
        mesh,
        Result(read_json(folder / "result.json")),
        read_history(folder),
        settings_of(record, folder),
    )
    form = restored_form(plain)
    coefficients, parameters = (
        {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
        for prefix in ("coefficient.", "parameter.")
    )
    size = form.space.scalar[0].size
    fits = "u" in tensors and tensors["u"].shape == (form.size,)
    fits = fits and all(v.shape == (size,) for v in coefficients.values())
    if not fits or not all(np.isfinite(v).all() for v in tensors.values()):
        raise PcpinnError(f"{folder}/nodal.safetensors does not fit the run", "do not mix the files of different runs")
    data = read_data(folder / "data.safetensors")
    numbers = {name: v[()] for name, v in parameters.items()}
    return nodal_solution(plain, form, tensors["u"], coefficients, numbers, data)
