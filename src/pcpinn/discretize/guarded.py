"""The user's functions, called so that whatever they raise becomes a message with the function, the cause and the remedy."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from torch import Tensor

from ..errors import PcpinnError
from .constants import ConstantsLike

R = TypeVar("R")

_ARGUMENTS = (
    "functions take (x, u), or (x, t, u) where they need the time, which must be the second and be called t; then one argument "
    "for each field; conditions take (x) or (x, t), and Natural (x, n, u) or (x, t, n, u)"
)
_USUAL = (
    "write it with differentiable torch operations on one point (torch.where instead of if; no NumPy, no .item()); "
    "constant tensors must be float64"
)
# What a failure's kind and text say of its cause, the first that fits.
_REMEDIES = (
    (
        r"^IndexError",
        "x and u.grad have the components of space alone; the time is t in (x, t, u), its derivative u.dt",
    ),
    (r"positional argument", _ARGUMENTS),
    (r"'Local'", "u is a field at a point: write u.value for its value, u.grad for its gradient, u.dt for its rate"),
    (
        r"numpy|ndarray|data pointer|have storage",
        "NumPy, SciPy and math do not know torch's tensors: write torch.sin, torch.where, ..., and make arrays of constants "
        "tensors, torch.tensor(array, dtype=x.dtype)",
    ),
    (
        r"\.item\(\)|data-dependent|ambiguous",
        "numbers cannot be taken out of tensors, as if, math.sin, float(), torch.tensor([...]) and table[index] do: write "
        "torch.where(condition, this, that), torch.sin, torch.stack([...]), torch.take(table, index)",
    ),
    (r"random", "the same point must give the same number every time: draw random numbers outside of the function"),
    (r"inplace", "do not assign to parts of a tensor: make it with torch.stack([...])"),
    (r"same dtype|expected .* dtype|but got: float", "make constant tensors float64: torch.tensor(..., dtype=x.dtype)"),
    (
        r"NoneType",
        "u.grad has no gradient of its own: a second derivative is the divergence of a flux, or of a field of its own that is "
        "u.grad",
    ),
)


def guard(function: Callable[..., R], *args: Tensor) -> R:
    """Run the user's functions; turn whatever they raise into a message that names the cause."""
    with called("a function of the problem (flux, source, density or condition)"), ConstantsLike(args[0]):
        return function(*args)


@contextmanager
def called(name: str, arguments: str | None = None) -> Iterator[None]:
    """While one of the user's functions runs: what it raises becomes a PcpinnError with its name.

    Args:
        name: of the function.
        arguments: how it is to be called, if it is not one of a problem.
    """
    try:
        yield
    except PcpinnError:
        raise
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        said = f"{type(error).__name__}: {reason}"
        remedy = next((remedy for pattern, remedy in _REMEDIES if re.search(pattern, said)), _USUAL)
        if arguments is not None and remedy is _ARGUMENTS:
            remedy = arguments
        raise PcpinnError(f"{name} failed: {_shortly(said)}", remedy) from error


def _shortly(said: str) -> str:
    """Without what torch says of itself: where to report bugs, what it does not support yet."""
    return re.split(r"(?<=[.:])\s+(?:We don't support|If error is occurring|Please try|For \(1\))", said)[0]
