"""What slabs of time need at the ends of time."""

from __future__ import annotations

from ..errors import PcpinnError
from ..mesh.slab_mesh import ENDS
from ..problem.conditions import Cauchy, Dirichlet, Neumann, Open, Periodic
from ..problem.problem import Problem


def check_ends(problem: Problem, scheme: str) -> None:
    """Require initial values for all fields and nothing at the end, or (galerkin) conditions at both ends.

    Raises:
        PcpinnError: for other conditions.
    """
    start, end = (problem.conditions.get(name, {}) for name in ENDS)
    for condition in (*start.values(), *end.values()):
        if isinstance(condition, Periodic | Cauchy | Open):
            raise PcpinnError(
                f"slabs of time do not know the condition {type(condition).__name__}",
                "use time_scheme=simplex; or write a wave as two fields, u_t = v and v_t = ..., with initial values",
            )
    if scheme == "galerkin":
        return
    for f in problem.unknowns:
        if not isinstance(start.get(f.name), Dirichlet):
            raise PcpinnError(
                f"time_scheme={scheme} needs initial values of {f.name!r}",
                f"give 'initial' a Dirichlet condition for {f.name!r}",
            )
        last = end.get(f.name)
        if not (last is None or (isinstance(last, Neumann) and last.value == 0.0)):
            raise PcpinnError(
                f"{type(last).__name__} on 'final' for {f.name!r}: time_scheme={scheme} steps forward in time",
                "leave it out, or use time_scheme=galerkin for conditions at both ends",
            )
