"""What a doctor has to say: findings as data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Severity = Literal["fine", "note", "warning", "problem"]
ORDER: tuple[Severity, ...] = ("problem", "warning", "note", "fine")


@dataclass(frozen=True)
class Finding:
    """One thing about a problem.

    Attributes:
        topic: condition, growth, difficulty, preconditioner, precision, resolution, conditions, scaling, cost; from a look at the
            functions alone: well-posed, convection, layers, waves, resonance, travel, stiffness, corners, curvature, interfaces,
            sources, start, nonlinearity.
        severity: fine, note, warning or problem.
        number: the figure that the sentence is about.
        sentence: what it means.
        command: what to do about it; empty where nothing is to be done.
        accuracy_mode: what `pcpinn.solve(problem, accuracy=...)` does about it; empty where nothing is to be done.
    """

    topic: str
    severity: Severity
    number: float | None
    sentence: str
    command: str = ""
    accuracy_mode: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


def graded(value: float, note: float, warning: float, problem: float = float("inf")) -> Severity:
    """How bad a number is that should be small."""
    if value >= problem:
        return "problem"
    return "warning" if value >= warning else "note" if value >= note else "fine"
