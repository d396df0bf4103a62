"""Dirichlet values, periodic identifications and pins, as one affine constraint u = T u + g on some degrees of freedom."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.sparse as sp
import torch
from scipy.spatial import cKDTree

from ..errors import PcpinnError
from ..problem.conditions import Dirichlet, Periodic
from ..problem.problem import Problem
from .pointwise import dirichlet_values
from .space import Space

NodesOn = Callable[[str, int], np.ndarray]
_SAME_PLACE = 1e-9  # distance of nodes, beside the domain's extent


class Unknowns(Protocol):
    """What constraints need to know of a discretisation."""

    @property
    def size(self) -> int:
        """Number of degrees of freedom N."""

    @property
    def unknown_nodes(self) -> np.ndarray:
        """(N, d) position of each degree of freedom."""

    @property
    def unknown_components(self) -> np.ndarray:
        """(N,) component of each degree of freedom."""


@dataclass(frozen=True)
class Constraints:
    """u[constrained] = u[master] where there is a master, else = value.

    Attributes:
        constrained: indices of the constrained degrees of freedom, ascending.
        master: for each, the degree of freedom it repeats (periodic), or -1.
        value: for each, its prescribed value (0 where there is a master).
        tested_at: (N,) whose test function gives each its equation: its own, except for degrees of freedom at the end of time
            whose equation is of second order in it.
        source: for each, the degree of freedom that its value is prescribed for: itself, but along periodic chains.
    """

    size: int
    constrained: np.ndarray
    master: np.ndarray
    value: np.ndarray
    tested_at: np.ndarray
    source: np.ndarray

    @property
    def free(self) -> np.ndarray:
        """Indices of the unconstrained degrees of freedom."""
        return np.setdiff1d(np.arange(self.size), self.constrained)

    def expansion(self) -> tuple[sp.csr_matrix, np.ndarray]:
        """T (N, N) and g (N,): any u with T u + g = u satisfies the constraints; constrained columns vanish."""
        source = np.arange(self.size)
        source[self.constrained] = self.master
        keep = source >= 0
        T = sp.csr_matrix((np.ones(keep.sum()), (np.flatnonzero(keep), source[keep])), shape=(self.size, self.size))
        g = np.zeros(self.size)
        g[self.constrained] = self.value
        return T, g

    def satisfied(self, u: np.ndarray) -> np.ndarray:
        """u (N,) with its constrained degrees of freedom set to their required values: T u + g."""
        result = u.copy()
        result[self.constrained] = np.where(self.master >= 0, u[self.master], self.value)
        return result

    def reduced(self, r: np.ndarray) -> np.ndarray:
        """T^T r: residuals of constrained degrees of freedom go to their masters, if they have one."""
        result = r.copy()
        has_master = self.master >= 0
        np.add.at(result, self.master[has_master], r[self.constrained[has_master]])
        result[self.constrained] = 0.0
        return result


def carried(space: Space, coefficients: torch.Tensor | None, times: np.ndarray | None = None) -> np.ndarray | None:
    """(N, K + d) the degrees of freedom of a space (at time levels) extended by nodal values (n, K), as conditions see them."""
    if coefficients is None:
        return None
    values = np.concatenate([at_nodes(space, k) @ coefficients.numpy() for k in range(space.components)])
    nodes = np.column_stack([values, space.unknown_nodes])
    if times is None:
        return nodes
    return np.column_stack([np.tile(nodes, (len(times), 1)), np.repeat(times, space.size)])


def at_nodes(space: Space, component: int) -> sp.csr_matrix:
    """From nodal values in the space of the first component to values at the nodes of another."""
    first, own = space.scalar[0], space.scalar[component]
    return sp.identity(first.size, format="csr") if own is first else first.interpolation(own.nodes)


def find_constraints(
    problem: Problem, unknowns: Unknowns, nodes_on: NodesOn, points: np.ndarray | None = None
) -> Constraints:
    """Collect the essential conditions of a problem. Dirichlet wins over periodic; later boundaries over earlier ones.

    `points` (N, K + d) stand for the nodes where values are asked for, if these depend on more than the place.
    """
    master = np.full(unknowns.size, -1, dtype=np.int64)
    _identify(problem, unknowns, nodes_on, master)
    places = torch.from_numpy(unknowns.unknown_nodes if points is None else points)
    value = prescribed_values(problem, unknowns, nodes_on, places).numpy()
    # A prescribed value anywhere on a chain of identified nodes holds for the whole chain.
    slaves = np.flatnonzero(master >= 0)
    pinned = slaves[~np.isnan(value[slaves])]
    value[master[pinned]] = value[pinned]
    source = np.arange(unknowns.size)
    source[master[pinned]] = pinned
    prescribed = ~np.isnan(value)
    inherits = slaves[prescribed[master[slaves]]]
    value[inherits] = value[master[inherits]]
    source[inherits] = source[master[inherits]]
    prescribed[inherits] = True
    master[prescribed] = -1
    constrained = np.flatnonzero(prescribed | (master >= 0))
    tested_at = _exchange_tests(problem, unknowns, nodes_on)
    given = np.nan_to_num(value[constrained])
    return Constraints(unknowns.size, constrained, master[constrained], given, tested_at, source[constrained])


def prescribed_values(problem: Problem, unknowns: Unknowns, nodes_on: NodesOn, places: torch.Tensor) -> torch.Tensor:
    """Values (..., N) of Dirichlet conditions and pins at places (..., N, d), on their device; NaN where nothing is given.

    Places may have an axis of samples before that of the degrees of freedom: extended points of several parameters.
    """
    value = places.new_full(places.shape[:-1], torch.nan)
    for boundary, by_field in problem.conditions.items():
        for name, condition in by_field.items():
            if isinstance(condition, Dirichlet):
                components = problem.component_range(name)
                at = nodes_on(boundary, components[0])
                if not len(at):
                    continue
                x = places[..., at, :]
                field = problem.field(name)
                parts = dirichlet_values(condition, field, x.flatten(0, -2), boundary, problem.over_time)
                for component, part in zip(components, parts, strict=True):
                    if part is not None:
                        value[..., nodes_on(boundary, component)] = part.reshape(x.shape[:-1])
    for pin in problem.pins:
        component = problem.component_range(pin.field or problem.unknowns[0].name)[pin.component]
        own = np.flatnonzero(unknowns.unknown_components == component)
        nearest = _nearest(unknowns.unknown_nodes[own][:, : problem.dimension], np.asarray(pin.at))
        value[..., own[nearest]] = pin.value
    return value


def _nearest(places: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Which of the places (m, d) in space are the one nearest to a point; more than one if they differ in time."""
    nearest = places[np.linalg.norm(places - at, axis=1).argmin()]
    return np.flatnonzero(np.abs(places - nearest).max(axis=1) <= _SAME_PLACE * np.ptp(places, axis=0).max())


