"""||F^-1|| by a network: the largest ||u|| / ||F u|| over its weights, conditions held in homogeneous form.

u = d(x) N(x): d vanishes where values are given, twice where rates are given too (`Initial`). For given hidden layers the best
last layer is an eigenvector: a small dense problem, solved exactly, among those last layers that satisfy natural and periodic
conditions, which no simple factor holds. Hidden layers begin at random; networks are widened until the value stays, and where it
does not, all layers are trained by L-BFGS. The integrals are quadratures over the mesh's cells.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from skfem.quadrature import get_quadrature
from torch import Tensor

from ..discretize.discrete_equation import DiscreteEquation
from ..discretize.discretisation import check_functions
from ..discretize.elements import LAGRANGE
from ..discretize.in_time import Simplices, Slabs
from ..discretize.pointwise import BoundaryFlux, Pointwise
from ..discretize.system import linear_part
from ..errors import PcpinnError
from ..mesh.mesh import Mesh
from ..mesh.points import boundary_points, spacing_of
from ..mesh.refine import refined
from ..mesh.slab_mesh import ENDS, AnyMesh
from ..network.dense import DenseNetwork
from ..network.recipe import MLP
from ..problem.conditions import Condition, Dirichlet, Initial, NaturalCondition, Periodic
from ..problem.field import component_names
from ..problem.problem import Problem
from ..solve.build import make_discretisation, make_mesh, make_network
from ..solve.linear import solve
from ..solve.march.recipe import March
from ..solve.settings import Settings
from ..strong.hard import make_ansatz
from .l2 import mass_matrix, right_hand_side
from .linear_operator import (
    PointFunction,
    first_jets_of,
    jets_of,
    linearise,
    linearise_condition,
    linearise_flux,
    many_jets_of,
)
from .record import ConditionNumber, Direction
from .whole_time import by_elements

_POINTS = {1: 800, 2: 4000, 3: 8000}  # of the quadrature, at least, by the number of coordinates
_WIDTH = {1: 100, 2: 250, 3: 350}  # of the last hidden layer, at least
_NEGLIGIBLE = 1e-10  # directions of the last layer that F hardly sees are rounding
_SATISFIED = 1e-8  # rows of conditions, beside the largest
_WIDER = (1, 2, 4)  # times the width
_STEPS, _GAIN = 20, 3e-3  # of L-BFGS; a gain that is worth another attempt
_SECONDS = 60.0  # after which nothing further is tried


def neural_condition(problem: Problem, settings: Settings, mesh: AnyMesh | None = None) -> ConditionNumber:
    """Maximise ||u|| / ||F'(u_0) u|| over the weights of a network; arguments as of `condition_number`.

    A nonlinear problem is linearised at the network that `pcpinn.solve` finds with the same settings.

    Raises:
        PcpinnError: when the conditions cannot be held by a factor (see `solve/hard.py`).
    """
    started = time.perf_counter()
    if not isinstance(settings.network, MLP):
        raise PcpinnError(
            f"the neural condition number is found with an mlp, not with network={settings.network.name}",
            "leave network out, or take the discrete one",
        )
    changes: dict[str, Any] = {"device": "cpu"}
    if isinstance(settings.time, March) or (isinstance(settings.time, Slabs) and settings.time.scheme != "galerkin"):
        changes["time"] = Simplices(settings.time.steps)
    settings = by_elements(settings).updated(changes).updated({"precision": "float64"})
    mesh = mesh or make_mesh(problem, settings)
    base, norm_u, linear = _solution(problem, settings, mesh)
    cells = mesh.simplices
    value = 0.0
    for factor in _WIDER:
        network = make_network(
            problem, mesh, settings.updated({"width": factor * max(settings.network.width, _WIDTH[mesh.dimension])})
        )
        search = _Search(problem, cells, network, base)
        before, value = value, search.solve_last_layer()
        late = time.perf_counter() - started > _SECONDS
        if late or value <= (1 + _GAIN) * before:
            break
    else:
        if not search.rows:
            search.train(_STEPS, started + _SECONDS)
            before, value = value, search.solve_last_layer()
    grew = f", grew by {value / before - 1:.1%} at last" if value > (1 + _GAIN) * before > 0 else ""
    f = right_hand_side(problem, search.x)
    norm_f = float(torch.sqrt((search.w[:, None] * f**2).sum()))
    if norm_u is None:
        norm_u = float(torch.sqrt((search.w[:, None] * torch.func.vmap(base)(search.x) ** 2).sum()))
    return ConditionNumber(
        inverse_norm=value,
        norm_f=norm_f,
        norm_u=norm_u,
        method="neural",
        dofs=search.network.parameter_count,
        linear=linear,
        worst=search.direction(component_names(problem.unknowns)),
        seconds=time.perf_counter() - started,
        how=f"{len(search.x)} points{grew}",
    )


def _solution(problem: Problem, settings: Settings, mesh: AnyMesh) -> tuple[PointFunction, float | None, bool]:
    """Where to linearise, the norm of the solution where that is known, and whether the problem is linear."""
    discretisation = make_discretisation(problem, mesh, settings)
    if check_functions(discretisation):
        u = linear_part(DiscreteEquation(discretisation)).solution
        size = float(np.sqrt(u @ (mass_matrix(discretisation) @ u)))
        zero = torch.zeros(problem.components, dtype=torch.float64)
        return lambda p: zero + 0.0 * p.sum(), size, True
    network = solve(problem, settings.updated({"certify": False}), on=mesh).network
    assert isinstance(network, DenseNetwork)
    theta = network.theta.detach()
    return lambda p: network.evaluate(theta, p), None, False


@dataclass(frozen=True)
class _Rows:
    """Conditions at the boundary: coefficients (m, C, C, 1 + d) of the state at points x, minus those elsewhere."""

    x: Tensor
    coefficients: Tensor
    elsewhere: Tensor | None = None


class _Search:
    """The quadrature, the operator at its points, and the network under its factor."""

    def __init__(self, problem: Problem, mesh: Mesh, network: DenseNetwork, base: PointFunction) -> None:
        self.mesh, self.network = mesh, network
        self.x, self.w = quadrature(mesh, _POINTS[mesh.dimension])
        self.factor = homogeneous_factor(problem, mesh)
        pointwise = Pointwise(problem, strong=True)
        self.operator = linearise(pointwise, base, self.x)
        self.rows = _rows_of_conditions(problem, mesh, pointwise, base, len(self.x))
        self.theta = _spread_biases(network)

    def features(self, p: Tensor) -> Tensor:
        """(d,) -> (C, K): what the last layer adds up, at one point."""
        hidden = self.network.hidden(self.theta, self.network.encode(p))
        with_constant = torch.cat([hidden, hidden.new_ones(1)])
        return self.factor(p)[:, None] * with_constant

    def value(self, theta: Tensor, p: Tensor) -> Tensor:
        """(d,) -> (C,): the network under its factor."""
        return self.factor(p) * self.network.propagate(theta, self.network.encode(p))

    def solve_last_layer(self) -> float:
        """The best ratio for the hidden layers as they are; its last layer is put into the network."""
        with torch.no_grad():
            jets = many_jets_of(self.features, self.x)  # (n, C, K, ...)
            n, C, K = jets.value.shape
            basis = torch.eye(C * K, dtype=torch.float64)
            for rows in self.rows:
                basis = _null_space(_at_boundary(rows, self.features) @ basis, basis)
            root = torch.sqrt(self.w).repeat_interleave(C)[:, None]
            image = root * self.operator.apply(jets).reshape(n * C, C * K) @ basis
            S, V = torch.linalg.svd(image, full_matrices=False)[1:]
            kept = _NEGLIGIBLE * S[0] < S
            basis = basis @ (V[kept].T / S[kept])  # orthonormal images
            values = torch.einsum("nck,ckj->ncj", jets.value, basis.reshape(C, K, -1))
            _, singular, right = torch.linalg.svd(root * values.reshape(n * C, -1), full_matrices=False)
            head = (basis @ right[0]).reshape(C, K)
            head = head / head.abs().max()
            weight, bias = self.network.layers(self.theta)[-1]
            weight.copy_(head[:, :-1] / self.network.output_scale)
            bias.copy_(head[:, -1] / self.network.output_scale)
        return float(singular[0])

    def train(self, steps: int, until: float) -> None:
        """Move all weights towards a larger ratio, by L-BFGS, until that time of the clock; the best ones are kept."""
        theta = self.theta.clone().requires_grad_()
        optimiser = torch.optim.LBFGS([theta], max_iter=steps, history_size=50, line_search_fn="strong_wolfe")
        best = float("inf")

        def closure() -> Tensor:
            nonlocal best
            if time.perf_counter() > until:
                raise TimeoutError
            optimiser.zero_grad()
            loss = self.loss(theta)
            loss.backward()
            if float(loss.detach()) < best:
                best, self.theta = float(loss.detach()), theta.detach().clone()
            return loss

        with contextlib.suppress(TimeoutError):
            optimiser.step(closure)

    def loss(self, theta: Tensor) -> Tensor:
        """log(||F u||^2 / ||u||^2)."""

        def function(p: Tensor) -> Tensor:
            return self.value(theta, p)

        jets = jets_of(function, self.x)
        image = (self.w[:, None] * self.operator.apply(jets) ** 2).sum()
        return torch.log(image) - torch.log((self.w[:, None] * jets.value**2).sum())

    def direction(self, names: tuple[str, ...]) -> Direction:
        """The network at the points of the quadrature, of norm one."""
        with torch.no_grad():
            u = torch.func.vmap(lambda p: self.value(self.theta, p))(self.x)
            unit = torch.sqrt((self.w[:, None] * u**2).sum()) * torch.sign(u.flatten()[u.abs().argmax()])

        def values(x: np.ndarray) -> np.ndarray:
            with torch.no_grad():
                return (torch.func.vmap(lambda p: self.value(self.theta, p))(torch.from_numpy(x)) / unit).numpy()

        return Direction(self.x.numpy(), (u / unit).numpy(), names, self.mesh.has_time, values, self.mesh)


def quadrature(mesh: Mesh, least: int) -> tuple[Tensor, Tensor]:
    """Quadrature points (n, d) and weights (n,) over the cells of a mesh, n no less than asked for."""
    d = mesh.dimension
    element = LAGRANGE.element(d, 1)
    while 12 * len(mesh.cells) < least:
        mesh = refined(mesh)
    for order in range(4, 13):
        X, w = get_quadrature(element, order)
        if (w > 0).all() and len(w) * len(mesh.cells) >= least:
            break
    mapping = mesh.skfem.mapping()
    x = np.moveaxis(mapping.F(X), 0, -1).reshape(-1, d)
    dx = (np.abs(mapping.detDF(X)) * w).ravel()
    return torch.from_numpy(np.ascontiguousarray(x)), torch.from_numpy(dx)


def homogeneous_factor(problem: Problem, mesh: Mesh) -> PointFunction:
    """d: (d,) -> (C,), zero where values are given and twice so where rates are given too."""
    given = {name: {f: _homogeneous(c) for f, c in by_field.items()} for name, by_field in problem.conditions.items()}
    ansatz = make_ansatz(replace(problem, boundary=given), mesh)
    rates = {name: Initial(0.0) for name in problem.second_order_fields}
    twice = make_ansatz(replace(problem, boundary={"initial": rates}), mesh) if rates else None
    ones = torch.ones(problem.components, dtype=torch.float64)

    def factor(p: Tensor) -> Tensor:
        d = ones if ansatz is None else ansatz(p, ones)
        return d if twice is None else d * twice(p, ones)

    return factor


def _homogeneous(condition: Condition) -> Condition:
    if not isinstance(condition, Dirichlet):
        return condition
    value = condition.value
    parts = isinstance(value, list | tuple) and any(v is None for v in value)
    zero = [None if v is None else 0.0 for v in value] if parts else 0.0  # type: ignore[union-attr]
    return Initial(zero) if isinstance(condition, Initial) else Dirichlet(zero)


def _rows_of_conditions(
    problem: Problem, mesh: Mesh, pointwise: Pointwise, base: PointFunction, points: int
) -> list[_Rows]:
    """Natural and periodic conditions, linearised."""
    result = []
    spacing, random = spacing_of(mesh, points), np.random.default_rng(0)
    first = dict(zip((f.name for f in problem.unknowns), _starts(problem), strict=True))
    for name in mesh.boundary_names:
        held = problem.conditions.get(name, {})
        at = boundary_points(mesh, name, spacing, random)
        x, n = torch.from_numpy(at.x), torch.from_numpy(at.normals)
        natural = [k for f in problem.unknowns for k in _natural(f.name, held.get(f.name), problem, name, first, x)]
        if natural:
            J = linearise_flux(pointwise, base, x, n)
            condition = BoundaryFlux(problem, name)
            if not condition.is_zero:
                J = J - linearise_condition(condition, base, x, n)
            if bool((J[:, natural] != 0).any()):
                result.append(_Rows(x, J[:, natural]))
        for f in problem.unknowns:
            there = held.get(f.name)
            if isinstance(there, Periodic):
                shift = torch.from_numpy(_centre(mesh, there.partner) - _centre(mesh, name))
                own = list(range(first[f.name], first[f.name] + f.components))
                same = torch.eye(problem.components, dtype=torch.float64)[own]
                values = torch.zeros(len(x), len(own), problem.components, 1 + mesh.dimension, dtype=torch.float64)
                values[..., 0] = same
                flux = linearise_flux(pointwise, base, x, n)[:, own]
                result.append(_Rows(x, torch.cat([values, flux], dim=1), x + shift))
    return result


def _natural(
    name: str, condition: Condition | None, problem: Problem, boundary: str, first: dict[str, int], x: Tensor
) -> list[int]:
    """Components of a field with a condition on the flux here that no factor holds."""
    f = problem.field(name)
    every = list(range(first[name], first[name] + f.components))
    if isinstance(condition, Periodic) or (problem.over_time and boundary in ENDS):
        return []
    if isinstance(condition, Dirichlet):
        value = condition.value
        parts = value if isinstance(value, list | tuple) else [0.0] * f.components
        return [k for k, v in zip(every, parts, strict=True) if v is None]
    others = (by_field.get(name) for by_field in problem.conditions.values())
    if condition is None and any(isinstance(c, Periodic) and c.partner == boundary for c in others):
        return []
    return every if condition is None or isinstance(condition, NaturalCondition) else []


def _at_boundary(rows: _Rows, features: PointFunction) -> Tensor:
    """What the rows make of K features per component: (m * R, C * K)."""

    def at(x: Tensor) -> Tensor:
        state = first_jets_of(features, x)  # (m, C, K, 1 + d)
        return torch.einsum("mrbj,mbkj->mrbk", rows.coefficients, state).flatten(2).flatten(0, 1)

    return at(rows.x) if rows.elsewhere is None else at(rows.x) - at(rows.elsewhere)


def _null_space(rows: Tensor, basis: Tensor) -> Tensor:
    """The part of a basis that satisfies the rows."""
    S, V = torch.linalg.svd(rows, full_matrices=True)[1:]
    rank = int((_SATISFIED * S[0] < S).sum()) if len(S) and S[0] > 0 else 0
    if rank == V.shape[0]:
        raise PcpinnError("the network is too narrow for the conditions at the boundary", "raise width, or use fem")
    return basis @ V[rank:].T


def _spread_biases(network: DenseNetwork) -> Tensor:
    """The weights with hidden biases from [-1, 1]: with none, features are odd about the centre."""
    theta = network.theta.detach().clone()
    generator = torch.Generator().manual_seed(1)
    for _, bias in network.layers(theta)[:-1]:
        bias.copy_(2 * torch.rand(len(bias), generator=generator, dtype=torch.float64) - 1)
    return theta


def _starts(problem: Problem) -> list[int]:
    return np.cumsum([0] + [f.components for f in problem.unknowns])[:-1].tolist()


def _centre(mesh: Mesh, name: str) -> np.ndarray:
    nodes = mesh.nodes[np.unique(mesh.boundaries[name])]
    return 0.5 * (nodes.min(axis=0) + nodes.max(axis=0))
