"""Whether a torch.nn.Module can be a network: refusals that say what to change in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import PcpinnError

_ROUNDING = 1e-4  # relative difference between a batch and its rows that rounding may make, in float32 too


def class_name(module: nn.Module) -> str:
    """Qualified, as `package.file.Class`."""
    return f"{type(module).__module__}.{type(module).__qualname__}"


def probe_points(d: int) -> Tensor:
    """A few points of [-1, 1]^d, not on a line: (4, d)."""
    k, axis = torch.arange(1.0, 5.0, dtype=torch.float64), torch.arange(1.0, d + 1.0, dtype=torch.float64)
    return torch.cos(k[:, None] * (axis + 0.3))


def check_weights(module: nn.Module) -> None:
    """Refuse what has no weights that could be trained."""
    if not isinstance(module, nn.Module):
        name = module.__name__ if isinstance(module, type) else type(module).__name__
        raise PcpinnError(f"{name} is not a torch.nn.Module", "give an instance, such as Net(), not its class")
    tensors = [*module.parameters(), *module.buffers()]
    if any(nn.parameter.is_lazy(t) for t in tensors):
        raise PcpinnError("the module's lazy layers have no weights yet", "call it once on points (1, d)")
    if not any(p.requires_grad for p in module.parameters()):
        raise PcpinnError(
            f"{class_name(module)} has no parameters to train", "register nn.Parameter, with requires_grad=True"
        )
    if any(t.is_complex() for t in tensors):
        raise PcpinnError(
            f"{class_name(module)} has complex weights or buffers", "keep real and imaginary parts as two tensors"
        )


@torch.no_grad()
def check_function(module: nn.Module, x: Tensor, outputs: int) -> None:
    """Refuse a module that is not a function of each of the points x (n, d) alone, with values (n, outputs)."""
    name, (n, d) = class_name(module), x.shape
    shapes = f"forward must take scaled points (n, {d}) and return values (n, {outputs})"
    values = _tried(lambda: module(x), f"{name} cannot be evaluated at points of shape ({n}, {d})", shapes)
    if not isinstance(values, Tensor) or values.shape != (n, outputs):
        got = f"shape {tuple(values.shape)}" if isinstance(values, Tensor) else f"a {type(values).__name__}"
        raise PcpinnError(f"{name} returns {got} for {n} points, expected ({n}, {outputs})", shapes)
    if values.dtype != x.dtype:
        raise PcpinnError(
            f"{name} turns points of {x.dtype} into values of {values.dtype}", "do not convert tensors in forward"
        )
    if not values.isfinite().all():
        raise PcpinnError(f"{name} is not finite in the domain", "check its weights and its forward")
    if not torch.equal(module(x), values):
        raise PcpinnError(f"{name} gives other values at each call", "leave dropout, noise and counters out of forward")
    alone = _tried(
        lambda: torch.cat([module(point) for point in x.split(1)]), f"{name} cannot be evaluated at one point", shapes
    )
    if (alone - values).abs().max() > _ROUNDING * values.abs().max():
        raise PcpinnError(
            f"in {name} the values at a point depend on the other points of the batch",
            "leave out batch statistics and whatever else mixes the rows of (n, d)",
        )


def check_derivatives(module: nn.Module, jacobian: Callable[[], Tensor]) -> None:
    """Refuse a module whose Jacobian, which is computed here, fails or is of no use."""
    name = class_name(module)
    J = _tried(
        jacobian,
        f"{name} cannot be differentiated point by point with torch.func.vmap",
        "in forward, avoid in-place changes, .item(), NumPy, and branches on values (use torch.where)",
    )
    if not J.any():
        raise PcpinnError(
            f"the values of {name} do not depend on its weights",
            "do not use .detach(), .data, .item() or no_grad in forward",
        )
    if not J.isfinite().all():
        raise PcpinnError(f"{name} has derivatives that are not finite", "avoid roots and divisions at zero in forward")


def _tried(work: Callable[[], Any], problem: str, remedy: str) -> Any:
    """What the user's code returns; whatever it raises becomes a message."""
    try:
        return work()
    except Exception as error:
        raise PcpinnError(f"{problem}: {str(error).strip() or type(error).__name__}", remedy) from error
