"""The data's part of an inverse loss: predictions of u_theta, their derivatives, squares or Huber's function.

And what keeps u_theta from following their noise where the equations do not see it, between the nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from ..discretize.probe import probe
from ..network.protocol import Network
from ..precondition.torch_sparse import csr_tensor
from ..problem.problem import Problem
from .equations import Equations
from .observations import Observations

HUBER = 1.345  # standard deviations beyond which a residual counts linearly


def huber_weights(r: np.ndarray) -> np.ndarray:
    """Weights of squares that stand for Huber's function at residuals r."""
    return np.where(np.abs(r) <= HUBER, 1.0, HUBER / np.maximum(np.abs(r), 1e-12))


class DataTerm:
    """One set of observations.

    Args:
        data: the set.
        noise: (m,) standard deviations.
        network: u_theta.
        problem: its fields.
        robust: Huber's function instead of squares.
    """

    def __init__(self, data: Observations, noise: np.ndarray, network: Network, problem: Problem, robust: bool) -> None:
        self.data, self.network, self.problem, self.robust = data, network, problem, robust
        device = network.theta.device
        self._x = torch.as_tensor(data.points, dtype=torch.float64, device=device)
        self._y = torch.as_tensor(data.values, dtype=torch.float64, device=device)
        self.noise = torch.as_tensor(noise, dtype=torch.float64, device=device)
        self._component = None if data.observable is not None else data.component_in(problem)

    def residual(self, theta: Tensor) -> Tensor:
        """(u_theta - data) / noise, differentiable in the weights of u."""
        return (self._predict(theta) - self._y) / self.noise

    def loss(self, r: Tensor) -> Tensor:
        """Of residuals."""
        if not self.robust:
            return 0.5 * (r @ r)
        a = r.abs()
        return torch.where(a <= HUBER, 0.5 * r**2, HUBER * (a - 0.5 * HUBER)).sum()

    def weighted(self, theta: Tensor) -> tuple[Tensor, Tensor]:
        """Residuals and their Jacobian (m, p), outliers scaled down."""
        r, J = self.residual(theta), self._jacobian(theta) / self.noise[:, None]
        if not self.robust:
            return r, J
        w = torch.where(r.abs() <= HUBER, 1.0, HUBER / r.abs().clamp(min=1e-12)).sqrt()
        return w * r, w[:, None] * J

    def weighted_residual(self, theta: Tensor) -> Tensor:
        """Residuals, outliers scaled down."""
        r = self.residual(theta)
        return r * torch.where(r.abs() <= HUBER, 1.0, HUBER / r.abs().clamp(min=1e-12)).sqrt() if self.robust else r

    def _predict(self, theta: Tensor) -> Tensor:
        if self._component is not None:
            return self.network.evaluate(theta, self._x)[:, self._component]
        return torch.func.vmap(lambda x: self._observed(theta, x))(self._x)

    def _jacobian(self, theta: Tensor) -> Tensor:
        if self._component is not None:
            at = torch.full((len(self._x),), self._component, dtype=torch.long, device=self._x.device)
            return self.network.jacobian(self._x, at)
        return torch.func.vmap(torch.func.jacrev(self._observed), (None, 0))(theta, self._x)

    def _observed(self, theta: Tensor, x: Tensor) -> Tensor:
        """The observable at one point."""
        value = self.network.evaluate(theta, x)
        slope = torch.func.jacfwd(lambda p: self.network.evaluate(theta, p))(x)
        return self._observable(x, torch.cat([value[:, None], slope], dim=1))

    @cached_property
    def _observable(self) -> Callable[[Tensor, Tensor], Tensor]:
        return self.data.observed(self.problem)


class Between:
    """u_theta at the points of the data, less the discrete function through its own values at the nodes.

    The equations are asked at the nodes alone; a network with more weights than there are nodes could satisfy them there and
    fit the noise in between.
    """

    def __init__(self, data: Observations, network: Network, equations: Equations) -> None:
        self.network, self._x = network, torch.as_tensor(data.points, dtype=torch.float64, device=network.theta.device)
        form, device = equations.discretisation, network.theta.device
        matrices = [probe(form, data.points, k) for k in range(form.components)]
        self._from_nodes = [csr_tensor(matrix, torch.float64, device) for matrix in matrices]

    def residual(self, theta: Tensor, nodal: Tensor) -> Tensor:
        """(C m,) at the weights of u and the values at the nodes (N,) that follow from them."""
        here = self.network.evaluate(theta, self._x)
        return torch.cat([here[:, k] - matrix @ nodal for k, matrix in enumerate(self._from_nodes)])

    def jacobian(self, nodal: Tensor) -> Tensor:
        """(C m, p), from that of the values at the nodes (N, p)."""
        at = torch.zeros(len(self._x), dtype=torch.long, device=self._x.device)
        return torch.cat(
            [self.network.jacobian(self._x, at + k) - matrix @ nodal for k, matrix in enumerate(self._from_nodes)]
        )
