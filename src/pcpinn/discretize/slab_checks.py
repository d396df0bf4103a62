"""What slabs of time need of a problem."""

from __future__ import annotations

from torch import Tensor

from ..errors import PcpinnError
from ..mesh.slab_mesh import ENDS
from ..problem.conditions import Periodic
from ..problem.problem import Problem
from .time_orders import check_start, refuse_mixed, refuse_second


def check_slabs(problem: Problem, scheme: str, x: Tensor) -> None:
    """Require an equation of first order in time with initial values of all fields, or (galerkin) time as a coordinate.

    Args:
        problem: on a domain with time.
        scheme: radau, gauss or galerkin.
        x: (n, d) some points of the domain.

    Raises:
        PcpinnError: for other problems.
    """
    if scheme != "galerkin":
        refuse_coordinate(problem, f"scheme={scheme}")
    for condition in (c for name in ENDS for c in problem.conditions.get(name, {}).values()):
        if isinstance(condition, Periodic):
            raise PcpinnError("slabs of time cannot be periodic in time", "use time=simplex")
    orders = check_start(problem, x, every=scheme != "galerkin")
    refuse_second(orders)
    if scheme == "galerkin":
        refuse_mixed(orders)


def refuse_coordinate(problem: Problem, what: str) -> None:
    """For schemes that step from the start to the end.

    Raises:
        PcpinnError: when time is a coordinate of the problem.
    """
    if not problem.over_time:
        raise PcpinnError(
            f"{what} steps through time, which is a coordinate of this problem",
            "use time=simplex, or slabs with scheme=galerkin; or leave out coordinate=True and give density and Initial(...)",
        )
