"""One level of an adaptive loop: a discrete solution, a better one on a finer space, and where they differ.

The discrete solutions decide on meshes and measure errors; training never sees them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ...discretize.beside_walls import beside_walls
from ...discretize.discrete_equation import DiscreteEquation
from ...discretize.elements import ELEMENTS
from ...discretize.field_units import units_of
from ...discretize.finite_elements import FiniteElements
from ...discretize.space import Space
from ...discretize.transfer import by_field, mass_times, prolongation, squares, values_in_cells
from ...discretize.wall_gaps import wall_gaps
from ...errors import PcpinnError
from ...mesh.mesh import Mesh
from ...mesh.refine import refined
from ...problem.problem import Problem
from ..followed import work_in_cells
from ..refinement import shape_of
from .fields import counts
from .inverses import Inverses, iterated

_SAMPLE = 40_000  # nodes at which functions of other meshes of a solid are looked at
_POSITIVE = 7  # the highest order on tetrahedra whose rule has positive weights: enough for gradients of degree 4


@dataclass(frozen=True)
class Elements:
    """What finite elements are made of, but for the mesh."""

    degree: int
    element: str = "lagrange"
    quadrature: int | None = None

    def space(self, problem: Problem, mesh: Mesh) -> Space:
        """Of a problem's fields."""
        return Space(mesh, problem.unknowns, self.degree, self.quadrature, self.element)

    def on(self, problem: Problem, mesh: Mesh) -> FiniteElements:
        """The discretisation of a problem."""
        return FiniteElements(problem, mesh, self.degree, self.quadrature, element=self.element)

    def finer(self, problem: Problem, mesh: Mesh) -> FiniteElements:
        """The discretisation that errors are measured with."""
        problem, mesh, elements = self.raised(problem, mesh)
        return elements.on(problem, mesh)

    def raised(self, problem: Problem, mesh: Mesh) -> tuple[Problem, Mesh, Elements]:
        """One degree more where the elements have it, else cells of half the size; quadrature of two orders more."""
        own = max([self.degree, *(f.degree or 0 for f in problem.unknowns)])
        if own >= ELEMENTS.find(self.element).highest[mesh.dimension]:
            return problem, refined(mesh), self
        fields = tuple(replace(f, degree=f.degree + 1) if f.degree else f for f in problem.unknowns)
        finer = replace(self, degree=self.degree + 1, quadrature=finer_quadrature(own, mesh.dimension))
        return replace(problem, fields=fields), mesh, finer


def finer_quadrature(degree: int, dimension: int) -> int:
    """Order of quadrature for one degree more: a few orders more, to see what coefficients do between points."""
    return 2 * (degree + 1) + 4 if dimension < 3 else min(2 * (degree + 1) + 1, _POSITIVE)


