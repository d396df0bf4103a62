"""The posterior of a loaded inverse run: its discretisation is rebuilt from mesh and settings, without the equations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..discretize.finite_elements import FiniteElements
from ..discretize.probe import probe
from ..discretize.slabs import TimeSlabs
from ..discretize.space import ScalarSpace
from ..errors import PcpinnError
from ..files import read_tensors
from ..mesh.slab_mesh import ENDS, SlabMesh
from ..problem.conditions import Initial, Neumann
from ..problem.problem import Problem
from ..solution.solution import Solution
from ..solve.settings import Settings
from .truth import Uncertainty


def restored_uncertainty(path: Path, plain: Solution) -> Uncertainty:
    """Inverse of what `write_posterior` wrote.

    Raises:
        PcpinnError: when the file does not fit the run.
    """
    tensors, metadata = read_tensors(path)
    form = restored_form(plain)
    space: ScalarSpace = form.space.scalar[0]

    def part(prefix: str) -> dict[str, np.ndarray]:
        return {k.removeprefix(prefix): v.astype(np.float64) for k, v in tensors.items() if k.startswith(prefix)}

    coefficients = part("coefficient.")
    fits = (
        "u" in tensors and len(tensors["u"]) == form.size and all(len(v) == space.size for v in coefficients.values())
    )
    if not fits or not isinstance(metadata.get("effective"), int | float):
        raise PcpinnError(f"{path} does not fit the run", "do not mix the files of different runs")
    return Uncertainty(
        tensors["u"].astype(np.float64),
        coefficients,
        part("parameter."),
        float(metadata["effective"]),
        lambda x, k: probe(form, x, k),
        space.interpolation,
        space.nodes.shape[1],
    )


def restored_form(plain: Solution) -> FiniteElements | TimeSlabs:
    """The discretisation of a run, from its mesh, fields and settings; for nodes and interpolation alone."""
    settings, mesh = Settings.from_dict(plain.settings), plain.mesh
    recipe = settings.mesh
    names = {name: Neumann(0.0) for name in mesh.boundary_names if not (mesh.has_time and name in ENDS)}
    source = _nothing(len(plain.fields))
    if not isinstance(mesh, SlabMesh):
        stand_in = Problem(mesh, source=source, fields=plain.fields, boundary=_per_field(names, plain))
        return FiniteElements(stand_in, mesh, recipe.degree, recipe.quadrature, element=recipe.element)
    conditions = {**names, "initial": {f.name: Initial(_zeros(f.components)) for f in plain.fields}}
    stand_in = Problem(mesh, source=source, fields=plain.fields, boundary=_per_field(conditions, plain))
    scheme, order = settings.time.scheme, settings.time.order
    return TimeSlabs(stand_in, mesh, scheme, order, recipe.degree, recipe.quadrature, element=recipe.element)


def _zeros(components: int) -> float | list[float]:
    return 0.0 if components == 1 else [0.0] * components


def _nothing(count: int) -> Callable[..., Any]:
    return (lambda x, *fields: (None,) * count) if count > 1 else (lambda x, *fields: 0.0)


def _per_field(conditions: dict[str, Any], plain: Solution) -> dict[str, Any]:
    return {
        name: condition if isinstance(condition, dict) else {f.name: condition for f in plain.fields}
        for name, condition in conditions.items()
    }
