"""Hard nonlinear problems from easy ones: a sequence in a parameter, each begun from the network of the one before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import PcpinnError
from ..problem.problem import Problem
from ..progress import Progress
from ..solution.reference import Reference
from ..solution.solution import Solution
from .linear import solve
from .start import Start


def continuation(
    make_problem: Callable[[Any], Problem],
    values: Sequence[Any],
    settings: Mapping[str, Any] | None = None,
    *,
    out: str | Path | None = None,
    reference: Reference | None = None,
    progress: Progress | None = None,
    record: Mapping[str, Any] | None = None,
    start: Start | None = None,
    **choices: Any,
) -> Solution:
    """Solve make_problem(value) for one value after the other; the last is the answer.

    The settings are those of `pcpinn.solve`, for each of the solves; errors are estimated for the last only. Its
    `result["continuation"]` lists value, Newton steps, last correction and seconds of all but the last.

    Args:
        make_problem: makes the problem from a value, such as a Reynolds number.
        values: from easy to hard; the last is the problem to solve.
        settings, choices: as of `solve`.
        out: a folder for the record of the last solve.
        reference: for the last.
        progress, record, start: as of `solve`; `start` is for the first.

    Raises:
        PcpinnError: when one of them cannot be solved, with its value.
    """
    if not len(values):
        raise PcpinnError("continuation has no values", "give at least that of the problem to solve")
    given = {**(settings or {}), **choices}
    progress = progress or Progress()
    facts: list[dict[str, Any]] = []
    solution: Solution | None = None
    for k, value in enumerate(values):
        last = k == len(values) - 1
        if len(values) > 1:
            progress.note(f"continuation {k + 1} of {len(values)}: {value}")
        try:
            solution = solve(
                make_problem(value),
                given if last else {**given, "certify": False},
                out=out if last else None,
                reference=reference if last else None,
                progress=progress,
                record={**(record or {}), "continuation": list(facts)} if last else None,
                start=start if solution is None else solution,
            )
        except PcpinnError as error:
            raise PcpinnError(f"at {value}: {error.problem}", error.remedy) from error
        newton = solution.result.get("newton") or {}
        facts.append(
            {
                "value": value if isinstance(value, int | float | str) else str(value),
                "newton_iterations": newton.get("iterations"),
                "correction": (newton.get("corrections") or [None])[-1],
                "seconds": solution.result["time"]["total_s"],
            }
        )
    assert solution is not None
    return solution
