"""What the doctor looks at before anything is solved: points, states of the size of the data, the first mesh of accuracy mode."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from ..discretize.samples import data_states, lengths, sample_points
from ..discretize.symbol import Symbol, symbol
from ..errors import PcpinnWarning
from ..mesh.mesh import Mesh
from ..problem.problem import Problem
from ..solve.adapt.wish import DEGREE, first_mesh
from ..solve.linear import settings_of

_POINTS = 200


@dataclass(frozen=True)
class View:
    """A problem at points.

    Attributes:
        problem: the PDE.
        x: (n, d) points, time last.
        state: (n, C, 1 + d) states there: those of a discrete solution, or of the size of the data.
        solved: whether the states are those of a solution.
    """

    problem: Problem
    x: Tensor
    state: Tensor
    solved: bool = False

    @cached_property
    def finite(self) -> np.ndarray:
        """(n,) bool: where derivatives are finite."""
        return symbol(self.problem, self.x, self.state).finite

    @cached_property
    def flat(self) -> Symbol:
        """With gradients set to zero: what reaction does by itself."""
        state = self.state.clone()
        state[:, :, 1:] = 0
        found = symbol(self.problem, self.x, state)
        return found.at(found.finite)

    @cached_property
    def symbol(self) -> Symbol:
        """At points and states that it is finite at."""
        return symbol(self.problem, self.x, self.state).at(self.finite)

    @cached_property
    def mesh(self) -> Mesh:
        """The mesh, in space, that accuracy mode begins with."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PcpinnWarning)
            return first_mesh(self.problem, settings_of("pcpinn", self.problem, None, {}))

    @property
    def degree(self) -> int:
        """Of the elements on it."""
        return DEGREE[min(self.mesh.dimension, 3)]

    @cached_property
    def cell(self) -> float:
        """Size of a cell of the first mesh."""
        corners = self.mesh.nodes[self.mesh.vertices][:, :, : self.problem.dimension]
        return float(np.median(np.ptp(corners, axis=1).max(axis=1)))

    @property
    def length(self) -> float:
        """Longest side of the domain."""
        return lengths(self.problem)[0]

    @property
    def duration(self) -> float:
        """Of time; 0 where there is none."""
        return lengths(self.problem)[1]


def view_of(problem: Problem, states: np.ndarray | None = None) -> View:
    """A problem at random points with states of the size of its data, or at those given.

    Args:
        problem: the PDE.
        states: (m, d + C (1 + d)) points, and values and gradients of a discrete solution there.
    """
    if states is None:
        x = sample_points(problem, _POINTS)
        return View(problem, x, data_states(problem, x))
    d = problem.domain.dimension
    values = torch.from_numpy(states[:, d:].reshape(len(states), problem.components, 1 + d))
    return View(problem, torch.from_numpy(np.ascontiguousarray(states[:, :d])), values, solved=True)
