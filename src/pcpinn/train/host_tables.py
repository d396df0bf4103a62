"""Tables in the memory of the host that recorded work takes to the GPU: `table.to(x)` in a function of a problem."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode


class HostTables(TorchDispatchMode):
    """Copies from host to GPU are made once and then taken from a copy there, since a recording cannot wait for the host.

    Tables are known by what they hold. One that the warm-up has not seen is copied as ever, which ends a recording: what
    changes from step to step is never frozen into a graph.
    """

    def __init__(self) -> None:
        super().__init__()
        self._kept: dict[tuple[Any, ...], Tensor] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        key = _key(func, args, kwargs)
        if key is None:
            return func(*args, **kwargs)
        if key not in self._kept:
            self._kept[key] = func(*args, **kwargs)
        return self._kept[key].clone()  # the work may change its copy in place


def _key(func: Any, args: Any, kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
    """What distinguishes a copy from host to device from others; None for anything else."""
    if func is not torch.ops.aten._to_copy.default:
        return None
    if not isinstance(args[0], Tensor) or args[0].device.type != "cpu":  # numbers in transforms come as what they are
        return None
    device = kwargs.get("device")
    if device is None or torch.device(device).type == "cpu":
        return None
    table = args[0].detach().contiguous()
    facts = (table.dtype, tuple(table.shape), str(device), kwargs.get("dtype"))
    return (*facts, table.view(torch.uint8).numpy().tobytes() if table.ndim else table.item())
