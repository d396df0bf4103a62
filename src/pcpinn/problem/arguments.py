"""How a user's functions take their arguments: (x, ...), or (x, t, ...) if their second parameter is called t."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any


def takes_time(function: Callable[..., Any]) -> bool:
    """Whether the second parameter is called t."""
    if isinstance(function, FunctionType) and not hasattr(function, "__wrapped__"):  # asked at every evaluation
        code = function.__code__
        return code.co_argcount > 1 and code.co_varnames[1] == "t"
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # a function without a signature, such as torch.sin
        return False
    return names[1:2] == ["t"]


def with_time(function: Callable[..., Any], over_time: bool) -> Callable[..., Any]:
    """The function as one of (x, t, ...), whichever way it was written.

    Args:
        over_time: whether the problem has a time of its own. If not, t is always left out: a field may have that name.
    """
    if over_time and takes_time(function):
        return function
    return lambda x, t, *others: function(x, *others)