def _exchange_tests(problem: Problem, unknowns: Unknowns, nodes_on: NodesOn) -> np.ndarray:
    """Petrov-Galerkin for second order in time: test functions vanish at the end instead of at the start.

    Stable if the time step resolves the crossing of a cell, c dt <= dx / 2 or so.
    """
    tested_at = np.arange(unknowns.size)
    for name in problem.second_order_fields:
        for component in problem.component_range(name):
            end, start = nodes_on("final", component), nodes_on("initial", component)
            tested_at[end] = start[
                _match(unknowns.unknown_nodes[end], unknowns.unknown_nodes[start], "final", "initial")
            ]
    return tested_at


def _identify(problem: Problem, unknowns: Unknowns, nodes_on: NodesOn, master: np.ndarray) -> None:
    """Fill master[i] = j for node i on a periodic boundary and its translate j; corners follow the chain to its end."""
    for boundary, by_field in problem.conditions.items():
        for name, condition in by_field.items():
            if isinstance(condition, Periodic):
                for component in problem.component_range(name):
                    here, there = nodes_on(boundary, component), nodes_on(condition.partner, component)
                    master[here] = there[
                        _match(unknowns.unknown_nodes[here], unknowns.unknown_nodes[there], boundary, condition.partner)
                    ]
    for _ in range(unknowns.unknown_nodes.shape[1]):
        onward = (master >= 0) & (master[master] >= 0)
        master[onward] = master[master[onward]]
    if ((master >= 0) & (master[master] >= 0)).any():
        raise PcpinnError(
            "periodic conditions refer to each other in a circle", "say Periodic on one side of each pair only"
        )


def _match(here: np.ndarray, there: np.ndarray, a: str, b: str) -> np.ndarray:
    shift = there.mean(axis=0) - here.mean(axis=0) if len(here) == len(there) else np.zeros(here.shape[1])
    distance, index = cKDTree(there).query(here + shift)
    scale = np.ptp(there, axis=0).max() + np.abs(shift).max()
    if len(here) != len(there) or distance.max() > 1e-6 * scale or len(np.unique(index)) != len(index):
        raise PcpinnError(
            f"the nodes of boundaries {a!r} and {b!r} do not match ({len(here)} and {len(there)} nodes)",
            "the boundaries must be translates of each other with the same mesh on both: "
            "use cells=(...), or let the mesher make the mesh from a shape",
        )
    return index
