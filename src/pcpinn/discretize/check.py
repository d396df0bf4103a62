"""Checks of a problem's functions before anything is built on them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ..errors import PcpinnError
from .narrowed import refuse_narrowed
from .pointwise import BoundaryFlux, Pointwise

_STEP = 1e-6
_TOLERANCE = 1e-4
_LARGE = 1e3  # a second size of states: rounding and clipping look linear at one size only

Evaluate = Callable[[Tensor], Tensor]


def check_pointwise(pointwise: Pointwise, x: Tensor) -> bool:
    """Evaluate the PDE at random states over the points x (n, d): shapes, finite values, true derivatives.

    Where a density stands in the source by its rate, that may be linear in the state though the density is not (of gradients,
    no rate is known): the density itself is tried.

    Returns:
        Whether the PDE is linear (affine in its fields).

    Raises:
        PcpinnError: with the point and the remedy.
    """
    shape = (len(x), pointwise.problem.components, 1 + pointwise.problem.domain.dimension)
    pointwise = Pointwise(pointwise.problem, strong=True)
    what = "flux or source" if pointwise.problem.density is None else "flux, source or density"
    return _check(what, lambda s: pointwise.evaluate(x, s), lambda s: pointwise.jacobian(x, s), x, shape)


def check_boundary(flux: BoundaryFlux, x: Tensor, normals: Tensor, components: int) -> bool:
    """The same for the natural conditions of one boundary, at points x (n, d) with outward normals (n, d)."""
    shape = (len(x), components, 1 + normals.shape[1])
    return _check(
        f"the condition on {flux.boundary!r}",
        lambda s: flux.evaluate(x, normals, s),
        lambda s: flux.jacobian(x, normals, s),
        x,
        shape,
    )


def _check(what: str, evaluate: Evaluate, jacobian_of: Evaluate, x: Tensor, shape: tuple[int, ...]) -> bool:
    """The automatic Jacobian must agree with finite differences; it does not where a function detaches or rounds."""
    generator = torch.Generator().manual_seed(0)
    state, direction = (torch.randn(shape, generator=generator, dtype=x.dtype) for _ in range(2))
    at_zero = evaluate(torch.zeros_like(state))
    everywhere = _finite(at_zero) and _finite(evaluate(state))
    if not everywhere:
        state = _within_domain(evaluate, state, x, what)
    jacobian = jacobian_of(state)
    if not _finite(jacobian):
        raise _not_finite(jacobian, x, f"the derivative of {what}")
    tangent = _apply(jacobian, direction)
    difference = (evaluate(state + _STEP * direction) - evaluate(state - _STEP * direction)) / (2 * _STEP)
    scale = 1 + difference.abs().flatten(1).amax(1)
    wrong = (tangent - difference).abs().flatten(1).amax(1) / scale
    # A kink (|u|, max) may be hit by a few points; a broken derivative is wrong at most of them.
    if (wrong > _TOLERANCE).float().mean() > 0.5:
        refuse_narrowed(what, lambda: evaluate(state))
        at = x[int(wrong.argmax())].tolist()
        raise PcpinnError(
            f"{what} is not differentiable: at x = {at} its automatic derivative is wrong by {float(wrong.max()):.1e}",
            "use differentiable torch operations; no .detach(), no rounding",
        )
    return everywhere and all(
        torch.allclose(evaluate(s) - at_zero, _apply(jacobian, s), rtol=1e-9, atol=1e-9 * float(s.abs().max()))
        for s in (state, _LARGE * direction)
    )


def _within_domain(evaluate: Evaluate, state: Tensor, x: Tensor, what: str) -> Tensor:
    """States like these at which a function has values everywhere: logarithms, roots and powers ask for positive values,
    or for such between 0 and 1, and exp(-E / u) for none near zero.

    Raises:
        PcpinnError: when there are none: then it is the point that matters.
    """
    values = state[:, :, 0]
    for size, chosen in ((1.0, values.abs()), (0.3, 0.5 + 0.3 * values.tanh()), (_LARGE, _LARGE * (1 + values.abs()))):
        tried = torch.cat([chosen[:, :, None], size * state[:, :, 1:]], dim=2)
        out = evaluate(tried)
        if _finite(out):
            return tried
    raise _not_finite(out, x, what)


def _finite(values: Tensor) -> bool:
    return bool(torch.isfinite(values).all())


def _apply(jacobian: Tensor, state: Tensor) -> Tensor:
    """(n, ..., C, 1 + d) times (n, C, 1 + d) -> (n, ...)."""
    n, *out = jacobian.shape[:-2]
    flat = jacobian.reshape(n, -1, state[0].numel())
    return torch.einsum("nij,nj->ni", flat, state.reshape(n, -1)).reshape(n, *out)


def _not_finite(values: Tensor, x: Tensor, what: str) -> PcpinnError:
    bad = ~torch.isfinite(values).reshape(len(x), -1).all(1)
    at = x[int(bad.nonzero()[0])].tolist()
    return PcpinnError(f"{what} is not finite at x = {at}", "check divisions, logarithms and roots at that point")
