"""The condition number of a discretised problem, in norms that approximate L2: the value converges as the mesh is refined."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ..discretize.discrete_equation import DiscreteEquation, eliminate
from ..discretize.discretisation import Discretisation, check_functions
from ..discretize.equation import distinct_points
from ..discretize.in_time import Simplices
from ..discretize.nonlinear import Linearisation, linearised_system, solve_newton
from ..discretize.slabs import TimeSlabs
from ..discretize.system import LinearSystem, linear_part
from ..errors import PcpinnError
from ..mesh.mesh import Mesh
from ..mesh.slab_mesh import AnyMesh
from ..precondition import AutoILU, Preconditioner
from ..precondition.inverse_norm import Map, largest_singular, measures
from ..problem.field import component_names
from ..problem.problem import Problem
from ..solve.build import make_discretisation, make_mesh, make_preconditioner
from ..solve.settings import Settings
from .inverse import Inverse, inverse_of
from .l2 import Gauge, gauge, mass_matrix, norm_of_right_hand_side
from .record import ConditionNumber, Direction, Preconditioned
from .whole_time import over_all_time, solve_in_steps

_HALVINGS, _STAYS = 4, 0.05  # of time steps, and what counts as the same value
_TOLERANCE = 1e-4  # of the worst direction; that of the norm is its square
_SPREAD = 1e-5
_KERNEL = 1e-8  # what a pinned equation leaves, beside its terms, if the pin only chooses among many solutions


@dataclass(frozen=True)
class Examined:
    """A condition number and what it was found with: the system (linearised at the solution u) and its inverse."""

    number: ConditionNumber
    system: LinearSystem
    inverse: Inverse
    u: np.ndarray
    seconds: float


def discrete_condition(
    problem: Problem, settings: Settings, preconditioner: str | Preconditioner | None, mesh: AnyMesh | None = None
) -> ConditionNumber:
    """By finite elements, finite differences or slabs of time, as the settings say; arguments as of `condition_number`."""
    started = time.perf_counter()
    found = examine(problem, settings, mesh)
    measured = None if preconditioner is None else measured_with(found, settings, preconditioner)
    return replace(found.number, preconditioned=measured, seconds=time.perf_counter() - started)


def examine(problem: Problem, settings: Settings, mesh: AnyMesh | None = None) -> Examined:
    """The condition number, with everything it was computed from.

    A wave with an open end in space-time is unstable where steps are too long for its cells: without a mesh of the caller's,
    steps are halved until the value stays.

    Raises:
        PcpinnError: when it does not, or there is no unique solution.
    """
    problem, settings = over_all_time(problem, settings)
    if mesh is not None or not _may_be_unstable(problem, settings):
        return _examine(problem, settings, mesh or make_mesh(problem, settings))
    mesh = make_mesh(problem, settings)
    steps = settings.time.steps or len(np.unique(mesh.simplices.nodes[:, -1])) - 1
    found = _examine(problem, settings, mesh)
    for _ in range(_HALVINGS):
        steps *= 2
        finer = _examine(problem, settings.updated({"steps": steps}), None)
        if abs(finer.number.inverse_norm / found.number.inverse_norm - 1) < _STAYS:
            return found
        found = finer
    raise PcpinnError(
        f"||F^-1|| does not settle with {steps} steps in time ({found.number.inverse_norm:.3g})",
        f"take larger cells in space, or begin with --set steps={steps}",
    )


def _may_be_unstable(problem: Problem, settings: Settings) -> bool:
    waves = bool(problem.second_order_fields)
    return waves and isinstance(settings.time, Simplices) and not isinstance(problem.domain, Mesh)


def _examine(problem: Problem, settings: Settings, mesh: AnyMesh | None) -> Examined:
    started = time.perf_counter()
    mesh = mesh or make_mesh(problem, settings)
    if mesh.dimension != problem.domain.dimension:
        raise PcpinnError(
            f"the mesh has {mesh.dimension} coordinates, the domain {problem.domain.dimension}",
            "they belong to other problems",
        )
    discretisation = make_discretisation(problem, mesh, settings)
    linear = check_functions(discretisation)
    system, u = _solved(discretisation, linear, settings)
    factorising = time.perf_counter()
    inverse = inverse_of(system.A, discretisation)
    factorising = time.perf_counter() - factorising
    if u is None:
        u = inverse.solve(system.b)
    inverse_norm, worst = inverse_and_direction(system, inverse)
    norm_f = norm_of_right_hand_side(discretisation)
    norm_u = float(np.sqrt(max(float(u @ (mass_matrix(discretisation) @ u)), 0.0)))
    number = ConditionNumber(
        inverse_norm=inverse_norm,
        norm_f=norm_f,
        norm_u=norm_u,
        method=settings.mesh.name,
        dofs=discretisation.size,
        linear=linear,
        worst=_direction(discretisation, worst),
        seconds=time.perf_counter() - started,
        how=inverse.how,
    )
    return Examined(number, system, inverse, u, factorising)


def _solved(discretisation: Discretisation, linear: bool, settings: Settings) -> tuple[LinearSystem, np.ndarray | None]:
    """The system, of a nonlinear problem the one linearised at its solution, and that solution if it is known already."""
    equation = DiscreteEquation(discretisation)
    if linear:
        return linear_part(equation), None
    if isinstance(discretisation, TimeSlabs) and discretisation.scheme.test_rate is None:
        u = solve_in_steps(discretisation, settings.mesh.degree, settings.mesh.quadrature)
    else:
        u = solve_newton(equation, tolerance=1e-8)
    return linearised_system(equation, u), u


def inverse_and_direction(system: LinearSystem, inverse: Inverse) -> tuple[float, np.ndarray]:
    """||F^-1|| at a linearisation, and all degrees of freedom (N,) of the direction that attains it."""
    solver = _UnpinnedInverse.of(system, inverse)
    g = solver.gauge

    def forward(c: np.ndarray) -> np.ndarray:
        return solver.solve(g.B @ solver.attainable(c))

    def adjoint(u: np.ndarray) -> np.ndarray:
        return solver.attainable(g.B.T @ solver.solve_transposed(g.M @ u))

    value, c = largest_singular(forward, adjoint, g.B.shape[1], tolerance=_TOLERANCE)
    u = forward(c) / (value or 1.0)
    return value, g.expand @ u


@dataclass(frozen=True)
class _UnpinnedInverse:
    """The inverse between unconstrained degrees of freedom; where a pin only chooses a constant, the solution of least norm.

    A pin that fixes the constant of a pressure is no part of the continuous problem: the value at a point means nothing in L2,
    and a right-hand side that no solution has (a divergence of mean not zero) would be met by a spike at the pin. The kernel is
    therefore taken out: right-hand sides are projected onto those that are attainable, solutions to the complement.

    Attributes:
        gauge: L2 without pins.
        kernel: (n, k) solutions without right-hand side, orthonormal in M; misses: (., k) right-hand sides without
            solution, orthonormal.
    """

    system: LinearSystem
    inverse: Inverse
    gauge: Gauge
    kernel: np.ndarray
    misses: np.ndarray

    @classmethod
    def of(cls, system: LinearSystem, inverse: Inverse) -> _UnpinnedInverse:
        """For a system whose matrix holds the pins."""
        discretisation = system.discretisation
        pinned = discretisation.constraints
        odd = not _symmetric(system.A)
        whole = gauge(discretisation, pinned, odd)
        none = np.empty((len(whole.free), 0)), np.empty((whole.B.shape[1], 0))
        as_is = cls(system, inverse, whole, *none)
        if not discretisation.problem.pins:
            return as_is
        loose = discretisation.constraints_for(replace(discretisation.problem, pins=()))
        extra = np.setdiff1d(loose.free, pinned.free)
        if not len(extra):
            return as_is
        at = system.at if isinstance(system, Linearisation) else np.zeros(system.size)
        A, _ = eliminate(system.equation.stiffness(at), np.zeros(system.size), loose)
        right, right_left = _null_vectors(A, extra, inverse.solve, pinned.free)
        left, left_left = _null_vectors(A.T.tocsr(), extra, inverse.solve_transposed, pinned.free)
        rows = system.weights if discretisation.name == "fdm" else np.ones(system.size)  # equations per volume
        component = discretisation.unknown_components[loose.free]
        constants = [_constant(v[loose.free], component) for v in (right, left / rows[:, None])]
        if max(right_left, left_left) > _KERNEL or not all(constants):
            return as_is
        g = gauge(discretisation, loose, odd)
        misses = g.B.T @ left[g.free]
        return cls(system, inverse, g, _orthonormal(right[g.free], g.M), _orthonormal(misses, None))

    def solve(self, b: np.ndarray) -> np.ndarray:
        """Degrees of freedom from a load, both (n,)."""
        full = np.zeros(self.system.size)
        full[self.gauge.free] = b
        full[self.system.discretisation.constraints.constrained] = 0.0
        u = self.inverse.solve(full)[self.gauge.free]
        return u - self.kernel @ (self.kernel.T @ (self.gauge.M @ u))

    def solve_transposed(self, r: np.ndarray) -> np.ndarray:
        """The transpose of `solve`."""
        r = r - self.gauge.M @ (self.kernel @ (self.kernel.T @ r))
        full = np.zeros(self.system.size)
        full[self.gauge.free] = r
        constrained = self.system.discretisation.constraints.constrained
        full[constrained] = 0.0
        result = self.inverse.solve_transposed(full)
        result[constrained] = 0.0
        return result[self.gauge.free]

    def attainable(self, c: np.ndarray) -> np.ndarray:
        """The part of a right-hand side that has a solution."""
        return c - self.misses @ (self.misses.T @ c)


def _symmetric(A: sp.csr_matrix) -> bool:
    return abs(A - A.T).max() <= 1e-10 * abs(A).max()


def _null_vectors(A: sp.csr_matrix, extra: np.ndarray, solve: Map, free: np.ndarray) -> tuple[np.ndarray, float]:
    """z (N, k) with A z = 0 in the rows `free` and z = 1 at one index of `extra` each; and the residual in the rows `extra`."""
    result = np.zeros((A.shape[0], len(extra)))
    left = 0.0
    for k, one in enumerate(extra):
        z = np.zeros(A.shape[0])
        z[one] = 1.0
        r = A @ z
        load = np.zeros_like(z)
        load[free] = r[free]
        z[free] -= solve(load)[free]
        result[:, k] = z
        left = max(left, float(np.abs(A[extra] @ z).max()) / (float(abs(A).max()) * float(np.abs(z).max())))
    return result, left


def _constant(Z: np.ndarray, component: np.ndarray) -> bool:
    """Whether vectors (n, k) are constant on one component each and vanish on the others, as kernels of equations are."""
    for z in Z.T:
        own = component == component[np.abs(z).argmax()]
        if np.ptp(z[own]) > _SPREAD * np.abs(z).max() or np.abs(z[~own]).max(initial=0.0) > _SPREAD * np.abs(z).max():
            return False
    return True


def _orthonormal(Z: np.ndarray, gram: sp.csr_matrix | None) -> np.ndarray:
    values, vectors = np.linalg.eigh(Z.T @ (Z if gram is None else gram @ Z))
    return Z @ (vectors / np.sqrt(values))


def measured_with(found: Examined, settings: Settings, wanted: str | Preconditioner | AutoILU) -> Preconditioned:
    """What a preconditioner, by the settings' name or itself, does to a system."""
    system, inverse = found.system, found.inverse
    _, settings = over_all_time(system.discretisation.problem, settings)
    recipe = (
        make_preconditioner(settings.updated({"preconditioner": wanted}), system.discretisation)
        if isinstance(wanted, str)
        else wanted
    )
    if isinstance(recipe, AutoILU):
        chosen = recipe.choose(system.A, system.discretisation.unknown_nodes, system.weights, system.nodes.component_of)
        recipe, state = chosen.preconditioner, chosen.state
    else:
        state = recipe.build(system.A)
    measured = measures(system.A, system.b, recipe, state, system.weights, (inverse.solve, inverse.solve_transposed))
    return Preconditioned(recipe.name, settings=recipe.describe(state), **measured)


def _direction(discretisation: Discretisation, u: np.ndarray) -> Direction:
    """Nodal values of all components at the distinct nodes; components of lower degree are interpolated there."""
    points, _ = distinct_points(discretisation.unknown_nodes, discretisation.components)
    values = discretisation.interpolate(u, points)
    if values.flat[np.abs(values).argmax()] < 0:
        u, values = -u, -values
    names, mesh = component_names(discretisation.problem.unknowns), discretisation.mesh
    return Direction(points, values, names, mesh.has_time, lambda x: discretisation.interpolate(u, x), mesh)
