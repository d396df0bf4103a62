"""The neural tangent kernel of a preconditioned loss: how fast training can be, and what bounds it from below.

For the residual r = B u_theta - c, with B = P^-1 A (or A, without preconditioner), the kernel is K = (dr/dtheta) (dr/dtheta)^T.
Its average eigenvalue tr(K) / N is the average convergence rate (Liu et al.). Since every column of the network's Jacobian J
obeys ||B j|| >= ||j|| / ||B^-1||,

    tr(K) / N >= ||J||^2 / (N ||B^-1||^2),

which is the paper's theorem with ||f||^2 / (||u||^2 |Omega| cond^2) = 1 / (|Omega| ||F^-1||^2), here without any approximation.
All means and norms are those of the loss: over degrees of freedom, or weighted by the mass matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import PcpinnError
from ..precondition.inverse_norm import preconditioned_inverse_norm
from ..precondition.operator import PreconditionedResidual
from ..train.curvature import gram
from ..train.least_squares import LeastSquares

_MOST = 3 * 10**8  # entries of a Jacobian
_BLOCK = 256


@dataclass(frozen=True)
class TangentKernel:
    """What the kernel says at one moment of training.

    Attributes:
        rate: tr(K) / N, the average convergence rate c.
        bound: its lower bound; None where ||B^-1|| is not known.
        eigenvalues: of K / N, the largest first; as many as the smaller of N and the number of weights, the rest are zero.
        network: ||J||^2 / N, the network's own part of the bound.
        size: N; parameters: number of weights.
    """

    rate: float
    bound: float | None
    eigenvalues: np.ndarray
    network: float
    size: int
    parameters: int

    @property
    def largest(self) -> float:
        """The largest eigenvalue of K / N: gradient descent on the mean squared residual needs steps below 2 over it."""
        return float(self.eigenvalues[0])

    @property
    def balance(self) -> float:
        """tr(K) over the largest eigenvalue: how many directions converge about as fast as the fastest; free of scaling."""
        return float(self.eigenvalues.sum() / self.largest) if self.largest > 0 else 0.0

    def reached(self, part: float) -> int:
        """How many eigenvalues are at least `part` of the largest."""
        return int((self.eigenvalues >= part * self.largest).sum())

    def to_dict(self) -> dict[str, Any]:
        """Numbers for JSON, without the spectrum."""
        return {
            "rate": self.rate,
            "bound": self.bound,
            "largest": self.largest,
            "balance": self.balance,
            "network": self.network,
            "size": self.size,
            "parameters": self.parameters,
        }


def residual_jacobian(loss: LeastSquares) -> tuple[Tensor, Tensor]:
    """Weighted Jacobians (N, p) of the residual and of the nodal values: W B J and W J, W^2 being weights of sum one.

    Raises:
        PcpinnError: when they would not fit into memory.
    """
    p = loss.network.parameter_count
    if loss.size * p > _MOST:
        raise PcpinnError(
            f"the kernel of {loss.size} degrees of freedom and {p} weights is too large",
            "take a coarser mesh or a smaller network",
        )
    J = loss.jacobian()
    with torch.no_grad():
        total = loss.weights.sum()
        parts = [loss.operator.apply(J[:, k : k + _BLOCK].contiguous()) for k in range(0, p, _BLOCK)]
        return torch.cat(parts, dim=1) / total.sqrt(), J * (loss.weights / total).sqrt()[:, None]


def tangent_kernel(loss: LeastSquares, inverse_norm: float | None = None) -> TangentKernel:
    """The kernel of a loss at the network's present weights.

    Args:
        loss: residual of P^-1 (A u - b).
        inverse_norm: ||(P^-1 A)^-1|| in the loss's norm (`inverse_norm_of`), for the bound.
    """
    BJ, J = residual_jacobian(loss)
    rate, network = float(BJ.square().sum()), float(J.square().sum())
    K = gram(BJ if BJ.shape[1] <= BJ.shape[0] else BJ.T.contiguous()).to(torch.float64)
    values = torch.linalg.eigvalsh(K).flip(0).clamp(min=0.0).cpu().numpy()
    bound = None if inverse_norm is None else network / inverse_norm**2
    return TangentKernel(rate, bound, values, network, loss.size, loss.network.parameter_count)


def inverse_norm_of(operator: PreconditionedResidual) -> float:
    """||A^-1 P|| in the norm of the loss, by factors of A."""
    weights = np.asarray(operator.weights, dtype=np.float64)
    return preconditioned_inverse_norm(operator.A, operator.preconditioner, operator.state, weights)
