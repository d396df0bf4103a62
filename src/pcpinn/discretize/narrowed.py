"""Constants in single precision, made outside of the problem's functions, times a number in double: torch computes in single."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from ..errors import PcpinnError


class _Watch(TorchFunctionMode):
    """Looks for results that have fewer digits than one of the two that they were made of."""

    def __init__(self) -> None:
        self.narrowed = False
        super().__init__()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, Tensor) and result.dtype == torch.float32 and result.ndim:
            self.narrowed |= {torch.float32, torch.float64} <= {a.dtype for a in args if isinstance(a, Tensor)}
        return result


def refuse_narrowed(what: str, call: Callable[[], Any]) -> None:
    """Refuse functions that compute in single precision though their point and state are in double.

    Args:
        what: which functions.
        call: evaluates them in double precision.

    Raises:
        PcpinnError: with what to write.
    """
    watch = _Watch()
    with watch:
        call()
    if watch.narrowed:
        raise PcpinnError(
            f"{what} computes in single precision: a constant tensor in it has seven digits, and so has what it is times",
            "make constant tensors float64: torch.tensor([...], dtype=torch.float64)",
        )
