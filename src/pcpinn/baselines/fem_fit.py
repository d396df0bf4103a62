"""Solve the discrete system directly, then fit the network to the result: what any cleverer loss must be measured against."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import torch

from ..discretize.system import LinearSystem
from ..network.protocol import Network
from ..precondition import misfit
from ..problem.problem import Problem
from ..solution.solution import Solution
from ..solve.linear import solve_with
from ..solve.method import METHODS, Method
from ..solve.run import run
from ..solve.settings import Settings
from ..train import LeastSquares, rescale_outputs
from .recipe import offer_fem_fit


def fit_loss(system: LinearSystem, network: Network, settings: Settings) -> LeastSquares:
    """The relative misfit to the discrete solution, in the norm of Algorithm 1."""
    weights = system.weights if settings.loss.norm == "mass" else np.full(system.size, 1 / system.size)
    operator = misfit(system.solution, weights, getattr(torch, settings.run.precision), network.theta.device, "fem-fit")
    rescale_outputs(network, operator)
    return LeastSquares(network, system.nodes, operator)


def solve_fem_fit(problem: Problem, settings: Settings | Mapping[str, Any] | None = None, **options: Any) -> Solution:
    """Solve a problem by direct solves (Newton's method if it is nonlinear) and regression; arguments as of `pcpinn.solve`.

    Network, points, norm and optimisers are those of `pcpinn.solve`.
    """
    return solve_with(partial(run, fit_loss), "fem-fit", problem, settings, **options)


METHODS.register(Method("fem-fit", offer_fem_fit, solve_fem_fit))
