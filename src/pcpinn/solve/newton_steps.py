"""The record of Newton's steps, and where the method is: what checkpoints hold of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch

from ..discretize.nonlinear import Linearisation
from ..errors import PcpinnError
from ..train import History, Snapshot


@dataclass
class Step:
    """What happened in one step, for the record.

    Attributes:
        correction: ||P^-1 F(u)|| / ||u|| before it; None for the first, which has no iterate yet.
        damping: length of the step.
        tolerance: of its training.
        iterations: of its training; training_residual: where that ended; stopped_by: why.
        after: ||P^-1 F|| / ||u|| with the same P at the network that came of it.
        preconditioner: built or kept; quality: of P for the matrix of this step.
        accepted: whether the network was kept.
    """

    correction: float | None
    damping: float
    tolerance: float
    preconditioner: str
    quality: float | None
    iterations: int = 0
    training_residual: float | None = None
    stopped_by: str = ""
    after: float | None = None
    accepted: bool = True


@dataclass
class Place:
    """Where the method is: the linearisation, and where P was built."""

    system: Linearisation
    built_at: np.ndarray | None  # None: at the linear part
    built_quality: float = 0.0
    first_iteration: int = 0
    history: History = field(default_factory=History)
    steps: list[Step] = field(default_factory=list)


@dataclass(frozen=True)
class Packed:
    """A place as a checkpoint has it: without matrices, which are rebuilt."""

    at: np.ndarray | None  # None: the linear part
    built_at: np.ndarray | None
    first_iteration: int
    history: History
    steps: list[Step]
    scale: float


def pack(place: Place, before: torch.Tensor, scale: torch.Tensor) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Tensors and plain facts for a checkpoint: the place, the weights before the step, the unit of the network's outputs."""
    tensors = {"before": before, "scale": scale.detach().reshape(-1)[:1]}
    tensors["history"] = torch.from_numpy(place.history.to_array())
    tensors["errors"] = torch.from_numpy(place.history.errors_to_array())
    if not place.system.from_zero:
        tensors["at"] = torch.from_numpy(place.system.at)
    if place.built_at is not None:
        tensors["built_at"] = torch.from_numpy(place.built_at)
    return tensors, {"first_iteration": place.first_iteration, "steps": [asdict(s) for s in place.steps]}


def unpack(snapshot: Snapshot, unknowns: int, weights: int) -> Packed:
    """Inverse of `pack`.

    Raises:
        PcpinnError: for a checkpoint that is damaged or of another run.
    """
    tensors, facts = snapshot.context, snapshot.facts
    try:
        at, built_at = (tensors[k].double().numpy() if k in tensors else None for k in ("at", "built_at"))
        steps = [Step(**s) for s in facts["steps"]]
        places = [p for p in (at, built_at) if p is not None]
        if any(p.shape != (unknowns,) or not np.isfinite(p).all() for p in places) or not steps:
            raise ValueError("its degrees of freedom are not those of the run")
        if tensors["before"].shape != (weights,) or not 0 < steps[-1].damping <= 1 or steps[-1].tolerance < 0:
            raise ValueError("its last step is invalid")
        errors = tensors.get("errors")
        history = History.from_array(tensors["history"].numpy(), None if errors is None else errors.numpy())
        scale = float(tensors["scale"])
        return Packed(at, built_at, int(facts["first_iteration"]), history, steps, scale)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise PcpinnError(f"the checkpoint is damaged: {error}", "start the solve again") from error
