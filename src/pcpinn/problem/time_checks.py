"""What may be said about time in a problem, before any of its functions is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import PcpinnError
from .conditions import Condition, Free, Initial
from .field import Field

_AS_COORDINATE = "or make time a coordinate of the problem, with shape.over(start, end, coordinate=True)"


def check_time(
    over_time: bool,
    has_time: bool,
    has_density: bool,
    fields: Sequence[Field],
    conditions: Mapping[str, Mapping[str, Condition]],
) -> None:
    """Refuse a density without time, fields called t, and conditions that do not belong to the ends of time.

    Args:
        over_time: whether the problem has a time of its own.
        has_time: whether its domain has, so perhaps as a coordinate.
        has_density: whether a density is given.
        fields: of the problem.
        conditions: boundary name -> field name -> condition.

    Raises:
        PcpinnError: with what to write instead.
    """
    if has_density and not over_time:
        raise PcpinnError(
            "density is given, but time is a coordinate of this problem"
            if has_time
            else "density is given, but the domain has no time",
            "put -density into the last component of flux, or leave out coordinate=True"
            if has_time
            else "use a domain over time, such as shape.over(0, 1), or leave density out",
        )
    for name, by_field in conditions.items():
        for field, condition in by_field.items():
            if isinstance(condition, Initial) and not (over_time and name == "initial"):
                _refuse_initial(name, field, has_time and not over_time)
            if over_time and name == "initial" and not isinstance(condition, Initial | Free):
                raise PcpinnError(
                    f"{type(condition).__name__} on 'initial' for {field!r}: the start of time has conditions of its own",
                    f"write Initial(...), with rate=... for an equation of second order in time; {_AS_COORDINATE}",
                )
            if over_time and name == "final":
                raise PcpinnError(
                    f"{type(condition).__name__} on 'final' for {field!r}: nothing is asked of the end of time",
                    f"leave it out; {_AS_COORDINATE}",
                )
    if over_time and any(f.name == "t" for f in fields):
        raise PcpinnError(
            "a field is called 't', which is the time in functions of (x, t, ...)", "give it another name"
        )


def _refuse_initial(boundary: str, field: str, as_coordinate: bool) -> None:
    if as_coordinate:
        raise PcpinnError(
            f"Initial on {boundary!r} for {field!r}, but time is a coordinate of this problem",
            "write Dirichlet(...) there, or leave out coordinate=True",
        )
    raise PcpinnError(
        f"Initial on {boundary!r} for {field!r}, which is not the start of time",
        "write Dirichlet(...) there; Initial(...) is for 'initial' of a domain over time, such as shape.over(0, 1)",
    )
