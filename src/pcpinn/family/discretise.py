"""From a family, a mesh and settings to systems: the one that is trained on, and a finer one for estimates."""

from __future__ import annotations

from dataclasses import replace

import torch

from ..discretize.finite_elements import FiniteElements
from ..discretize.slabs import TimeSlabs
from ..discretize.space import ScalarSpace
from ..errors import PcpinnError
from ..mesh.mesh import Mesh
from ..mesh.slab_mesh import AnyMesh, SlabMesh
from ..problem.field import Field
from ..solve.build import refuse_free
from ..solve.finer import finer_elements, finer_slabs
from ..solve.settings import Settings
from .assembly import Assembly
from .family import Family
from .recipe import Superposed
from .slab_system import SlabSystem

AnySystem = Assembly | SlabSystem


def make_system(family: Family, mesh: AnyMesh, settings: Settings, device: torch.device) -> AnySystem:
    """The equations on a mesh."""
    refuse_free(family.base)
    recipe, fields = settings.mesh, family.base.unknowns
    if isinstance(mesh, SlabMesh):
        return _slabs(family, mesh, settings, settings.time.order, recipe.degree, recipe.quadrature, device)
    return _elements(family, fields, mesh, settings, recipe.degree, recipe.quadrature, device)


def assembled_once(system: AnySystem, settings: Settings) -> AnySystem:
    """The same system, told that matrix and right sides are those of a superposition where the settings say so."""
    if isinstance(system, Assembly):
        system.one_matrix = isinstance(settings.loss, Superposed)
    return system


def make_finer(family: Family, mesh: AnyMesh, settings: Settings, device: torch.device) -> tuple[AnySystem, str]:
    """The same on a finer discretisation, and how much finer, in words."""
    if isinstance(mesh, SlabMesh):
        finer, degree, order, how = finer_slabs(mesh, settings)
        return _slabs(family, finer, settings, order, degree, None, device), how
    fields, mesh, degree, how = finer_elements(family.base, mesh, settings)
    return _elements(family, fields, mesh, settings, degree, None, device), how


def _elements(
    family: Family,
    fields: tuple[Field, ...],
    mesh: Mesh,
    settings: Settings,
    degree: int,
    quadrature: int | None,
    device: torch.device,
) -> Assembly:
    element = settings.mesh.element
    extended = replace(family.extended, fields=fields)
    count = ScalarSpace(mesh, fields[0].degree_in(degree), element).size
    start = family.middle.expand(count, -1).clone()
    return Assembly(family, FiniteElements(extended, mesh, degree, quadrature, start, element), device)


def _slabs(
    family: Family,
    mesh: SlabMesh,
    settings: Settings,
    order: int,
    degree: int,
    quadrature: int | None,
    device: torch.device,
) -> SlabSystem:
    if settings.time.scheme == "galerkin":
        raise PcpinnError("scheme=galerkin does not take parameters", "use scheme=radau or gauss, or time=simplex")
    extended, element = family.extended, settings.mesh.element
    count = ScalarSpace(mesh.space, extended.unknowns[0].degree_in(degree), element).size
    start = family.middle.expand(count, -1).clone()
    form = TimeSlabs(extended, mesh, settings.time.scheme, order, degree, quadrature, start, element)
    return SlabSystem(family, form, device)
