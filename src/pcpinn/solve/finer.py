"""Discretisations that are finer than a solve's own, to judge its answer on: in degree, and where coefficients vary unseen."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from torch import Tensor

from ..discretize.elements import ELEMENTS
from ..discretize.finite_elements import FiniteElements
from ..discretize.slabs import TimeSlabs
from ..errors import PcpinnError, PcpinnWarning
from ..mesh.bisect import bisected
from ..mesh.mesh import Mesh
from ..mesh.meshing import Differences, Meshing
from ..mesh.onto_walls import curved_edges
from ..mesh.refine import refined
from ..mesh.slab_mesh import AnyMesh, SlabMesh
from ..problem.field import Field
from ..problem.problem import Problem
from ..problem.shape_base import Domain
from ..problem.walls import walls_of
from .build import make_mesh
from .followed import Followed, followed
from .settings import Settings

_AS_GOOD_AS_ARCS = 3  # degree of elements whose error falls as fast as that of parabolas along curved walls
CUT = {1: 100_000, 2: 30_000, 3: 20_000}  # degrees of freedom up to which cells are cut where coefficients vary unseen


@dataclass(frozen=True)
class Finer:
    """A finer discretisation.

    Attributes:
        form: its weak form.
        how: it in words.
        follows: what its mesh sees of coefficients.
    """

    form: FiniteElements | TimeSlabs
    how: str
    follows: Followed

    def hidden_part(self, u: np.ndarray) -> float:
        """What an answer (N,) may be wrong by, in parts, since coefficients vary unseen."""
        return self.follows.hidden_part(self.form, u)


def finer(problem: Problem, mesh: AnyMesh, settings: Settings, states: Tensor | None = None) -> Finer:
    """A finer discretisation of a problem.

    Args:
        problem: the PDE.
        mesh: of the answer.
        settings: of the solve; its degree tells which discretisation is finer.
        states: (k, C, 1 + d) of the answer, at which coefficients are looked at.
    """
    if isinstance(mesh, SlabMesh):
        slabs, degree, order, how = finer_slabs(mesh, settings)
        element, scheme, times = settings.mesh.element, settings.time.scheme, slabs.times

        def on(cells: Mesh) -> FiniteElements | TimeSlabs:
            return TimeSlabs(problem, SlabMesh(cells, times), scheme, order, degree, element=element)

        return _following(problem, slabs.space, on, how, states)
    fields, simplices, degree, how = finer_elements(problem, mesh, settings)
    raised = replace(problem, fields=fields)
    return _following(
        problem,
        simplices,
        lambda cells: FiniteElements(raised, cells, degree, element=settings.mesh.element),
        how,
        states,
    )


def _following(
    problem: Problem, mesh: Mesh, on: Callable[[Mesh], FiniteElements | TimeSlabs], how: str, states: Tensor | None
) -> Finer:
    """What `on` makes of a mesh, once this is cut where coefficients vary inside cells."""
    form = on(mesh)
    most = mesh.cell_count * max(1.0, CUT[mesh.dimension] / form.size)
    found = followed(problem, mesh, form.space, most, states)
    if found.mesh is mesh:
        return Finer(form, how, found)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PcpinnWarning)  # said already
        return Finer(on(found.mesh), f"{how}, cells cut where coefficients or boundary data vary inside them", found)


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
        )  # degrees alone do not see what cells along curved walls leave of the domain or add to it
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
