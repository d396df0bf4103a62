"""How a user's functions take their arguments: (x, ...), or (x, t, ...) if their second parameter is called t."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from ..errors import PcpinnError


def takes_time(function: Callable[..., Any]) -> bool:
    """Whether the second parameter is called t."""
    return _parameters(function)[1:2] == ["t"]


def refuse_time_first(function: object, what: str) -> None:
    """Refuse a function over time whose first parameter is called t: it would be given the place.

    Raises:
        PcpinnError: which says how it is to be written.
    """
    if callable(function) and _parameters(function)[:1] == ["t"]:
        raise PcpinnError(
            f"the first parameter of {what} is called t, and it would be given the place x, not the time",
            "the place comes first, then the time: lambda x, t: ... for values, lambda x, t, u: ... for source and flux",
        )


def refuse_other_order(function: Callable[..., Any], fields: Sequence[str], before: int, what: str) -> None:
    """Refuse a function whose parameters are called like fields, but not like those that they are given.

    Args:
        function: (x, ...) with one argument for each field at the end.
        fields: their names.
        before: how many arguments come before them.
        what: the function's name in messages.

    Raises:
        PcpinnError: which says how it is to be written.
    """
    named = _parameters(function)[before:]
    for name, field in zip(named, fields, strict=False):
        if name != field and name in fields:
            raise PcpinnError(
                f"the parameters of {what} are called {', '.join(named)}, and {name!r} would be given the field {field!r}",
                f"the fields come in their order: {', '.join(fields)}",
            )


def _parameters(function: Callable[..., Any]) -> list[str]:
    if isinstance(function, FunctionType) and not hasattr(function, "__wrapped__"):  # asked at every evaluation
        code = function.__code__
        return list(code.co_varnames[: code.co_argcount])
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # a function without a signature, such as torch.sin
        return []


def with_time(function: Callable[..., Any], over_time: bool) -> Callable[..., Any]:
    """The function as one of (x, t, ...), whichever way it was written.

    Args:
        over_time: whether the problem has a time of its own. If not, t is always left out: a field may have that name.
    """
    if over_time and takes_time(function):
        return function
    return lambda x, t, *others: function(x, *others)
