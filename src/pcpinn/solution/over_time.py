"""What is asked of a solution that depends on time, to show it moment by moment."""

from __future__ import annotations

import numpy as np

from ..errors import PcpinnError
from ..problem.field import Field, component_names
from .function import Function

FRAMES, FPS = 60, 15.0  # of moving pictures, unless asked otherwise
MOST_MOMENTS = 1000


def require_time(solution: Function) -> None:
    """Refuse a stationary solution."""
    if not solution.mesh.has_time:
        raise PcpinnError(
            "the solution does not depend on time",
            "draw it with: pcpinn plot DIR; export it with: pcpinn export DIR --to vtu",
        )


def even_moments(solution: Function, count: int) -> np.ndarray:
    """`count` moments from the start to the end, both included."""
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or not 2 <= count <= MOST_MOMENTS:
        raise PcpinnError(f"the number of frames is {count!r}", f"give a whole number from 2 to {MOST_MOMENTS}")
    lower, upper = solution.mesh.bounds
    return np.linspace(lower[-1], upper[-1], int(count))


def values_at(solution: Function, places: np.ndarray, time: float) -> np.ndarray:
    """(n, components) values at places (n, d) at one moment."""
    x = np.column_stack([places, np.full(len(places), time)])
    return np.reshape(np.asarray(solution(x), dtype=np.float64), (len(x), -1))


def chosen_components(fields: tuple[Field, ...], name: str | None) -> dict[int, str]:
    """Numbers and names of the components: of all fields, of one, or a single one such as v1."""
    names = component_names(fields)
    if name is None:
        return dict(enumerate(names))
    owners = [f.name for f in fields for _ in range(f.components)]
    found = {k: names[k] for k in range(len(names)) if owners[k] == name}
    found = found or {k: names[k] for k in range(len(names)) if names[k] == name}
    if not found:
        known = dict.fromkeys([*(f.name for f in fields), *names])
        raise PcpinnError(f"there is no field {name!r}", f"choose one of {', '.join(known)}")
    return found
