"""Least squares in the last layer: all other weights stay as they were drawn.

A preconditioned residual on nodal values needs no Jacobian: with P^-1 A ~ I the weights are a fit of u - P^-1 (A u - b), by the
orthogonal factors that marches use too, and further steps take back what P and the ridge left. That saves a solve with P for each
feature; where P is not close to A it takes many steps, and the exact matrix is better.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from ..errors import PcpinnError
from ..network.protocol import HeadMethods
from .heads import HeadSolver
from .least_squares import LeastSquares
from .loss import Loss
from .optimiser import OPTIMISERS, Optimiser, State

_AT_ONCE = 32  # columns of the Jacobian that are computed together
_HALVINGS = 12
_FAR = 1e-4  # a relative residual above which nodal values are fitted anew, below which weights are corrected


@OPTIMISERS.register
@dataclass(frozen=True)
class LastLayer(Optimiser):
    """Gauss-Newton steps in the weights of the last layer, each an ordinary least-squares problem; one for a linear PDE.

    Attributes:
        ridge: of the least squares, relative to the features: what is smaller is lost in rounding errors.
        matrix: gram (the features themselves, since P^-1 A is near the identity), exact (the derivative of the residual), or
            auto: gram for a preconditioned residual on nodal values, exact for all others, which have no gram.
    """

    ridge: float = 1e-11
    matrix: Literal["auto", "gram", "exact"] = "auto"
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
        if self.matrix == "gram" and not isinstance(problem, LeastSquares):
            raise PcpinnError(
                "matrix=gram is for preconditioned residuals on nodal values",
                "use matrix=exact or auto for this method",
            )
        return {}

    def bind(self, problem: Loss, state: State) -> Callable[[int], list[float]]:
        """Steps on a loss; factors of nodal features are kept from one to the next."""
        if not isinstance(problem, LeastSquares) or self.matrix == "exact":
            return super().bind(problem, state)
        heads = HeadSolver(self.ridge)
        return lambda most: [_fit_nodal_values(problem, heads)]

    def step(self, problem: Loss, state: State) -> float:
        """One step, halved until the loss falls; returns the loss reached."""
        if isinstance(problem, LeastSquares) and self.matrix != "exact":
            return _fit_nodal_values(problem, HeadSolver(self.ridge))
        residual, theta = _residual_of(problem), problem.theta
        before = float(problem.loss().detach())
        size = _head_size(problem)
        if isinstance(problem, LeastSquares):
            r, J = problem.known_residual(), problem.operator.apply(problem.jacobian()[:, -size:]) * problem.scale
        else:
            r, J = problem.head_jacobian() or head_jacobian(residual, theta, size)
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


def _fit_nodal_values(problem: LeastSquares, heads: HeadSolver) -> float:
    """One step on nodal values, kept if the loss falls; which kind depends on the weights alone, so a resume takes the same."""
    before, start = problem.value(), problem.theta.detach().clone()
    heads.step(problem, afresh=2 * before > _FAR**2)
    if not problem.value() < before:
        with torch.no_grad():
            problem.theta.copy_(start)
    return problem.value()


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
