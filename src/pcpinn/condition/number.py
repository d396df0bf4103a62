"""The condition number of a problem: `pcpinn.condition_number`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import PcpinnError
from ..mesh.slab_mesh import AnyMesh
from ..precondition import PRECONDITIONERS, Preconditioner
from ..problem.problem import Problem
from ..solve.linear import settings_of
from ..solve.settings import Settings
from .discrete import discrete_condition
from .neural import neural_condition
from .record import ConditionNumber
from .whole_time import by_differences, by_elements

METHODS = ("fem", "fdm", "neural")


def condition_number(
    problem: Problem,
    method: str = "fem",
    preconditioner: str | Preconditioner | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
    *,
    on: AnyMesh | None = None,
    **choices: Any,
) -> ConditionNumber:
    """How hard a problem is: cond = ||f|| / ||u|| * ||F^-1|| (Liu et al., definition 3.1), in the norm of L2(Omega).

    F takes functions that satisfy the conditions in homogeneous form to right-hand sides, f is the right-hand side of the
    equations alone; a nonlinear F is linearised at the solution.

    Args:
        problem: the PDE.
        method: fem (finite elements, or slabs of time), fdm (finite differences on a box) or neural (a network that
            maximises ||u|| / ||F u||).
        preconditioner: also measure the system preconditioned by it: a name as of the setting, or a `Preconditioner`.
        settings, choices: as of `pcpinn.solve`; those of the discretisation count.
        on: an existing mesh.

    Raises:
        PcpinnError: for an unknown method, a problem without a unique solution, or one too large to be factorised.
    """
    if method not in METHODS:
        raise PcpinnError(f"there is no method {method!r}", f"use one of {', '.join(METHODS)}")
    chosen = settings_of("pcpinn", problem, settings, choices)
    if isinstance(preconditioner, str) and preconditioner != "auto":
        PRECONDITIONERS.find(preconditioner)
    if method == "neural":
        if preconditioner is not None:
            raise PcpinnError("the neural method has no matrix to precondition", "use method fem or fdm")
        return neural_condition(problem, chosen, on)
    chosen = by_differences(chosen) if method == "fdm" else by_elements(chosen)
    return discrete_condition(problem, chosen, preconditioner, on)
