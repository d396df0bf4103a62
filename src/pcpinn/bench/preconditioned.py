"""How good a preconditioner is, in the paper's own terms: its condition number and the error of P^-1 b."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from ..catalog.task import Task
from ..discretize.system import linear_system
from ..errors import PcpinnError
from ..precondition import ILU, LU, AutoILU, Preconditioner
from ..precondition.diagonal import Identity, Jacobi, RowBalancing
from ..precondition.factorised import Factors
from ..solve.build import make_discretisation, make_preconditioner
from ..solve.run_folder import read_mesh_arrays

_AFFORDABLE = {
    1: 10**6,
    2: 200_000,
    3: 30_000,
}  # unknowns; beyond these a complete factorisation takes minutes and GiBs


def measure(task: Task, run_folder: Path) -> dict[str, Any]:
    """Rebuild A and P of a run, on its own mesh, and measure.

    Returns:
        condition and applied_error as of `measures`, None where they are too expensive; and a note that says so.
    """
    mesh = read_mesh_arrays(run_folder / "mesh.safetensors")
    system = linear_system(make_discretisation(task.problem, mesh, task.settings))
    if system.size > _AFFORDABLE[mesh.dimension]:
        return {"condition": None, "applied_error": None, "note": f"{system.size} unknowns are too many to factorise"}
    recipe = make_preconditioner(task.settings, system.discretisation)
    if isinstance(recipe, AutoILU):
        chosen = recipe.choose(system.A, system.discretisation.unknown_nodes, system.weights, system.component_of)
        preconditioner, state = chosen.preconditioner, chosen.state
    else:
        preconditioner, state = recipe, recipe.build(system.A)
    return measures(system.A, system.b, preconditioner, state)


def measures(A: sp.csr_matrix, b: np.ndarray, preconditioner: Preconditioner, state: Any) -> dict[str, Any]:
    """The paper's numbers of a preconditioner, in the Euclidean norm.

    condition: ||P^-1 b|| / ||u|| * ||A^-1 P||, by which an error of the preconditioned residual is magnified, relative to
        relative; 1 for P = A.
    applied_error: ||P^-1 b - u|| / ||u||, with A u = b.
    """
    try:
        lu = spla.splu(A.tocsc())
    except RuntimeError as error:
        raise PcpinnError("the matrix is singular", "check the boundary conditions") from error
    u = lu.solve(b)
    applied = preconditioner.apply(state, b)
    size = float(np.linalg.norm(u)) or 1.0
    result: dict[str, Any] = {"condition": None, "applied_error": float(np.linalg.norm(applied - u)) / size, "note": ""}
    P = explicit(preconditioner, state)
    if P is None:
        return {**result, "note": f"{preconditioner.name} cannot be written as a matrix"}
    product = spla.LinearOperator(
        A.shape,
        matvec=lambda v: lu.solve(P.matvec(np.ravel(v))),
        rmatvec=lambda v: P.rmatvec(lu.solve(np.ravel(v), "T")),
        dtype=np.float64,
    )
    result["condition"] = float(np.linalg.norm(applied)) / size * largest_singular_value(product)
    return result


def explicit(preconditioner: Preconditioner, state: Any) -> spla.LinearOperator | None:
    """P itself, as something that multiplies, where its kind allows it."""
    if isinstance(preconditioner, Jacobi | RowBalancing | Identity):
        return spla.aslinearoperator(sp.diags(state))
    if isinstance(preconditioner, ILU | LU) and isinstance(state, Factors):
        lu = state.lu
        L, U, n = lu.L, lu.U, lu.shape[0]
        # SuperLU: row perm_r[i] of L U Pc is row i of P, and (Pc v)[perm_c] = v
        back, forth = np.argsort(lu.perm_r), np.argsort(lu.perm_c)
        return spla.LinearOperator(
            (n, n),
            matvec=lambda v: (L @ (U @ np.ravel(v)[forth]))[lu.perm_r],
            rmatvec=lambda v: (U.T @ (L.T @ np.ravel(v)[back]))[lu.perm_c],
            dtype=np.float64,
        )
    return None


def largest_singular_value(operator: spla.LinearOperator, tolerance: float = 1e-4) -> float:
    """The norm of an operator by Lanczos; of small ones by a dense decomposition."""
    n = operator.shape[0]
    if n <= 20:
        return float(np.linalg.norm(operator @ np.eye(n), 2))
    start = np.random.default_rng(0).normal(size=n)
    return float(spla.svds(operator, k=1, tol=tolerance, v0=start, return_singular_vectors=False)[0])
