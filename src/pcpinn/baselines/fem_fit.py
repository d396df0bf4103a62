"""Solve the discrete system directly, then fit the network to the result: what any cleverer loss must be measured against."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..discretize.system import LinearSystem
from ..network.mlp import MLP
from ..precondition import misfit
from ..problem.problem import Problem
from ..solution.solution import Solution
from ..solve.run import run
from ..solve.settings import Settings
from ..train import LeastSquares, rescale_outputs


def fit_loss(system: LinearSystem, network: MLP, settings: Settings) -> LeastSquares:
    """The relative misfit to the discrete solution, in the norm of Algorithm 1."""
    weights = system.weights if settings.weights == "mass" else np.full(system.size, 1 / system.size)
    operator = misfit(system.solution, weights, getattr(torch, settings.precision), network.theta.device, "fem-fit")
    rescale_outputs(network, operator)
    return LeastSquares(network, system.nodes, operator)


def solve_fem_fit(problem: Problem, settings: Settings | None = None, **options: Any) -> Solution:
    """Solve a problem by direct solves (Newton's method if it is nonlinear) and regression; arguments as of `pcpinn.solve`.

    Network, points, norm and optimisers are those of `pcpinn.solve`; its preconditioner settings have no effect here.
    """
    return run("fem-fit", fit_loss, problem, settings, **options)
