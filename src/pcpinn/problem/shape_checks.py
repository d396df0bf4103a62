"""Turn what the user typed for a shape into plain floats and names, or refuse it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..errors import PcpinnError


def number(value: Any, what: str) -> float:
    """A finite float."""
    try:
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        raise PcpinnError(f"{what} is {value!r}, which is not a number", f"give {what} as a finite number") from None
    if not np.isfinite(result):
        raise PcpinnError(f"{what} is {result}, which is not finite", f"give {what} as a finite number")
    return result


def positive(value: Any, what: str) -> float:
    """A finite float above zero."""
    result = number(value, what)
    if result <= 0:
        raise PcpinnError(f"{what} is {result:g}, but it must be positive", f"give a {what} above 0")
    return result


def point(value: Any, dimension: int, what: str) -> tuple[float, ...]:
    """`dimension` finite floats."""
    entries = list(value) if isinstance(value, Iterable) and not isinstance(value, str | bytes) else None
    if entries is None or len(entries) != dimension:
        raise PcpinnError(
            f"{what} is {value!r}, but it must be {dimension} numbers", f"write {what} as {_form(dimension)}"
        )
    return tuple(number(entry, f"coordinate {i} of {what}") for i, entry in enumerate(entries))


def corners(lower: Any, upper: Any, dimension: int, what: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Two opposite corners, the first below the second in every coordinate."""
    low, high = point(lower, dimension, f"lower corner of {what}"), point(upper, dimension, f"upper corner of {what}")
    for axis, a, b in zip("xyz", low, high, strict=False):
        if not a < b:
            raise PcpinnError(
                f"{what} goes from {axis} = {a:g} to {axis} = {b:g}, which leaves nothing between",
                f"make the lower corner's {axis} smaller than the upper corner's",
            )
    return low, high


def name(value: Any, what: str) -> str:
    """A boundary name: a non-empty string."""
    if not isinstance(value, str) or not value.strip():
        raise PcpinnError(
            f"the boundary name of {what} is {value!r}, which is not a non-empty string",
            'give a name such as name="wall", or leave it out',
        )
    return value


def points_array(value: Any, dimension: int) -> np.ndarray:
    """(n, dimension) float64."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise PcpinnError(
            f"the points are {type(value).__name__}, which is not an array of numbers",
            f"give an array of shape (n, {dimension})",
        ) from None
    if array.ndim != 2 or array.shape[1] != dimension:
        raise PcpinnError(
            f"the points have shape {array.shape}, but the domain has {dimension} coordinates",
            f"give an array of shape (n, {dimension})",
        )
    return array


def _form(dimension: int) -> str:
    return "(" + ", ".join("xyz"[:dimension]) + ("," if dimension == 1 else "") + ")"
