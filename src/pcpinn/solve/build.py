"""From settings to objects: the only place that knows both."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..discretize.discretisation import Discretisation
from ..discretize.finite_differences import FiniteDifferences
from ..discretize.finite_elements import FiniteElements
from ..discretize.in_time import Slabs
from ..discretize.slabs import TimeSlabs
from ..discretize.time_scheme import slab_times
from ..errors import PcpinnError
from ..mesh.check import check_mesh
from ..mesh.generate import generate_mesh
from ..mesh.mesh import Mesh
from ..mesh.meshing import Differences
from ..mesh.slab_mesh import AnyMesh, SlabMesh
from ..network.centred import centre_units
from ..network.dense import DenseNetwork
from ..network.protocol import Network
from ..network.radial import spread_units
from ..network.recipe import Place
from ..network.stretched import Knots, stretches
from ..precondition import Refined, Schwarz
from ..problem.conditions import Free
from ..problem.problem import Problem
from ..problem.shape_base import Domain, SpaceTime
from ..team import present_team
from ..train import GaussNewton, Optimiser
from ..train.forms import choose_form
from .march.recipe import March
from .settings import Settings


def make_mesh(problem: Problem, settings: Settings) -> AnyMesh:
    """The user's own mesh, or one of the domain's shape; of space times slabs if time has a scheme of its own."""
    recipe, time = settings.mesh, settings.time
    options = {**recipe.options(), "periodic": problem.periodic_pairs}
    if isinstance(time, Slabs | March):
        domain = problem.domain
        if not isinstance(domain, SpaceTime):
            raise PcpinnError(f"time={time.name} is for a shape over time", "use shape.over(start, end)")
        space = generate_mesh(domain.shape, kinks=(recipe.kinks or ())[:-1], **options)
        return SlabMesh(space, slab_times(domain.start, domain.end, time.steps, time.halvings))
    if isinstance(problem.domain, Mesh):
        return check_mesh(problem.domain)
    if not isinstance(problem.domain, Domain):
        raise PcpinnError(f"{problem.domain!r} cannot be meshed", "give a shape or a Mesh")
    steps = None if time is None else time.steps
    return generate_mesh(problem.domain, steps=steps, kinks=recipe.kinks or (), **options)


def make_discretisation(problem: Problem, mesh: AnyMesh, settings: Settings) -> Discretisation:
    """Finite elements or finite differences on the mesh, or slabs of time."""
    refuse_free(problem)
    recipe, time = settings.mesh, settings.time
    if isinstance(mesh, SlabMesh):
        if not isinstance(time, Slabs):
            raise PcpinnError("the mesh is one of slabs of time", "set time=slabs")
        return TimeSlabs(
            problem, mesh, time.scheme, time.order, recipe.degree, recipe.quadrature, element=recipe.element
        )
    if isinstance(time, Slabs | March):
        raise PcpinnError(f"time={time.name} needs a mesh of slabs", "leave the mesh out")
    if isinstance(recipe, Differences):
        return FiniteDifferences(problem, mesh)
    return FiniteElements(problem, mesh, recipe.degree, recipe.quadrature, element=recipe.element)


def refuse_free(problem: Problem) -> None:
    """Refuse a problem that says of a boundary that nothing is known there."""
    for name, by_field in problem.conditions.items():
        if any(isinstance(condition, Free) for condition in by_field.values()):
            raise PcpinnError(
                f"boundary {name!r} is Free: nothing is known there", "give a condition; Free is for pcpinn.infer"
            )


def make_preconditioner(settings: Settings, discretisation: Discretisation) -> Any:
    """P for a discretisation, with refinement if asked for; or the wish for an ILU of a given quality."""
    recipe = settings.preconditioner
    fitted = recipe.fitted(discretisation, settings.run.for_preconditioner)
    if isinstance(recipe, Schwarz):  # refines by its own rows
        return fitted
    return Refined(fitted, recipe.refinement) if recipe.refinement else fitted


def _stretches(mesh: AnyMesh, network: Any, periodic: tuple[int, ...]) -> tuple[Knots, ...]:
    if not getattr(network, "stretch", False):
        return ()
    if network.stretch_at and len(network.stretch_at) != mesh.dimension:
        raise PcpinnError(
            f"stretch_at has places along {len(network.stretch_at)} axes of {mesh.dimension}", "give them for each axis"
        )
    cells = mesh.simplices.nodes[mesh.simplices.vertices]
    return stretches(cells, periodic, network.stretch_at)


def make_network(
    problem: Problem, mesh: AnyMesh, settings: Settings, outputs: int | None = None, parameters: int = 0
) -> Any:
    """An untrained `Network` over the mesh's box, seeded; its `outputs` are by default one per component.

    With `parameters` it is that of a family, on so many scaled numbers before the place.
    """
    recipe, run = settings.mesh, settings.run
    lower, upper = mesh.bounds
    for axis, line in enumerate(recipe.kinks or ()):
        for c in line if axis < len(lower) else ():
            if not lower[axis] < c < upper[axis]:
                raise PcpinnError(
                    f"a kink at {c:g} lies outside the domain, {lower[axis]:g} to {upper[axis]:g} along axis {axis}",
                    "give the coordinates of interfaces inside the domain",
                )
    kinks = recipe.kinks or ()
    periodic = _periodic_axes(problem, mesh)
    if not getattr(settings.network, "repeat", True):
        if not periodic:
            raise PcpinnError("repeat=false has no effect: no axis is periodic", "leave repeat out")
        periodic = ()
    place = Place(
        lower.tolist(),
        upper.tolist(),
        outputs or problem.components,
        kinks[:-1]
        if settings.marches and len(kinks) == mesh.dimension + 1
        else kinks,  # a march has no time as an input
        recipe.corners or (),
        recipe.corner_size,
        periodic,
        _start(mesh, settings),
        _stretches(mesh, settings.network, periodic),
    )
    dtype = getattr(torch, run.precision)
    if parameters:
        if getattr(settings.network, "initialisation", "") in ("cells", "radial"):
            raise PcpinnError("initialisation=cells and radial are for single problems", "leave initialisation out")
        return settings.network.build_family(place, parameters, run.seed, dtype).to(make_device(run.device))
    network = settings.network.build(place, run.seed, dtype)
    scales = getattr(settings.loss, "scales", None)
    if scales is not None:
        if len(scales) != problem.components:
            raise PcpinnError(f"{len(scales)} scales for {problem.components} components", "give one per component")
        repeated = torch.tensor(scales).repeat(place.outputs // problem.components)
        network.output_scale = repeated.to(network.output_scale)
    if isinstance(network, DenseNetwork) and network.architecture.initialisation in ("cells", "radial"):
        corners = mesh.simplices.nodes[mesh.simplices.vertices]
        if network.architecture.initialisation == "radial":
            spread_units(network, corners, run.seed)
        else:
            centre_units(network, corners.mean(axis=1), np.ptp(corners, axis=1).max(axis=1), run.seed)
    network = network.to(make_device(run.device))
    with torch.no_grad():
        network.theta.copy_(present_team().lead(network.theta))
    return network


def _periodic_axes(problem: Problem, mesh: AnyMesh) -> tuple[int, ...]:
    """Axes that every field is periodic along, in a mesh of space: the network then repeats itself exactly."""
    if mesh.has_time or not isinstance(mesh, Mesh):
        return ()
    axes = []
    for name, partner in problem.periodic_pairs:
        if len(problem.conditions[name]) == len(problem.unknowns):
            shift = _centre(mesh, partner) - _centre(mesh, name)
            axis = int(np.abs(shift).argmax())
            period = np.abs(shift[axis]) - np.ptp(mesh.nodes[:, axis])
            if np.abs(np.delete(shift, axis)).max(initial=0.0) <= 1e-9 and abs(period) <= 1e-9:
                axes.append(axis)
    return tuple(axes)


def _centre(mesh: Mesh, boundary: str) -> np.ndarray:
    nodes = mesh.nodes[np.unique(mesh.boundaries[boundary])]
    return (nodes.min(axis=0) + nodes.max(axis=0)) / 2


def _start(mesh: AnyMesh, settings: Settings) -> float:
    """A quarter of the first slab of time, relative to all of it, where slabs are halved towards a sudden start."""
    if not isinstance(mesh, SlabMesh) or not getattr(settings.time, "halvings", 0):
        return 0.0
    return float((mesh.times[1] - mesh.times[0]) / (mesh.times[-1] - mesh.times[0]) / 4)


def make_optimiser(settings: Settings, network: Network, nodes: int | None) -> tuple[Optimiser, str]:
    """The optimiser, and why it was taken.

    Args:
        settings: which one.
        network: to be trained.
        nodes: degrees of freedom of a least-squares loss on nodal values; None for other losses.

    Raises:
        PcpinnError: when Gauss-Newton's matrix does not fit into memory.
    """
    optimiser: Optimiser = settings.optimiser.fitted(settings.run.for_optimiser)
    if settings.asked.get("optimiser") not in (None, "auto"):
        return optimiser, "asked for"
    if isinstance(optimiser, GaussNewton) and nodes is not None:
        matrix, rows = choose_form(optimiser, network.parameter_count, nodes, network.theta.device, in_parts=True)
        return optimiser, f"P^-1 A is near the identity; matrix {matrix} on {rows} of {nodes} degrees of freedom"
    P = settings.recipes.get("preconditioner")
    return (
        optimiser,
        "the method's default" if P is None else f"with preconditioner={P.name} P^-1 A is far from the identity",
    )


def check_device(name: str | None) -> None:
    """Refuse a name that is none of a device; None is for the usual one."""
    if name not in (None, "auto", "cpu", "cuda"):
        raise PcpinnError(f"there is no device {name!r}", "use auto, cpu or cuda")


def make_device(name: str) -> torch.device:
    """auto takes a GPU if there is one."""
    if name == "cuda" and not torch.cuda.is_available():
        raise PcpinnError(
            "device=cuda was asked for, but torch sees no CUDA device",
            "use --device cpu, or install a CUDA build of torch",
        )
    torch.backends.cuda.matmul.allow_tf32 = False  # TF32's ten bits break this kind of training
    return torch.device("cuda" if name == "cuda" or (name == "auto" and torch.cuda.is_available()) else "cpu")
