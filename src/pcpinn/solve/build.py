"""From settings to objects: the only place that knows both."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..discretize.discretisation import Discretisation
from ..discretize.finite_differences import FiniteDifferences
from ..discretize.finite_elements import FiniteElements
from ..discretize.slabs import TimeSlabs
from ..discretize.time_scheme import slab_times
from ..errors import PcpinnError
from ..mesh.check import check_mesh
from ..mesh.generate import generate_mesh
from ..mesh.mesh import Mesh
from ..mesh.slab_mesh import AnyMesh, SlabMesh
from ..network import MLP, Architecture, Features
from ..precondition import (
    AMG,
    ILU,
    LU,
    AutoILU,
    Identity,
    Jacobi,
    Preconditioner,
    Refined,
    RowBalancing,
    Separable,
    TimeOrder,
)
from ..problem.conditions import Free
from ..problem.problem import Problem
from ..problem.shape_base import Domain, SpaceTime
from ..train import LBFGS, SOAP, Adam, GaussNewton, LeastSquares, Loss, Optimiser
from .settings import PerAxis, Settings

ORDERINGS = {"colamd": "COLAMD", "mmd": "MMD_AT_PLUS_A"}


def make_mesh(problem: Problem, settings: Settings) -> AnyMesh:
    """The user's own mesh, or one of the domain's shape; of space times slabs if time has a scheme of its own."""
    if settings.time_scheme != "simplex":
        return _slab_mesh(problem, settings)
    if isinstance(problem.domain, Mesh):
        return check_mesh(problem.domain)
    if not isinstance(problem.domain, Domain):
        raise PcpinnError(f"{problem.domain!r} cannot be meshed", "give a shape or a Mesh")
    return generate_mesh(
        problem.domain,
        time_cells=settings.time_cells,
        kinks=settings.kinks or (),
        **_mesh_options(problem, settings),
    )


def _mesh_options(problem: Problem, settings: Settings) -> dict[str, Any]:
    return {
        "mesh_size": settings.mesh_size,
        "cells": settings.cells,
        "curved": settings.curved,
        "grading": settings.grading,
        "curvature": settings.curvature,
        "periodic": problem.periodic_pairs,
        "layers": settings.layers,
        "corners": settings.corners or (),
        "corner_size": settings.corner_size,
    }


def _slab_mesh(problem: Problem, settings: Settings) -> SlabMesh:
    domain = problem.domain
    if not isinstance(domain, SpaceTime):
        raise PcpinnError(
            f"time_scheme={settings.time_scheme} is for a shape over time",
            "use shape.over(start, end), or leave it out",
        )
    space = generate_mesh(domain.shape, kinks=(settings.kinks or ())[:-1], **_mesh_options(problem, settings))
    slabs = settings.time_cells or 10
    return SlabMesh(space, slab_times(domain.start, domain.end, slabs, settings.time_halvings))


def make_discretisation(problem: Problem, mesh: AnyMesh, settings: Settings) -> Discretisation:
    """Finite elements or finite differences on the mesh, or slabs of time."""
    refuse_free(problem)
    if isinstance(mesh, SlabMesh):
        if settings.time_scheme == "simplex" or settings.discretisation == "fdm":
            raise PcpinnError("the mesh is one of slabs of time", "set time_scheme=radau, gauss or galerkin, with fem")
        return TimeSlabs(problem, mesh, settings.time_scheme, settings.time_order, settings.degree, settings.quadrature)
    if settings.time_scheme != "simplex":
        raise PcpinnError(f"time_scheme={settings.time_scheme} needs a mesh of slabs", "leave mesh= out")
    if settings.discretisation == "fdm":
        return FiniteDifferences(problem, mesh)
    return FiniteElements(problem, mesh, settings.degree, settings.quadrature)


def refuse_free(problem: Problem) -> None:
    """Refuse a problem that says of a boundary that nothing is known there."""
    for name, by_field in problem.conditions.items():
        if any(isinstance(condition, Free) for condition in by_field.values()):
            raise PcpinnError(
                f"boundary {name!r} is Free: nothing is known there", "give a condition; Free is for pcpinn.infer"
            )


def make_preconditioner(settings: Settings, discretisation: Discretisation | None = None) -> Preconditioner | AutoILU:
    """P by name, with refinement if asked for; or the wish for an ILU of a given quality."""
    name: str = settings.preconditioner
    if name == "auto":
        name = {"radau": "time-order", "gauss": "time-order", "galerkin": "separable"}.get(settings.time_scheme, "ilu")
    if name in ("time-order", "separable"):
        chosen = _of_slabs(name, settings, discretisation)
        return Refined(chosen, settings.refinement) if settings.refinement else chosen
    if name == "ilu" and settings.drop_tolerance == "auto":
        if settings.refinement:
            raise PcpinnError(
                f"refinement={settings.refinement} and drop_tolerance=auto exclude each other",
                "leave refinement out: auto adds it where it helps; or give drop_tolerance as a number",
            )
        return AutoILU(settings.quality_target, settings.memory_gib, sweep_tolerance=settings.sweep_tolerance)
    drop = 1e-4 if settings.drop_tolerance == "auto" else float(settings.drop_tolerance)
    choices: dict[str, Preconditioner] = {
        "ilu": ILU(drop, settings.fill_factor, settings.sweep_tolerance, ORDERINGS[settings.ordering]),
        "lu": LU(settings.sweep_tolerance),
        "amg": AMG(settings.amg_cycles),
        "jacobi": Jacobi(),
        "row-balancing": RowBalancing(),
        "none": Identity(),
    }
    chosen = choices[name]
    return Refined(chosen, settings.refinement) if settings.refinement else chosen


def _of_slabs(name: str, settings: Settings, discretisation: Discretisation | None) -> Preconditioner:
    if not isinstance(discretisation, TimeSlabs):
        raise PcpinnError(
            f"preconditioner={name} needs slabs of time", "set time_scheme=radau, gauss or galerkin, or leave it out"
        )
    if name == "separable":
        parts = discretisation.kronecker
        if parts is None:
            raise PcpinnError("separable needs coefficients that do not depend on time", "use preconditioner=ilu")
        return Separable(parts.terms, parts.fixed_layers, parts.fixed_nodes)
    drop = 1e-6 if settings.drop_tolerance == "auto" else float(settings.drop_tolerance)
    return TimeOrder(
        discretisation.slab_starts.tolist(),
        drop,
        max(settings.fill_factor, 50.0) if settings.drop_tolerance == "auto" else settings.fill_factor,
        settings.sweep_tolerance,
        ORDERINGS[settings.ordering],
    )


def make_network(problem: Problem, mesh: AnyMesh, settings: Settings, outputs: int | None = None) -> MLP:
    """An untrained network over the mesh's box, seeded; of so many outputs, by default one per component."""
    features = Features(
        settings.features,
        settings.feature_count,
        settings.feature_low,
        settings.feature_high,
        settings.feature_std,
        _in_space(settings.kinks, settings, mesh),
        _in_space(settings.frequencies, settings, mesh),
        _start(mesh, settings),
        _periodic_axes(problem, mesh),
        settings.corners or (),
        settings.corner_size,
    )
    architecture = Architecture(settings.width, settings.depth, settings.activation, settings.initialisation, features)
    lower, upper = mesh.bounds
    for axis, line in enumerate(settings.kinks or ()):
        for c in line if axis < len(lower) else ():
            if not lower[axis] < c < upper[axis]:
                raise PcpinnError(
                    f"a kink at {c:g} lies outside the domain, {lower[axis]:g} to {upper[axis]:g} along axis {axis}",
                    "give the coordinates of interfaces inside the domain",
                )
    generator = torch.Generator().manual_seed(settings.seed)
    network = MLP(
        architecture,
        lower.tolist(),
        upper.tolist(),
        outputs or problem.components,
        generator,
        getattr(torch, settings.precision),
    )
    return network.to(make_device(settings.device))


