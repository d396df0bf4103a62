"""Complex numbers: fields are real, and a cast would drop half of an equation without a word."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..errors import PcpinnError

_REMEDY = (
    "fields are real: write u = p + i q as two fields, fields=('p', 'q'), and the real and the imaginary part of each equation "
    "and condition as theirs (i k u becomes -k q in that of p, k p in that of q)"
)


def refuse_complex(value: Any, what: str) -> None:
    """Refuse numbers, tensors, arrays and lists of numbers that are complex; anything else passes.

    Raises:
        PcpinnError: with how to write the problem with real fields.
    """
    if isinstance(value, torch.Tensor):
        found = value.is_complex()
    elif isinstance(value, list | tuple):
        found = any(isinstance(v, complex) or (isinstance(v, torch.Tensor) and v.is_complex()) for v in value)
    else:
        found = isinstance(value, complex) or (isinstance(value, np.ndarray) and np.iscomplexobj(value))
    if found:
        raise PcpinnError(f"{what} is complex", _REMEDY)


def real_array(value: Any, what: str) -> np.ndarray:
    """An array of float64; complex ones are refused.

    Raises:
        PcpinnError: for complex numbers.
        TypeError, ValueError: for what is no array of numbers.
    """
    array = np.asarray(value)
    refuse_complex(array, what)
    return array.astype(np.float64)
