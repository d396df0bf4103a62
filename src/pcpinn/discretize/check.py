"""Checks of a problem's functions before anything is built on them."""

from __future__ import annotations

import torch
from torch import Tensor

from ..errors import PcpinnError
from .pointwise import Pointwise

_STEP = 1e-6
_TOLERANCE = 1e-4


def check_pointwise(pointwise: Pointwise, x: Tensor, seed: int = 0) -> bool:
    """Evaluate flux and source at random states over the points x (n, d): shapes, finite values, true derivatives.

    The automatic Jacobian must agree with finite differences; it does not where a function detaches, rounds or
    otherwise leaves torch's differentiable operations.

    Returns:
        Whether the PDE is linear: its Jacobian is the same at two random states.

    Raises:
        PcpinnError: with the point and the remedy.
    """
    generator = torch.Generator().manual_seed(seed)
    shape = (len(x), pointwise.problem.components, 1 + x.shape[1])
    state, other, direction = (torch.randn(shape, generator=generator, dtype=x.dtype) for _ in range(3))
    for s in (state, torch.zeros_like(state)):
        out = pointwise.evaluate(x, s)
        _require_finite(out, x, "flux or source")
    jacobian = pointwise.jacobian(x, state)
    _require_finite(jacobian, x, "the derivative of flux or source")
    tangent = torch.einsum("nabcd,ncd->nab", jacobian, direction)
    difference = (
        pointwise.evaluate(x, state + _STEP * direction) - pointwise.evaluate(x, state - _STEP * direction)
    ) / (2 * _STEP)
    scale = 1 + difference.abs().flatten(1).amax(1)
    wrong = (tangent - difference).abs().flatten(1).amax(1) / scale
    # A kink (|u|, max) may be hit by a few points; a broken derivative is wrong at most of them.
    if (wrong > _TOLERANCE).float().mean() > 0.5:
        at = x[int(wrong.argmax())].tolist()
        raise PcpinnError(
            f"flux or source is not differentiable: at x = {at} its automatic derivative is wrong by {float(wrong.max()):.1e}",
            "use differentiable torch operations; no .detach(), no torch.no_grad(), no rounding",
        )
    return bool(torch.allclose(jacobian, pointwise.jacobian(x, other), rtol=1e-9, atol=1e-12))


def _require_finite(values: Tensor, x: Tensor, what: str) -> None:
    bad = ~torch.isfinite(values).reshape(len(x), -1).all(1)
    if bad.any():
        at = x[int(bad.nonzero()[0])].tolist()
        raise PcpinnError(f"{what} is not finite at x = {at}", "check divisions, logarithms and roots at that point")
