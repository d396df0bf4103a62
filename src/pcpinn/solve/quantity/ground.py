"""What quantities of a steady solution are computed on: its own discretisation and a finer one, solved from the network.

On the finer discretisation F(u) = 0, linearised, a quantity J of the network has the error z . F(u) with A^T z = dJ/du. What
remains after this correction is the value of J at the finer discrete solution, where the corrections end; it is computed as
such. How far that still is from the truth is judged by the solution's own discretisation, on which everything is repeated, and
by the adjoint, which tells how much the cells contribute to the difference before they cancel each other.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch

from ...discretize.discrete_equation import DiscreteEquation
from ...discretize.finite_elements import FiniteElements
from ...errors import PcpinnError, PcpinnWarning
from ...mesh.mesh import Mesh
from ...problem.problem import Problem
from ...solution.quantity import Quantity
from ...solution.solution import Solution
from ..adapt.inverses import Inverses
from ..adapt.level import Elements, Level
from ..adapt.space import discrete_solution
from ..refinement import refined_everywhere
from ..settings import Settings
from .dual import Duals
from .functional import Functional

_LARGEST = {1: 10**6, 2: 300_000, 3: 60_000}  # degrees of freedom of the finer discretisation, which is factorised
_SAFETY = 2.0  # at singularities the finer discretisation may be wrong by as much as it differs from the coarser one
_SAFETY_OF_DEGREES = 4.0  # by more than that if it is finer in its degree alone
_CELLS = 0.25  # part of the sum of the cells' contributions, without their signs, that the error is at least
_ROUNDING = 1e-10  # relative to the size of what is added up


@dataclass(frozen=True)
class Ground:
    """Discrete solutions of a problem, and the network's values.

    Attributes:
        level: the solution's own discretisation and a finer one, with their solutions.
        network: (N,) values of the network at the nodes of the finer one.
        how: the finer one in words.
        safety: factor of errors.
        theta: the network's weights, to see whether they have changed.
    """

    level: Level
    network: np.ndarray
    how: str
    safety: float
    theta: torch.Tensor

    @cached_property
    def duals(self) -> Duals:
        """Adjoint problems on the finer one."""
        return Duals(self.level)

    @property
    def best(self) -> tuple[FiniteElements, torch.Tensor]:
        """The finer discretisation and its solution (N,)."""
        return self.level.fine, torch.from_numpy(self.level.better)

    def quantities(self, functional: Functional, what: str, rougher: Functional | None = None) -> list[Quantity]:
        """Values of a functional, with their errors.

        Args:
            functional: of k numbers.
            what: says what they are.
            rougher: the same by a coarser quadrature; the difference is an error, too.
        """
        level = self.level
        with torch.no_grad():
            values, sizes = functional(*self.best)
            value = values.numpy()
            error = 0.0 if rougher is None else np.abs(value - rougher(*self.best)[0].numpy())
            own = functional(level.coarse, torch.from_numpy(level.u))[0].numpy()
            network = functional(level.fine, torch.from_numpy(self.network))[0].numpy()
        if not np.isfinite(value).all():
            raise PcpinnError("the quantity is not finite", "check its function at the points of the domain")
        parts = np.abs(self.duals.contributions(functional)).sum(axis=1)
        found = self.safety * np.maximum(np.abs(value - own), _CELLS * parts) + error
        found += _ROUNDING * np.maximum(sizes.numpy(), self.duals.sizes(functional))
        how = f"{what}; corrected and judged on {self.how}"
        rows = zip(value.tolist(), found.tolist(), network.tolist(), strict=True)
        return [Quantity(v, e, how, n) for v, e, n in rows]


def ground_of(solution: Solution, problem: Problem) -> Ground:
    """Make the discretisations of a steady solution, once for all its quantities, and solve them.

    Raises:
        PcpinnError: when they are too large, or Newton's method does not converge from the network.
    """
    kept, theta = solution.kept.get("ground"), solution.network.theta.detach()
    if isinstance(kept, Ground) and kept.level.coarse.problem is problem and torch.equal(kept.theta, theta):
        return kept
    mesh, recipe = solution.mesh, Settings.from_dict(solution.settings).mesh
    assert isinstance(mesh, Mesh)
    elements = Elements(recipe.degree, recipe.element, recipe.quadrature)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PcpinnWarning)  # they were given with the solve
        coarse = elements.on(problem, mesh)
        fine, how, safety = _finer(elements, problem, mesh)
    if fine.size > _LARGEST[mesh.dimension]:
        raise PcpinnError(
            f"a finer discretisation has {fine.size} degrees of freedom, too many to factorise",
            "solve on a coarser mesh if you need an error",
        )
    u = discrete_solution(coarse, _values(solution, coarse))
    network = _values(solution, fine)
    inverses = Inverses(fine)
    better = discrete_solution(fine, network, inverses)
    ground = Ground(Level(coarse, u, fine, better, inverses), network, how, safety, theta.clone())
    solution.kept["ground"] = ground
    return ground


def _finer(elements: Elements, problem: Problem, mesh: Mesh) -> tuple[FiniteElements, str, float]:
    """Cells of half the size, moved onto curved sides; if that is too much, one degree more. And the safety factor.

    At singularities cells of half the size reduce the error by a known part, degrees by an unknown one. The quadrature is of
    higher order, to see sharp sources between its points.
    """
    own = max([elements.degree, *(f.degree or 0 for f in problem.unknowns)])
    order = max(elements.quadrature or 0, 2 * own + 4)
    fine = replace(elements, quadrature=order).on(problem, refined_everywhere(mesh, problem))
    if fine.size <= _LARGEST[mesh.dimension]:
        return fine, f"degree {elements.degree} and cells of half the size ({fine.size} unknowns)", _SAFETY
    fine = elements.finer(problem, mesh)
    degree = max(s.degree for s in fine.space.scalar)
    return fine, f"degree {degree} on the same cells ({fine.size} unknowns)", _SAFETY_OF_DEGREES


def _values(solution: Solution, fe: FiniteElements) -> np.ndarray:
    nodes = DiscreteEquation(fe).nodes
    at_points = np.reshape(solution(nodes.points), (len(nodes.points), -1))
    return at_points[nodes.point_of, nodes.component_of]
