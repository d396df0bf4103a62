"""What several processes can solve together; the rest is refused before the work begins."""

from __future__ import annotations

import os

import torch

from ..errors import PcpinnError
from ..precondition import Schwarz
from ..team import present_team
from ..train import Adam, GaussNewton
from .march.recipe import March
from .settings import Settings

_OPTIMISERS = (GaussNewton, Adam)


def refuse_unshared(settings: Settings, adaptable: bool) -> None:
    """Refuse settings that need all degrees of freedom in one process, where there are several processes.

    Args:
        settings: of the solve.
        adaptable: whether mesh and steps are left to the solver.

    Raises:
        PcpinnError: with what to set instead.
    """
    size = present_team().size
    P, time, optimiser = settings.preconditioner, settings.time, settings.optimiser
    if isinstance(time, March) and isinstance(P, Schwarz):
        _refuse_march(time)
    if size == 1:
        return
    if adaptable:
        raise PcpinnError(
            f"to an accuracy the mesh is adapted in one process, and {size} were started",
            "give the mesh (--set size=0.01, and for a march --set time=march --set steps=100), or leave torchrun out",
        )
    if not isinstance(P, Schwarz):
        raise PcpinnError(
            f"preconditioner={P.name} cannot be shared by {size} processes",
            "add --set preconditioner=schwarz, or leave torchrun out",
        )
    local = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    if settings.run.device != "cpu" and 0 < torch.cuda.device_count() < local:
        raise PcpinnError(
            f"{local} processes on a machine with {torch.cuda.device_count()} GPUs",
            "start one process per GPU (--nproc-per-node), or use --device cpu",
        )
    if not isinstance(optimiser, _OPTIMISERS):
        raise PcpinnError(
            f"optimiser={optimiser.name} cannot be shared by {size} processes",
            f"use optimiser={' or '.join(o.name for o in _OPTIMISERS)}, or leave torchrun out",
        )


def _refuse_march(time: March) -> None:
    if time.linearisation == "none" or (time.causality and time.window > 1):
        key = "linearisation=none" if time.linearisation == "none" else f"causality={time.causality:g}"
        raise PcpinnError(
            f"{key} needs the time levels of a window in one piece, and preconditioner=schwarz cuts them",
            "use preconditioner=stages, in one process, or leave it out",
        )
