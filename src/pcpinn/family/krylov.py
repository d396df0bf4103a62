"""A few Krylov steps for a batch of systems, all at once: x_s ~ A_s^-1 r_s with a preconditioner that others share.

Conjugate gradients where A and P are symmetric and positive, else GMRES, which makes ||P^-1 (r - A x)|| as small as can be. The
number of steps is fixed: what they leave is measured where anchors are chosen, and again by every estimate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

Apply = Callable[[Tensor], Tensor]
_TINY = 1e-300
_FULL = 1e-11  # part of a new direction beside the known ones that is but rounding


class Products(Protocol):
    """S matrices by their products."""

    def apply(self, v: Tensor) -> Tensor:
        """A_s v_s for v (S, N)."""


def conjugate_gradients(A: Products, P: Apply, r: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    """x (S, N), and which systems (S,) showed a direction of negative curvature: A or P is not positive there."""
    x, r = torch.zeros_like(r), r.clone()
    z = P(r)
    p, rz = z.clone(), (r * z).sum(1)
    start, bad = rz.abs(), rz < 0
    for k in range(steps):
        Ap = A.apply(p)
        curvature = (p * Ap).sum(1)
        live = (rz.abs() > 1e-28 * start) & (curvature.abs() > _TINY)
        if not bool(live.any()):
            break  # all are solved: with P of this very matrix after one step
        bad |= live & (curvature < 0)
        alpha = torch.where(live, rz / torch.where(live, curvature, 1.0), 0.0)[:, None]
        x += alpha * p
        if k + 1 == steps:
            break  # the next direction is not needed, and costs a solve
        r -= alpha * Ap
        z = P(r)
        new = (r * z).sum(1)
        beta = torch.where(live, new / torch.where(live, rz, 1.0), 0.0)[:, None]
        p = z + beta * p
        rz = new
    return x, bad


def gmres(A: Products, P: Apply, r: Tensor, steps: int, weights: Tensor, enough: float = 0.0) -> Tensor:
    """x (S, N) with the smallest ||P^-1 (r - A x)|| in the norm of weights (N,) over a Krylov space.

    Args:
        A, P, r: systems.
        steps: the most.
        weights: of the norm.
        enough: what may be left of the norm, relative; steps end there.
    """
    w = P(r)
    beta = _norm(w, weights)
    basis = [w / beta.clamp(min=_TINY)[:, None]]
    H = r.new_zeros(len(r), steps + 1, steps)
    for k in range(steps):
        w = P(A.apply(basis[k]))
        whole = _norm(w, weights)
        for _ in range(2):  # once more, since rounding leaves some of what was taken out
            for j, v in enumerate(basis):
                h = (v * w) @ weights
                H[:, j, k] += h
                w = w - h[:, None] * v
        size = _norm(w, weights)
        H[:, k + 1, k] = size
        basis.append(w / size.clamp(min=_TINY)[:, None])
        if not bool((size > _FULL * whole).any()):
            steps, H = k + 1, H[:, : k + 2, : k + 1]
            break  # nothing is left that these steps have not seen: with P of this very matrix after one
        if enough and k + 1 < steps and bool((_left(H[:, : k + 2, : k + 1]) <= enough).all()):
            steps, H = k + 1, H[:, : k + 2, : k + 1]
            break
    # A Krylov space that is full before its time leaves columns of rounding: they are damped away.
    right = r.new_zeros(len(r), steps + 1)
    right[:, 0] = beta
    scale = H.abs().amax((1, 2)).clamp(min=_TINY)[:, None, None]
    tall = torch.cat([H, 1e-14 * scale * torch.eye(steps, dtype=r.dtype, device=r.device)], dim=1)
    Q, R = torch.linalg.qr(tall)
    y = torch.linalg.solve_triangular(R, (Q[:, : steps + 1].mT @ right[:, :, None]), upper=True)
    return torch.einsum("sk,ksn->sn", y[:, :, 0], torch.stack(basis[:steps]))


def _left(H: Tensor) -> Tensor:
    """(S,) what the steps of matrices H (S, k + 1, k) leave of the first direction."""
    Q, _ = torch.linalg.qr(H, mode="complete")
    return Q[:, 0, -1].abs()


def _norm(v: Tensor, weights: Tensor) -> Tensor:
    return torch.sqrt((v**2 @ weights).clamp(min=0))
