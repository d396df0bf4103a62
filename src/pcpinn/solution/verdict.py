"""Whether an answer is as accurate as was asked, and if not, why not and what to do."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

SAFETY = 1.5  # an answer is accepted when this many times its estimated error is within what was asked
USUAL_ACCURACY = 1e-2
_LOST, _FOUND = 0.5, 0.05  # errors of fields that are as wrong as zero would be, and of others beside them that are not

_ADVICE = {
    "mesh": "allow more cells: raise memory or time_limit, or use a machine with a GPU",
    "time step": "allow more time (time_limit=...), or shorten the span of time",
    "network": "give a larger network (width=64, depth=4), or more time (time_limit=...)",
    "iterations": "allow more iterations (iterations=200)",
    "time": "allow more time (time_limit=...)",
    "memory": "allow more memory (memory=...)",
    "ill-posedness": "check signs, conditions, frequencies (resonance): tiny changes of the data change the answer without bound",
    "estimate": "ask for an estimate (certify=true), or compare with a finer mesh",
    "newton": "approach the problem by pcpinn.continuation, or give a first guess (start=...)",
}


@dataclass(frozen=True)
class Verdict:
    """What can be said of the accuracy of an answer.

    Attributes:
        asked: the relative L2 error that was asked for; None where a preset or a method fixed everything.
        reached: whether 1.5 times the estimate is within it; None where nothing was asked.
        estimate: the estimated relative L2 error, the largest over the fields; None where there is none.
        limited_by: mesh, time step, network, iterations, time, memory, ill-posedness, estimate or newton; None if reached.
        advice: what to do about it.
        fields: the estimate of each field that counts.
        quantity: what the accuracy is of, if a quantity was asked for; then the fields are not judged.
        of_fields: then the estimated error of the fields themselves, which may be much larger; None where there is none.
    """

    asked: float | None = None
    reached: bool | None = None
    estimate: float | None = None
    limited_by: str | None = None
    advice: str | None = None
    fields: Mapping[str, float] = field(default_factory=dict)
    quantity: str | None = None
    of_fields: float | None = None

    @property
    def message(self) -> str:
        """In a sentence."""
        if self.asked is None:
            return "no accuracy was asked for"
        known = "no error estimate" if self.estimate is None else f"estimated error {self.estimate:.1e}"
        what = f"accuracy {self.asked:g}" + ("" if self.quantity is None else f" of the {self.quantity}")
        if self.reached:
            return f"{what} reached: {known}" + ("" if self.quantity is None else f"; {self._fields_in_words}")
        return f"NOT REACHED: {what} was asked, {known}; limited by {self.limited_by}: {self.advice}"

    @property
    def _fields_in_words(self) -> str:
        error = "an unknown error" if self.of_fields is None else f"an estimated error of {self.of_fields:.1e}"
        return f"the fields themselves are not judged and have {error}"

    def for_quantity(self, label: str, of_fields: float | None) -> Verdict:
        """This verdict as one on a quantity alone, beside which the error of the fields is said."""
        own = replace(self, quantity=label, of_fields=of_fields)
        if self.reached is False and (self.estimate or 0.0) >= _LOST:
            zero = f"the {label} cannot be told from zero, and zero has no relative error; what is known of it is in the result"
            own = replace(own, advice=f"{zero}; else {own.advice}")
        words = f"{own._fields_in_words}: for these solve without quantity="
        return replace(own, advice=words if own.advice is None else f"{own.advice}; {words}")

    def blaming(self, limited_by: str, advice: str) -> Verdict:
        """This verdict with what it is limited by, and what to do; where fields cannot be told from zero, that comes first."""
        return replace(self, limited_by=limited_by, advice=f"{_lost_fields(self.fields)}{advice}")

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


def judge(asked: float | None, fields: Mapping[str, float], limited_by: str, advice: str | None = None) -> Verdict:
    """The verdict on estimated errors by field.

    Args:
        asked: relative L2 error; None if nothing was asked.
        fields: estimated errors; empty where there is no estimate.
        limited_by: what to blame if it is not reached.
        advice: what to do, if not the usual.
    """
    finite = all(map(math.isfinite, fields.values()))  # else there is no estimate, and none that could be written
    fields = fields if finite else {}
    estimate = max(fields.values()) if fields else None
    if asked is None:
        return Verdict(estimate=estimate, fields=dict(fields))
    if estimate is None:
        limited_by = "estimate"
    elif asked >= SAFETY * estimate:
        return Verdict(asked, True, estimate, fields=dict(fields))
    return Verdict(asked, False, estimate, fields=dict(fields)).blaming(limited_by, advice or _ADVICE[limited_by])


def _lost_fields(fields: Mapping[str, float]) -> str:
    """What to do where some fields are as wrong as zero would be, beside others that are not: most likely they are zero."""
    lost = [name for name, error in fields.items() if error >= _LOST]
    if not lost or min(fields.values()) > _FOUND:
        return ""
    names, declared = " and ".join(map(repr, lost)), ", ".join(f'Field("{name}", ..., auxiliary=True)' for name in lost)
    return (
        f"{names} cannot be told from zero, and zero has no relative error: if the equations make it zero, or it is of no "
        f"interest, declare it so that it does not count, {declared}; else "
    )
