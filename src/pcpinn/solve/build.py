"""From settings to objects: the only place that knows both."""

from __future__ import annotations

import torch

from ..discretize.finite_differences import FiniteDifferences
from ..discretize.finite_elements import FiniteElements
from ..discretize.generate import generate_mesh
from ..discretize.mesh import Mesh
from ..discretize.mesh_check import check_mesh
from ..discretize.system import Discretisation
from ..errors import PcpinnError
from ..network import MLP, Architecture, Features
from ..precondition import ILU, LU, Identity, Jacobi, Preconditioner, RowBalancing
from ..problem.problem import Problem
from ..problem.shape_base import Domain
from ..train import Adam, GaussNewton, Optimiser
from .settings import Settings


def make_mesh(problem: Problem, settings: Settings) -> Mesh:
    """The user's own mesh, or one of the domain's shape."""
    if isinstance(problem.domain, Mesh):
        return check_mesh(problem.domain)
    if not isinstance(problem.domain, Domain):
        raise PcpinnError(f"{problem.domain!r} cannot be meshed", "give a shape or a Mesh")
    return generate_mesh(
        problem.domain,
        mesh_size=settings.mesh_size,
        cells=settings.cells,
        curved=settings.curved,
        grading=settings.grading,
        curvature=settings.curvature,
        periodic=problem.periodic_pairs,
        time_cells=settings.time_cells,
    )


def make_discretisation(problem: Problem, mesh: Mesh, settings: Settings) -> Discretisation:
    """Finite elements or finite differences on the mesh."""
    if settings.discretisation == "fdm":
        return FiniteDifferences(problem, mesh)
    return FiniteElements(problem, mesh, settings.degree, settings.quadrature)


def make_preconditioner(settings: Settings) -> Preconditioner:
    """P by name."""
    choices: dict[str, Preconditioner] = {
        "ilu": ILU(settings.drop_tolerance, settings.fill_factor),
        "lu": LU(),
        "jacobi": Jacobi(),
        "row-balancing": RowBalancing(),
        "none": Identity(),
    }
    return choices[settings.preconditioner]


def make_network(problem: Problem, mesh: Mesh, settings: Settings) -> MLP:
    """An untrained network over the mesh's box, seeded."""
    features = Features(
        settings.features, settings.feature_count, settings.feature_low, settings.feature_high, settings.feature_std
    )
    architecture = Architecture(settings.width, settings.depth, settings.activation, settings.initialisation, features)
    lower, upper = mesh.bounds
    generator = torch.Generator().manual_seed(settings.seed)
    network = MLP(
        architecture, lower.tolist(), upper.tolist(), problem.components, generator, getattr(torch, settings.precision)
    )
    return network.to(make_device(settings.device))


def make_optimiser(settings: Settings) -> Optimiser:
    """The optimiser by name."""
    if settings.optimiser == "adam":
        return Adam(settings.learning_rate, settings.beta1, settings.beta2)
    return GaussNewton(settings.form, settings.sample, settings.damping)


def make_device(name: str) -> torch.device:
    """auto takes a GPU if there is one."""
    if name == "cuda" and not torch.cuda.is_available():
        raise PcpinnError(
            "device=cuda was asked for, but torch sees no CUDA device",
            "use --device cpu, or install a CUDA build of torch",
        )
    return torch.device("cuda" if name == "cuda" or (name == "auto" and torch.cuda.is_available()) else "cpu")
