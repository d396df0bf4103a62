"""The error of an answer without a reference: its preconditioned residual on a finer discretisation.

The network u is put into a discretisation A_f u_f = b_f that is finer than the one it was trained on. Its residual there,
r = A_f u - b_f, vanishes for neither a badly trained network nor a too coarse training mesh. With P_f ~ A_f,
||P_f^-1 r|| is nearly ||A_f^-1 r|| = ||u - u_f||: the total error, up to the (smaller) one of the finer discretisation.
"""

from __future__ import annotations

import contextlib
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch

from ..discretize.discrete_equation import DiscreteEquation
from ..discretize.elements import ELEMENTS
from ..discretize.finite_elements import FiniteElements
from ..discretize.linear_solves import solve_krylov
from ..discretize.nonlinear import linearised_near
from ..discretize.slabs import TimeSlabs
from ..errors import PcpinnError
from ..mesh.bisect import bisected
from ..mesh.mesh import Mesh
from ..mesh.meshing import Differences, Meshing
from ..mesh.onto_walls import curved_edges
from ..mesh.refine import refined
from ..mesh.slab_mesh import AnyMesh, SlabMesh
from ..network.marched import MarchedNetwork
from ..network.protocol import Network
from ..precondition import ILU, Separable, TimeOrder
from ..problem.field import Field
from ..problem.problem import Problem
from ..problem.shape_base import Domain
from ..problem.walls import walls_of
from ..progress import Progress
from ..solution.solution import Solution
from .adapt.march_error import estimate_march
from .build import make_mesh
from .settings import Settings

_AFFORDABLE_UNKNOWNS = {1: 10**6, 2: 400_000, 3: 80_000}
_AFFORDABLE_SLABS = 10**6
_AS_GOOD_AS_ARCS = 3  # degree of elements whose error falls as fast as that of parabolas along curved walls


@dataclass(frozen=True)
class ErrorEstimate:
    """What is known of an error without a reference: an estimate, no bound, since the finer discretisation has an error, too.

    Attributes:
        estimate: relative L2 error of the network, from the preconditioned residual on the finer discretisation.
        how: the finer discretisation in words.
        unknowns: its size.
    """

    estimate: float
    how: str
    unknowns: int

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


def certify(solution: Solution, problem: Problem | None = None) -> ErrorEstimate:
    """Estimate the total relative L2 error of an answer without a reference, on a finer discretisation.

    Args:
        solution: of `pcpinn.solve` or `pcpinn.load`.
        problem: the PDE; needed only for a solution that was loaded from disk.

    Raises:
        PcpinnError: when no finer discretisation can be made or factorised.
    """
    known = problem or solution.problem
    if known is None:
        raise PcpinnError("a loaded solution does not know its equations", "call pcpinn.certify(solution, problem)")
    settings = Settings.from_dict(solution.settings)
    if isinstance(solution.network, MarchedNetwork):
        assert isinstance(solution.mesh, SlabMesh)
        fields, size = estimate_march(known, solution.mesh, settings, solution.network)
        return ErrorEstimate(max(fields.values()), "a discrete march, finer in space and in time", size)
    return estimate_error(solution.network, known, solution.mesh, settings)


def affordable_estimate(
    network: Network, problem: Problem, mesh: AnyMesh, settings: Settings, progress: Progress
) -> ErrorEstimate | None:
    """The estimate that comes with an answer; None where it is not wanted, or not to be had, which is said."""
    if not settings.run.certify:
        return None
    progress.stage("error estimate")
    try:
        return estimate_error(network, problem, mesh, settings, affordable=True)
    except PcpinnError as error:  # the answer stands without it
        progress.note(f"no error estimate: {error.problem}")
        return None


def estimate_error(
    network: Network, problem: Problem, mesh: AnyMesh, settings: Settings, affordable: bool = False
) -> ErrorEstimate:
    """Estimate the total relative L2 error of a network.

    For a nonlinear problem the finer discretisation is linearised at the network: one Newton correction.

    Args:
        network: the answer.
        problem: the PDE.
        mesh: where the network was trained.
        settings: of the solve; its degree tells which discretisation is finer.
        affordable: refuse where it would cost more than the solve did.

    Raises:
        PcpinnError: when no finer discretisation can be made or factorised.
    """
    finer, how = _finer(problem, mesh, settings)
    by_slabs = isinstance(finer, TimeSlabs)
    if affordable and finer.size > (_AFFORDABLE_SLABS if by_slabs else _AFFORDABLE_UNKNOWNS[mesh.dimension]):
        raise PcpinnError(
            f"a finer discretisation ({how}) has {finer.size} degrees of freedom, which would cost more than the solve itself",
            "call pcpinn.certify(solution) if you want it all the same",
        )
    equation = DiscreteEquation(finer)
    u = _values(network, equation)
    system = linearised_near(equation, u)
    r = system.A @ u - system.b
    preconditioner: Any = ILU(drop_tolerance=1e-4, fill_factor=30.0)
    if by_slabs:
        of_slabs = Separable() if settings.time.scheme == "galerkin" else TimeOrder()
        preconditioner = of_slabs.fitted(finer, settings.run.memory)
    state = preconditioner.build(system.A)
    # A few Krylov steps bring P^-1 r nearer to A^-1 r where P alone is not good enough.
    error = solve_krylov(system.A, r, lambda v: preconditioner.apply(state, v), tolerance=1e-3)
    if error is None:
        raise PcpinnError("the error estimate did not converge", "use certify=false, or a finer mesh")
    scale = system.norm(u) or 1.0
    estimate = system.norm(error) / scale
    return ErrorEstimate(estimate, how, system.size)