@dataclass(frozen=True)
class Level:
    """Discrete solutions on a mesh and on a finer space.

    Attributes:
        coarse, u: the discretisation that a network would be trained on, and its solution (N,).
        fine, better: the finer one.
        inverses: of the matrices of the finer one.
    """

    coarse: FiniteElements
    u: np.ndarray
    fine: FiniteElements
    better: np.ndarray
    inverses: Inverses

    @property
    def mesh(self) -> Mesh:
        """Of the coarse discretisation."""
        return self.coarse.mesh

    @cached_property
    def iterated(self) -> bool:
        """Whether multigrid inverts the matrices of finer levels, so that these need no factors."""
        if self.mesh.dimension < 3:
            return False
        if self.inverses.iterated is not None:
            return self.inverses.iterated
        return iterated(self.coarse, DiscreteEquation(self.coarse).linearise(self.u).A) is not None

    @cached_property
    def prolonged(self) -> np.ndarray:
        """u at the nodes of the finer space."""
        return prolongation(self.coarse.space, self.fine.space) @ self.u

    @cached_property
    def sizes(self) -> np.ndarray:
        """(F,) L2 norm of each field of the better solution.

        Raises:
            PcpinnError: where it is too large for a number, so that nothing could be said of errors.
        """
        with np.errstate(over="ignore"):
            sizes = np.sqrt(by_field(self.fine.space, squares(self.fine.space, self.better)).sum(axis=0))
        if not np.isfinite(sizes).all():
            raise PcpinnError(
                f"the solution has values of {np.abs(self.better).max():.1e}, whose squares are too large for a number",
                "choose units in which the solution is nearer to 1",
            )
        return sizes

    def distances(self, v: np.ndarray) -> np.ndarray:
        """(F,) relative L2 distance by field from v, values at the nodes of the finer space, to the better solution."""
        e = np.sqrt(by_field(self.fine.space, squares(self.fine.space, v - self.better)).sum(axis=0))
        return e / self.units

    def distances_from(self, form: FiniteElements, u: np.ndarray) -> np.ndarray:
        """(F,) the same for a function (N,) of another discretisation, such as that of an earlier mesh.

        On solids it is looked at some of the nodes, by their weights: to find the cells of all of them takes longer than a level.
        """
        space = self.fine.space
        if self.mesh.dimension < 3 or form.mesh is self.mesh or space.size <= _SAMPLE:
            return self.distances(prolongation(form.space, space) @ u)
        rows = np.random.default_rng(0).choice(space.size, _SAMPLE, replace=False)
        of = space.unknown_components[rows]
        e = form.space.interpolate(u, space.unknown_nodes[rows])[np.arange(_SAMPLE), of] - self.better[rows]
        weights, count = space.weights[rows], space.components
        whole = np.bincount(space.unknown_components, space.weights, count) / np.bincount(of, weights, count)
        return np.asarray(np.sqrt(by_field(space, whole * np.bincount(of, weights * e**2, count))) / self.units)

    @cached_property
    def units(self) -> np.ndarray:
        """(F,) what errors of each field are divided by."""
        equation = DiscreteEquation(self.coarse)
        return units_of(self.sizes, equation.ratios(self.u), lambda: equation.smooth_ratios(self.u))

    @cached_property
    def errors(self) -> np.ndarray:
        """(F,) relative L2 error of the discrete solution by field, as far as the finer space sees it."""
        return self.distances(self.prolonged)

    def largest(self, errors: np.ndarray) -> float:
        """The largest of errors by field (F,), those of auxiliary fields left out."""
        return float(errors[counts(self.coarse.problem)].max())

    def distances_of(self, function: Callable[[np.ndarray], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """(F,) each: relative L2 distances from a function of points (m, d) to the better and to the discrete solution.

        Measured at the points of the finer space's quadrature, and at walls: a network may be wrong between nodes.
        """
        space, quadrature = self.fine.space, self.fine.space.quadrature
        values = function(quadrature.x.reshape(-1, self.mesh.dimension)).reshape(*quadrature.dx.shape, -1)
        result = []
        walls = beside_walls(space, function, (self.better, self.prolonged))
        for known, wall in zip((self.better, self.prolonged), walls, strict=True):
            own = np.stack([values_in_cells(space, k, known) for k in range(space.components)], axis=-1)
            found = np.einsum("cq,cqk->k", quadrature.dx, (values - own) ** 2)
            result.append(np.sqrt(by_field(space, found + wall)) / self.units)
        return result[0], result[1]

    @cached_property
    def gaps(self) -> np.ndarray:
        """(c,) relative errors for what lies between faces of tetrahedra and curved walls, by the work done there."""
        apart = wall_gaps(self.mesh, shape_of(self.coarse.problem, self.mesh))
        if not apart.any():
            return apart
        work, volume = work_in_cells(self.fine, self.better), self.fine.space.quadrature.dx.sum(axis=1)
        return np.asarray(apart / volume * work / work.sum())

    @property
    def gap(self) -> float:
        """The sum of the gaps, doubled: by the work beside walls alone it was up to 1.8 times too small."""
        return 2 * float(self.gaps.sum())

    def indicators(self) -> np.ndarray:
        """(c,) what each cell contributes to the squared L2 error, by the dual problem of that very error.

        With e = u - better and A^T z = M e the squared error is r . z, r the residual of u on the finer space; Galerkin
        orthogonality lets z less its interpolant take the place of z, which makes the contributions local.
        """
        space = self.fine.space
        e = self.prolonged - self.better
        scale = np.repeat(counts(self.coarse.problem) / self.units**2, [f.components for f in space.fields])
        goal = mass_times(space, e) * scale[space.unknown_components]
        equation = DiscreteEquation(self.fine)
        matrix = equation.linearise(self.better).A
        z = self.inverses.of(matrix).apply_transpose(goal)
        r = equation.residual(self.prolonged)
        up, down = prolongation(self.coarse.space, space), prolongation(space, self.coarse.space)
        return to_cells(self.fine, self.mesh, np.abs(local_products(equation, z, r, up, down)))


def local_products(
    equation: DiscreteEquation,
    z: np.ndarray,
    r: np.ndarray,
    up: sp.csr_matrix,
    down: sp.csr_matrix,
    tests: np.ndarray | None = None,
) -> np.ndarray:
    """(N,) products of a residual and a dual solution less its interpolant on a coarser space, which make z . r local.

    Rows of conditions are no equations of the PDE: z has other units there, such as stiffnesses, and must not be interpolated.

    Args:
        equation: of the finer space, z and r (N,) of it.
        up, down: to the finer space and back.
        tests: (N,) a function that z is smooth beside; by default 0.
    """
    conditions = equation.constraints
    dual = conditions.satisfied(z) - conditions.satisfied(np.zeros_like(z))
    dual = dual if tests is None else dual - tests
    own = dual - up @ (down @ dual)
    own[conditions.constrained] = z[conditions.constrained]
    return np.asarray(r * own)


def to_cells(fine: FiniteElements, mesh: Mesh, part: np.ndarray) -> np.ndarray:
    """Contributions of degrees of freedom, shared among the cells of the coarse mesh that they belong to."""
    space, total = fine.space, np.zeros(len(fine.mesh.cells))
    for k, scalar in enumerate(space.scalar):
        own = part[space.offsets[k] : space.offsets[k + 1]]
        touched = np.bincount(scalar.cell_nodes.ravel(), minlength=scalar.size)
        total += (own / np.maximum(touched, 1))[scalar.cell_nodes].sum(axis=1)
    children = len(fine.mesh.cells) // len(mesh.cells)
    return total.reshape(children, -1).sum(axis=0)  # a refined mesh lists first children, second children, ...


def marked(indicators: np.ndarray, bulk: float) -> np.ndarray:
    """(c,) bool: the fewest cells that carry a part `bulk` of the whole (Doerfler 1996)."""
    order = np.argsort(-indicators, kind="stable")
    carried = np.cumsum(indicators[order])
    count = int(np.searchsorted(carried, bulk * carried[-1])) + 1
    result = np.zeros(len(indicators), dtype=bool)
    result[order[:count]] = True
    return result