def _in_space(lists: PerAxis | None, settings: Settings, mesh: AnyMesh) -> PerAxis:
    """Numbers along each axis of the network's inputs: a march has no time among them."""
    given = lists or ()
    return given[:-1] if settings.march and len(given) == mesh.dimension + 1 else given


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
    if not isinstance(mesh, SlabMesh) or not settings.time_halvings:
        return 0.0
    return float((mesh.times[1] - mesh.times[0]) / (mesh.times[-1] - mesh.times[0]) / 4)


def make_optimiser(settings: Settings, loss: Loss) -> tuple[Optimiser, str]:
    """The optimiser by name, or by what the loss allows; and why it was taken."""
    gauss_newton = GaussNewton(
        settings.form, settings.sample, settings.damping, settings.accelerate, settings.memory_gib
    )
    choices: dict[str, Optimiser] = {
        "gauss-newton": gauss_newton,
        "adam": Adam(settings.learning_rate, settings.beta1, settings.beta2),
        "lbfgs": LBFGS(),
        "soap": SOAP(settings.learning_rate, settings.beta1, settings.beta2),
    }
    if settings.optimiser != "auto":
        return choices[settings.optimiser], "asked for"
    if not isinstance(loss, LeastSquares):
        return choices["adam"], "this loss has no residual on nodes, which gauss-newton needs"
    if settings.preconditioner in ("jacobi", "row-balancing", "none") and settings.form != "exact":
        return choices["adam"], f"with preconditioner={settings.preconditioner} P^-1 A is far from the identity"
    form, rows = gauss_newton.resolve(loss)
    return gauss_newton, f"P^-1 A is near the identity; form {form} on {rows} of {loss.size} unknowns"


def make_device(name: str) -> torch.device:
    """auto takes a GPU if there is one."""
    if name == "cuda" and not torch.cuda.is_available():
        raise PcpinnError(
            "device=cuda was asked for, but torch sees no CUDA device",
            "use --device cpu, or install a CUDA build of torch",
        )
    torch.backends.cuda.matmul.allow_tf32 = False  # TF32's ten bits break this kind of training
    return torch.device("cuda" if name == "cuda" or (name == "auto" and torch.cuda.is_available()) else "cpu")
