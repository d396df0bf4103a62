"""The ordinary PINN: the strong form of the PDE at random points, its conditions as penalties or built in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..discretize.pointwise import Pointwise
from ..discretize.system import LinearSystem
from ..errors import PcpinnError
from ..mesh.points import interior_points, spacing_of
from ..network.ansatz import Located
from ..network.protocol import Network
from ..problem.problem import Problem
from ..solution.solution import Solution
from ..solve.linear import solve_with
from ..solve.method import METHODS, Method
from ..solve.settings import Settings
from ..strong.conditions import condition_terms
from ..strong.form import Term, strong_residual
from ..strong.hard import make_ansatz
from ..train import Loss
from .recipe import offer_pinn


class StrongLoss(Loss):
    """0.5 (mean squared residual of the PDE + boundary_weight * mean squared residual of each condition).

    The means are summed over components and conditions. Nothing scales the loss: unlike that of `LeastSquares`, it is no
    relative error, nor an estimate of one.
    """

    def __init__(
        self, network: Network, problem: Problem, points: Tensor, terms: Sequence[Term], boundary_weight: float
    ):
        self.network, self.points, self.terms, self.boundary_weight = network, points, list(terms), boundary_weight
        self.pointwise = Pointwise(problem, strong=True)
        self._located = None if network.ansatz is None else Located(network.ansatz, points, network.outputs)
        self._try_out()

    @property
    def theta(self) -> torch.nn.Parameter:
        """The weights (p,)."""
        return self.network.theta

    def residual(self) -> Tensor:
        """(m,), differentiable in theta: the PDE at the points, point by point, then the conditions."""
        interior = strong_residual(self.pointwise, self._inside, self.points) * len(self.points) ** -0.5
        return torch.cat([interior.reshape(-1), *(term.residual(self.network) for term in self.terms)])

    def _inside(self, x: Tensor) -> Tensor:
        """The network at the points inside."""
        if self._located is None:
            return self.network(x)
        return self._located(x, self.network.bare(self.theta, x))

    def loss(self) -> Tensor:
        """0.5 ||residual||^2."""
        r = self.residual()
        return 0.5 * (r @ r)

    def _try_out(self) -> None:
        """What fails, fails here: with a message, before anything is written."""
        try:
            self.residual()
        except PcpinnError as error:
            if self.points.device.type == "cpu":
                raise
            raise PcpinnError(
                error.problem,
                f"the PINN evaluates the problem on {self.points.device.type}, where tensors among its constants must be, too: "
                "make them with x.new_tensor(...), or use device=cpu",
            ) from error

    def describe(self) -> dict[str, Any]:
        """Facts for the report."""
        facts = {
            "name": "pinn",
            "collocation": len(self.points),
            "conditions": sum(term.size for term in self.terms),
            "boundary_weight": self.boundary_weight,
        }
        ansatz = self.network.ansatz
        return facts if ansatz is None else {**facts, "hard_walls": len(ansatz.width)}


def strong_loss(system: LinearSystem, network: Network, settings: Settings) -> StrongLoss:
    """Draw the points, on the network's device and in its precision; of the system only mesh and problem are used."""
    problem, mesh, like = system.discretisation.problem, system.discretisation.mesh.simplices, network.theta.detach()
    recipe, random = settings.loss, np.random.default_rng(settings.run.seed)
    points = torch.as_tensor(interior_points(mesh, recipe.collocation, random)).to(like)
    spacing = spacing_of(mesh, recipe.collocation)
    if recipe.hard:
        ansatz = make_ansatz(problem, mesh)
        network.ansatz = None if ansatz is None else ansatz.to(like)
    terms = condition_terms(problem, mesh, spacing, recipe.boundary_weight, like, random, recipe.hard)
    return StrongLoss(network, problem, points, terms, recipe.boundary_weight)


def solve_pinn(problem: Problem, settings: Settings | Mapping[str, Any] | None = None, **options: Any) -> Solution:
    """Solve a problem with an ordinary PINN; arguments as of `pcpinn.solve`.

    The mesh gives the places of the points and, through its discrete solution, the reported training error; no matrix enters the
    loss. Conditions are penalties, `boundary_weight` times as heavy as the PDE; with hard=True Dirichlet and initial values
    hold exactly instead (see `strong/hard.py`).
    """
    return solve_with(strong_loss, "pinn", problem, settings, **options)


METHODS.register(Method("pinn", offer_pinn, solve_pinn, presets={"quick": {"iterations": 2000}}))
