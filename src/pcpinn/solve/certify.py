"""The error of an answer without a reference: its preconditioned residual on a finer discretisation.

The network u is put into a discretisation A_f u_f = b_f that is finer than the one it was trained on. Its residual there,
r = A_f u - b_f, vanishes for neither a badly trained network nor a too coarse training mesh. With P_f ~ A_f,
||P_f^-1 r|| is nearly ||A_f^-1 r|| = ||u - u_f||: the total error, up to the (smaller) one of the finer discretisation.

Degrees do not see what lies between all points of quadrature: where coefficients vary inside cells, these are cut (finer.py), and
what is left of that is a part of the estimate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from ..discretize.discrete_equation import DiscreteEquation
from ..discretize.linear_solves import solve_krylov
from ..discretize.nonlinear import Linearisation, linearised_near, solve_newton
from ..discretize.samples import sample_points
from ..errors import PcpinnError
from ..mesh.slab_mesh import AnyMesh, SlabMesh
from ..network.marched import MarchedNetwork
from ..network.protocol import Network
from ..precondition import ILU, Separable, TimeOrder
from ..problem.problem import Problem
from ..progress import Progress
from ..solution.solution import Solution
from .adapt.march_error import estimate_march
from .afford import AFFORDABLE
from .cost import judging_seconds
from .finer import finer
from .settings import Settings

_AFFORDABLE_SLABS = 10**6
_STATES = 2  # of the answer, at which coefficients are looked at
_STEP = 1e-4  # of the domain, for its slopes there
_NEXT = 0.1  # of a Newton correction: more in the next one means that the first says little of the distance
_MATTERS = 0.2  # of the estimate: a part for what varies unseen that is said


@dataclass(frozen=True)
class ErrorEstimate:
    """What is known of an error without a reference: an estimate, no bound, since the finer discretisation has an error, too.

    Attributes:
        estimate: relative L2 error of the network, from the preconditioned residual on the finer discretisation.
        how: the finer discretisation in words.
        unknowns: its size.
        unseen: the part of the estimate for coefficients that vary unseen inside its cells.
    """

    estimate: float
    how: str
    unknowns: int
    unseen: float = 0.0

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
        found = estimate_error(network, problem, mesh, settings, affordable=True)
    except PcpinnError as error:  # the answer stands without it
        progress.note(f"no error estimate: {error.problem}")
        return None
    if found.unseen > _MATTERS * found.estimate:
        progress.note(
            "coefficients or boundary data vary inside cells, and cells that follow them would be too many: the error estimate "
            "is a guess; take finer cells, or average them"
        )
    return found


def _refuse_above(most: float, size: int, about: str, how: str) -> None:
    if size > most:
        raise PcpinnError(
            f"a finer discretisation ({how}) has {about}{size} degrees of freedom, which would cost more than the solve itself",
            "call pcpinn.certify(solution) if you want it all the same",
        )


def estimate_error(
    network: Network, problem: Problem, mesh: AnyMesh, settings: Settings, affordable: bool = False
) -> ErrorEstimate:
    """Estimate the total relative L2 error of a network.

    For a nonlinear problem the finer discretisation is linearised at the network: one Newton correction. Where the next one would
    not be much smaller, the network is too far from the answer for that, and the finer discretisation is solved.

    Args:
        network: the answer.
        problem: the PDE.
        mesh: where the network was trained.
        settings: of the solve; its degree tells which discretisation is finer.
        affordable: refuse where it would cost more than the solve did.

    Raises:
        PcpinnError: when no finer discretisation can be made or factorised.
    """
    by_slabs = isinstance(mesh, SlabMesh)
    most = math.inf if not affordable else _AFFORDABLE_SLABS if by_slabs else AFFORDABLE[mesh.dimension]
    nodes = len(mesh.space.nodes) * len(mesh.times) if isinstance(mesh, SlabMesh) else len(mesh.nodes)
    _refuse_above(most, nodes * problem.components, "at least ", "one degree or cells more")  # before it is built
    judged = finer(problem, mesh, settings, _states(network, problem))
    form = judged.form
    _refuse_above(most, form.size, "", judged.how)
    seconds, limit = judging_seconds(form.size, form.space.mesh.dimension), settings.run.time_limit
    if affordable and seconds > limit:
        raise PcpinnError(
            f"on a finer discretisation ({judged.how}) it would take about {seconds:.2g} s, longer than the time limit of "
            f"{limit:g} s",
            "call pcpinn.certify(solution) if you want it all the same",
        )
    equation = DiscreteEquation(form)
    u = _values(network, equation)
    system = linearised_near(equation, u)
    r = system.A @ u - system.b
    preconditioner: Any = ILU(drop_tolerance=1e-4, fill_factor=30.0)
    if by_slabs:
        of_slabs = Separable() if settings.time.scheme == "galerkin" else TimeOrder()
        preconditioner = of_slabs.fitted(form, settings.run.for_preconditioner)
    state = preconditioner.build(system.A)
    # A few Krylov steps bring P^-1 r nearer to A^-1 r where P alone is not good enough.
    error = solve_krylov(system.A, r, lambda v: preconditioner.apply(state, v), tolerance=1e-3)
    if error is None:
        raise PcpinnError("the error estimate did not converge", "use certify=false, or a finer mesh")
    if not by_slabs and not system.exact_at(u - error):
        error = _to_the_end(system, u, error, lambda v: preconditioner.apply(state, v))
    scale = system.norm(u - error) or system.norm(u) or 1.0  # an answer that misses a source may be zero
    unseen = judged.hidden_part(u - error)
    return ErrorEstimate(system.norm(error) / scale + unseen, judged.how, system.size, unseen)


def _to_the_end(
    system: Linearisation, u: np.ndarray, error: np.ndarray, apply: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """u less the solution, where one Newton correction of u is `error`: that, if the next one is small beside it.

    Raises:
        PcpinnError: when Newton's method does not converge from there.
    """
    F = system.equation.residual(u - error)
    if np.isfinite(F).all() and system.norm(apply(F)) <= _NEXT * system.norm(error):
        return error
    return u - solve_newton(system.equation, u)


def _states(network: Network, problem: Problem) -> torch.Tensor:
    """(k, C, 1 + d) values and slopes of a network at some points, by differences."""
    x = sample_points(problem, _STATES)
    lower, upper = problem.domain.bounds  # type: ignore[attr-defined]
    steps = _STEP * torch.diag(torch.as_tensor(upper) - torch.as_tensor(lower)).to(x)
    with torch.no_grad():
        at = [
            network(p.to(network.theta)).double().cpu() for p in (x, *(x + s for s in steps), *(x - s for s in steps))
        ]
    d = len(steps)
    slopes = [(at[1 + k] - at[1 + d + k]) / (2 * steps[k, k]) for k in range(d)]
    return torch.stack([at[0], *slopes], dim=2)


def _values(network: Network, equation: DiscreteEquation) -> np.ndarray:
    nodes = equation.nodes
    with torch.no_grad():
        at_points = network(torch.as_tensor(nodes.points).to(network.theta)).double().cpu().numpy()
    return at_points[nodes.point_of, nodes.component_of]
