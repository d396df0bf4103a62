"""How good a preconditioner is, in the paper's own terms: its condition number and the error of P^-1 b."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..catalog.task import Task
from ..discretize.system import linear_system
from ..precondition import AutoILU
from ..precondition.inverse_norm import measures
from ..solution.folder import read_mesh_arrays
from ..solve.build import make_discretisation, make_preconditioner

_AFFORDABLE = {
    1: 10**6,
    2: 200_000,
    3: 30_000,
}  # degrees of freedom; beyond these a complete factorisation takes minutes and GiBs


def measure(task: Task, run_folder: Path) -> dict[str, Any]:
    """Rebuild A and P of a run, on its own mesh, and measure.

    Returns:
        condition and applied_error as of `measures`, None where they are too expensive; and a note that says so.
    """
    mesh = read_mesh_arrays(run_folder / "mesh.safetensors")
    system = linear_system(make_discretisation(task.problem, mesh, task.settings))
    if system.size > _AFFORDABLE[mesh.dimension]:
        return {
            "condition": None,
            "applied_error": None,
            "note": f"{system.size} degrees of freedom are too many to factorise",
        }
    recipe = make_preconditioner(task.settings, system.discretisation)
    if isinstance(recipe, AutoILU):
        chosen = recipe.choose(system.A, system.discretisation.unknown_nodes, system.weights, system.nodes.component_of)
        preconditioner, state = chosen.preconditioner, chosen.state
    else:
        preconditioner, state = recipe, recipe.build(system.A)
    found = measures(system.A, system.b, preconditioner, state)
    return {key: found[key] for key in ("condition", "applied_error", "note")}