def _finer(problem: Problem, mesh: AnyMesh, settings: Settings) -> tuple[FiniteElements | TimeSlabs, str]:
    if isinstance(mesh, SlabMesh):
        return _finer_slabs(problem, mesh, settings)
    return _finer_elements(problem, mesh, settings)


def _finer_slabs(problem: Problem, mesh: SlabMesh, settings: Settings) -> tuple[TimeSlabs, str]:
    mesh, degree, order, how = finer_slabs(mesh, settings)
    return TimeSlabs(problem, mesh, settings.time.scheme, order, degree, element=settings.mesh.element), how


def finer_slabs(mesh: SlabMesh, settings: Settings) -> tuple[SlabMesh, int, int, str]:
    """Mesh, degree and time levels per slab of a finer discretisation, and this in words.

    One degree more in space (or smaller cells) and one more time level per slab of time.
    """
    degree, order = settings.mesh.degree, min(settings.time.order + 1, 12)
    element = settings.mesh.element
    if degree < ELEMENTS.find(element).highest[mesh.space.dimension]:
        degree, how = degree + 1, f"degree {degree + 1} on the same mesh"
    else:
        mesh, how = SlabMesh(refined(mesh.space), mesh.times), f"degree {degree} on cells of half the size"
    return mesh, degree, order, f"{how}, {order} time levels per slab"


def _finer_elements(problem: Problem, mesh: Mesh, settings: Settings) -> tuple[FiniteElements, str]:
    fields, mesh, degree, how = finer_elements(problem, mesh, settings)
    return FiniteElements(replace(problem, fields=fields), mesh, degree, element=settings.mesh.element), how


def finer_elements(problem: Problem, mesh: Mesh, settings: Settings) -> tuple[tuple[Field, ...], Mesh, int, str]:
    """Fields, mesh and degree of a finer discretisation, and this in words.

    One degree more where elements have it, else cells of half the size; curved boundaries are followed in any case.
    """
    d = mesh.dimension
    recipe = settings.mesh
    own_degree = max([recipe.degree, *(f.degree or 0 for f in problem.unknowns)])
    highest = ELEMENTS.find(recipe.element).highest[d]
    own = isinstance(problem.domain, Mesh)
    if isinstance(recipe, Meshing) and not own and not recipe.curved:
        with contextlib.suppress(PcpinnError):  # without a mesher the straight mesh must do
            mesh = make_mesh(problem, settings.with_recipe("mesh", replace(recipe, curved=True))).simplices
    graded = ""
    if isinstance(recipe, Meshing) and recipe.lines and not own:  # degrees alone do not resolve singularities
        mesh = make_mesh(problem, settings.with_recipe("mesh", replace(recipe, lines=recipe.lines + 2))).simplices
        graded = ", graded further"
    elif mesh.curved and own_degree > _AS_GOOD_AS_ARCS:
        closer = _closer_to_walls(mesh, problem)
        graded = ", cells along curved walls cut" if closer is not mesh else ""
        mesh = closer
    if isinstance(recipe, Differences):
        degree, how = 2, "finite elements of degree 2 on the same grid"
    elif d == 3 and isinstance(problem.domain, Domain) and any(w.quadratic.any() for w in walls_of(problem.domain)):
        degree, mesh = (
            recipe.degree,
            refined(mesh, problem.domain),
        )  # straight cells along curved walls: degrees do not help
        how = f"degree {degree} on cells of half the size, closer to curved walls"
    elif own_degree < highest:
        degree = recipe.degree + 1
        how = f"degree {degree} on the same mesh{graded}"
    else:
        degree, mesh = recipe.degree, refined(mesh)
        how = f"degree {degree} on cells of half the size{graded}"
    raised = tuple(
        replace(f, degree=min(f.degree + 1, highest)) if f.degree and degree > recipe.degree else f
        for f in problem.unknowns
    )
    return raised, mesh, degree, how


def _closer_to_walls(mesh: Mesh, problem: Problem) -> Mesh:
    """Elements of high degree on the same curved cells would not see what these leave of the domain or add to it."""
    domain = problem.domain if isinstance(problem.domain, Domain) else None
    edges = curved_edges(mesh, domain)
    if edges is None:
        return mesh
    at_walls = np.isin(mesh.vertices, edges.ends).sum(axis=1) >= 2
    return bisected(mesh, at_walls, domain, problem.periodic_pairs)[0]


def _values(network: Network, equation: DiscreteEquation) -> np.ndarray:
    nodes = equation.nodes
    with torch.no_grad():
        at_points = network(torch.as_tensor(nodes.points).to(network.theta)).double().cpu().numpy()
    return at_points[nodes.point_of, nodes.component_of]
