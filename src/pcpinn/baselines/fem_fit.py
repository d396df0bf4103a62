"""Solve the discrete system directly, then fit the network to the result: what any cleverer loss must be measured against."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ..discretize.system import LinearSystem
from ..network.mlp import MLP
from ..precondition import Identity
from ..precondition.operator import PreconditionedResidual
from ..problem.problem import Problem
from ..solve.run import run
from ..solve.settings import Settings
from ..solve.solution import Solution
from ..train import LeastSquares


class Misfit(PreconditionedResidual):
    """The map u -> W (u - u_h): the residual of the identity, kept on the device as the diagonal that it is."""

    def __init__(self, u_h: np.ndarray, weights: np.ndarray, dtype: torch.dtype, device: torch.device) -> None:
        identity = sp.identity(len(u_h), format="csr")
        super().__init__(identity, u_h, Identity(), weights, dense=False, dtype=dtype, device=device)
        self._diagonal = torch.as_tensor(np.sqrt(weights), dtype=dtype, device=device)

    def apply(self, u: Tensor) -> Tensor:
        """W u for u (N,) or (N, k), differentiable in u."""
        return u * (self._diagonal if u.ndim == 1 else self._diagonal[:, None])

    def apply_transpose(self, r: Tensor) -> Tensor:
        """W r."""
        return self.apply(r)

    def describe(self) -> dict[str, Any]:
        """Facts for the report."""
        return {"name": "fem-fit"}


def fit_loss(system: LinearSystem, network: MLP, settings: Settings) -> LeastSquares:
    """The relative misfit to the discrete solution, in the norm of Algorithm 1."""
    weights = system.weights if settings.weights == "mass" else np.full(system.size, 1 / system.size)
    misfit = Misfit(system.solution, weights, getattr(torch, settings.precision), network.theta.device)
    return LeastSquares(network, system, misfit)


def solve_fem_fit(problem: Problem, settings: Settings | None = None, **options: Any) -> Solution:
    """Solve a problem by direct solves (Newton's method if it is nonlinear) and regression; arguments as of `pcpinn.solve`.

    Network, points, norm and optimisers are those of `pcpinn.solve`; its preconditioner settings have no effect here.
    """
    return run("fem-fit", fit_loss, problem, settings, **options)
