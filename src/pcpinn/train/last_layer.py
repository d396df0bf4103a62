"""Least squares in the last layer: all other weights stay as they were drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor

from ..errors import PcpinnError
from ..network.protocol import HeadMethods
from .loss import Loss
from .optimiser import OPTIMISERS, Optimiser, State

_AT_ONCE = 32  # columns of the Jacobian that are computed together
_HALVINGS = 12


@OPTIMISERS.register
@dataclass(frozen=True)
class LastLayer(Optimiser):
    """Gauss-Newton steps in the weights of the last layer, each an ordinary least-squares problem; one for a linear PDE.

    Attributes:
        ridge: of the least squares, relative to the largest column: what is smaller is lost in rounding errors.
    """

    ridge: float = 1e-11
    iterations: int = field(default=30, kw_only=True)

    name: ClassVar[str] = "last-layer"
    positive: ClassVar[tuple[str, ...]] = ("ridge",)
    usual_patience: ClassVar[int] = 2

    def start(self, problem: Loss, seed: int) -> State:
        """Nothing to remember.

        Raises:
            PcpinnError: when the loss or the network does not fit.
        """
        _residual_of(problem)
        _head_size(problem)
        return {}

    def step(self, problem: Loss, state: State) -> float:
        """One step, halved until the loss falls; returns the loss reached."""
        residual, theta = _residual_of(problem), problem.theta
        before = float(problem.loss().detach())
        r, J = head_jacobian(residual, theta, _head_size(problem))
        step = _least_squares(J, -r, self.ridge)
        head = theta.detach()[len(theta) - len(step) :].clone()
        for k in range(_HALVINGS):
            with torch.no_grad():
                theta[len(theta) - len(step) :] = head + 0.5**k * step
            after = float(problem.loss().detach())
            if after <= before:
                return after
        with torch.no_grad():
            theta[len(theta) - len(step) :] = head
        return before


def head_jacobian(residual: Callable[[], Tensor], theta: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """The residual (m,) and its derivative by the last `size` weights (m, size).

    There are more residuals than weights, so columns are wanted: the derivative of J^T v by v, in reverse mode twice.
    """
    r = residual()
    v = torch.zeros_like(r, requires_grad=True)
    (gradient,) = torch.autograd.grad(r, theta, v, create_graph=True)
    units = torch.eye(size, dtype=r.dtype, device=r.device)
    head = gradient[len(gradient) - size :]
    columns = [
        torch.autograd.grad(head, v, rows, retain_graph=True, is_grads_batched=True)[0]
        for rows in units.split(_AT_ONCE)
    ]
    return r.detach(), torch.cat(columns).T


def _least_squares(J: Tensor, b: Tensor, ridge: float) -> Tensor:
    """x that minimises ||J x - b||^2 + a small multiple of ||S x||^2, S the lengths of columns."""
    J, b = J.double(), b.double()
    lengths = J.norm(dim=0)
    lengths = torch.where(lengths > 0, lengths, 1.0)
    damped = torch.cat([J / lengths, ridge * torch.eye(J.shape[1], dtype=J.dtype, device=J.device)])
    full = torch.cat([b, b.new_zeros(J.shape[1])])
    return torch.linalg.lstsq(damped, full[:, None], driver="gels").solution[:, 0] / lengths


def _residual_of(problem: Loss) -> Callable[[], Tensor]:
    residual: Any = getattr(problem, "residual", None)
    if residual is None:
        raise PcpinnError("least squares need residuals, and this loss is not made of them", "use another optimiser")
    return residual


def _head_size(problem: Loss) -> int:
    if not isinstance(problem.network, HeadMethods):
        raise PcpinnError(
            f"the last layer of {type(problem.network).__name__} is not known", "use network=mlp or random-features"
        )
    return problem.network.head_size
