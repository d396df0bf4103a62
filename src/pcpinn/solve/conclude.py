"""The end of a run with one training: its record, its answer, its folder."""

from __future__ import annotations

from typing import Any

from ..mesh.slab_mesh import AnyMesh
from ..network.protocol import Network
from ..problem.problem import Problem
from ..solution.folder import finish_run
from ..solution.reference import Reference
from ..solution.solution import Solution
from ..train import Loss, Optimiser, Training
from .certify import ErrorEstimate
from .conduct import Run
from .watching import known_errors


def conclude(
    own: Run,
    problem: Problem,
    mesh: AnyMesh,
    network: Network,
    loss: Loss,
    training: Training,
    errors: dict[str, Any],
    certificate: ErrorEstimate | None,
    reference: Reference | None,
    *,
    optimiser: Optimiser,
    why: str,
    **facts: Any,
) -> Solution:
    """The solution, written where the run has a folder.

    Args:
        own: the run, with its settings.
        network: trained, which its loss may have changed for another.
        errors, certificate, reference: what is known of its errors.
        optimiser, why: it, and the reason for which it was taken.
        facts: more for the record.
    """
    result = own.result(
        parameters=network.parameter_count,
        iterations=training.iterations,
        stopped_by=training.reason,
        loss=training.loss,
        seconds=training.seconds,
        optimiser=optimiser.label,
        optimiser_reason=why,
        mesh=mesh,
        preconditioner=loss.describe(),
        errors=errors,
        certificate=certificate.to_dict() if certificate else None,
        reference=None if reference is None else reference.describe(),
        error_history=known_errors(training.history, errors["l2re"]),
        **facts,
    )
    solution = Solution(network, problem.unknowns, mesh, result, training.history, own.settings.to_dict(), problem)
    if own.out is not None:
        finish_run(own.out, solution.network, solution.history, solution.result)
    return solution
