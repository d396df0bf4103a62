"""Steps for a mesh that is fine from the beginning, chosen on a coarse one: they depend little on cells, and cost little."""

from __future__ import annotations

from ...errors import PcpinnError
from ...mesh.mesh import Mesh
from .marches import Marches, Steps
from .steps import FAR, HELPED, shortened

_TIME = 0.05  # of the time limit, at most
_ROUNDS = 12
_SAFE = 0.7  # of the target: finer meshes see a little more


def first_steps(marches: Marches, mesh: Mesh, steps: Steps, target: float) -> Steps:
    """Steps with which the error by time is within the target on a coarse mesh; as far as that comes within a little time.

    Where a step cannot be solved, or shorter ones do not help, those are returned that were before.
    """
    clock, limits, progress = marches.limits.clock, marches.limits, marches.progress
    end, before, found = clock.seconds + _TIME * limits.seconds, float("inf"), steps
    for _ in range(_ROUNDS):
        progress.stage(f"steps: {len(steps.times) - 1} on {mesh.cell_count} cells", 3 * (len(steps.times) - 1))
        began = clock.seconds
        try:
            level = marches.level(mesh, steps, quiet=True)
        except PcpinnError:
            break
        in_time = level.parts[1]
        if not in_time <= HELPED * before:
            break
        found, before = steps, in_time
        if in_time <= _SAFE * target:
            break
        steps = shortened(steps, level.by_step, in_time / (_SAFE * target), in_time > FAR)
        more = len(steps.times) / len(found.times)
        if clock.seconds + more * (clock.seconds - began) > end:
            break
    progress.note(f"steps: {len(found.times) - 1}, error by time {before:.1e} on {mesh.cell_count} cells")
    limits.mark()
    return found
