"""Constants that the functions of a problem make, such as torch.eye(2): they have the precision of the points."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

_MAKERS = frozenset(
    {
        torch.arange,
        torch.as_tensor,
        torch.eye,
        torch.full,
        torch.linspace,
        torch.ones,
        torch.scalar_tensor,
        torch.tensor,
        torch.zeros,
    }
)


class ConstantsLike(TorchFunctionMode):
    """While it is entered, constants without a stated dtype have that of x, if they are no integers.

    A number of the state times one in single precision would be of single precision. Torch's own default is of the whole process,
    where other threads may train in another precision.
    """

    def __init__(self, x: Tensor) -> None:
        self._dtype = x.dtype
        super().__init__()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if func not in _MAKERS or kwargs.get("dtype") is not None or result.dtype == self._dtype:
            return result
        made_of = args[0] if func is torch.as_tensor and args else None
        if not result.is_floating_point() or hasattr(made_of, "dtype"):
            return result
        return func(*args, **{**kwargs, "dtype": self._dtype})
