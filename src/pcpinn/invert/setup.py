"""From a problem with unknowns to its discretisation, networks and priors."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
import scipy.sparse.linalg as spla
import skfem
import torch
from skfem.helpers import dot, grad

from ..discretize.finite_elements import FiniteElements
from ..discretize.guarded import guard
from ..discretize.pointwise import Pointwise, place_and_time
from ..discretize.slabs import TimeSlabs
from ..discretize.space import ScalarSpace
from ..errors import PcpinnError
from ..mesh.slab_mesh import AnyMesh, SlabMesh
from ..problem.conditions import Value, evaluate
from ..problem.family import Family
from ..problem.unknowns import Coefficient
from ..solve.settings import Settings
from .equations import Equations
from .link import Link
from .prior import ROUGH, SMOOTH, FieldPrior, Hyper

_MODES = 60
_LENGTH = 0.25  # first length, in parts of the domain; with a longer one, values on all sides would leave next to nothing open
_DENSE = 1500  # eigenproblems up to this size are dense


def make_equations(family: Family, mesh: AnyMesh, settings: Settings) -> Equations:
    """F(u, c) on a mesh."""
    extended, recipe = family.extended, settings.mesh
    if isinstance(mesh, SlabMesh):
        for name, unknown in family.unknowns.items():
            if isinstance(unknown, Coefficient) and unknown.over_time:
                raise PcpinnError(
                    f"coefficient {name!r} depends on time, which slabs of time do not take", "use time=simplex"
                )
        count = ScalarSpace(mesh.space, extended.unknowns[0].degree_in(recipe.degree), recipe.element).size
        start = family.start.expand(count, -1).clone()
        return Equations(
            family,
            TimeSlabs(
                extended,
                mesh,
                settings.time.scheme,
                settings.time.order,
                recipe.degree,
                recipe.quadrature,
                start,
                recipe.element,
            ),
        )
    count = ScalarSpace(mesh, extended.unknowns[0].degree_in(recipe.degree), recipe.element).size
    start = family.start.expand(count, -1).clone()
    form = FiniteElements(extended, mesh, recipe.degree, recipe.quadrature, start, recipe.element)
    _refuse_moving_density(family, form)
    return Equations(family, form)


def _refuse_moving_density(family: Family, form: FiniteElements) -> None:
    """Of a coefficient that depends on time no time derivative is known, so it must not stand in the density."""
    moving = {
        name: family.columns(name).start
        for name, unknown in family.unknowns.items()
        if isinstance(unknown, Coefficient) and unknown.over_time
    }
    if family.extended.density is None or not moving:
        return
    x = form.sample_points()
    state = torch.ones(len(x), form.components, 1 + form.mesh.dimension, dtype=torch.float64)
    by_x = guard(torch.func.vmap(torch.func.jacfwd(Pointwise(form.problem).density)), x, state)  # (m, C, K + d)
    for name, column in moving.items():
        if bool((by_x[..., column] != 0).any()):
            raise PcpinnError(
                f"the density depends on coefficient {name!r}, which depends on time",
                "write the time derivative out in source, with a coefficient of its own where it is needed",
            )


def space_of(equations: Equations) -> ScalarSpace:
    """Where coefficients have their nodes."""
    return equations.discretisation.space.scalar[0]


def known_nodes(name: str, unknown: Coefficient, equations: Equations) -> tuple[np.ndarray, np.ndarray]:
    """Nodes where a coefficient is known, and its values there.

    Raises:
        PcpinnError: for a boundary that is not there, or values that are not finite or below the bound.
    """
    space = space_of(equations)
    value = np.full(space.size, np.nan)
    for boundary, given in unknown.known.items():
        if boundary not in space.mesh.boundary_names:
            names = ", ".join(space.mesh.boundary_names)
            raise PcpinnError(f"{name!r} is known on {boundary!r}, which is no boundary", f"the boundaries are {names}")
        at = space.boundary_nodes(space.mesh.facets(boundary))
        x = torch.from_numpy(space.nodes[at])
        over_time = equations.family.base.over_time and space.mesh.has_time  # slabs have nodes in space
        values = guard(torch.func.vmap(value_function(given, over_time)), x).numpy()
        if values.shape != (len(at),) or not np.isfinite(values).all():
            raise PcpinnError(f"known values of {name!r} on {boundary!r} are not finite numbers", "check the formula")
        if unknown.low is not None and (values <= unknown.low).any():
            raise PcpinnError(
                f"{name!r} is known to be {values.min():g} on {boundary!r}, below its bound {unknown.low:g}",
                "lower the bound",
            )
        value[at] = values
    at = np.flatnonzero(~np.isnan(value))
    return at, value[at]


def value_function(given: Value, over_time: bool) -> Callable[[torch.Tensor], torch.Tensor]:
    """A value that a coefficient is known to have, as a function of a point (d,), over time with t last."""
    return lambda p: torch.as_tensor(evaluate(given, *place_and_time(p, over_time)), dtype=torch.float64) + 0 * p[0]


def coefficient_prior(name: str, unknown: Coefficient, equations: Equations, link: Link) -> FieldPrior | None:
    """The smoothness prior of a coefficient, in the terms of a link; None if it has none."""
    if unknown.kernel == "none":
        return None
    space = space_of(equations)
    if space.mesh.has_time and not unknown.over_time:
        return None  # nodes repeat each other in space
    known, values = known_nodes(name, unknown, equations)
    extent = float(np.ptp(space.nodes, axis=0).max())
    typical = float(np.mean(values)) if len(known) else unknown.initial
    unit = float(link.slope(np.array(typical)))
    start = Hyper(
        "se" if unknown.kernel == "auto" else unknown.kernel,
        unknown.length or _LENGTH * extent,
        (unknown.scale or 0.25 * abs(typical) or 1.0) / unit,  # if not given, until the data say more
    )
    fixed = frozenset(k for k in ("length", "scale") if getattr(unknown, k) is not None)
    modes = laplacian_modes(space, known) if unknown.kernel == "auto" and unknown.scale is None else None
    kernels, doubts = (SMOOTH, ROUGH) if unknown.kernel == "auto" else ((unknown.kernel,), ())
    values, mean = link.to(values), float(link.to(np.array(typical)))
    return FieldPrior(name, space.nodes, start, fixed, kernels, doubts, known, values, True, mean, modes, link)


def free_priors(equations: Equations, spread: float) -> list[tuple[FieldPrior, np.ndarray]]:
    """A prior for each group of free unknowns, with their numbers among all unknowns."""
    form = equations.at(equations.family.start.expand(equations.nodes_count, -1).numpy())
    lower, upper = form.mesh.bounds
    extent = upper - lower
    unit = extent / extent[0]
    result = []
    for g, group in enumerate(equations.groups):
        at = equations.free[equations.group_of == g]
        modes = None
        if isinstance(form, TimeSlabs) and form.components == 1 and len(at) and at.max() < form.layer_size:
            later = (
                form.constraints.constrained - form.layer_size
            )  # sides that are not natural, seen in the second time level
            fixed = later[(later >= 0) & (later < form.layer_size)]
            modes = laplacian_modes(form.space.scalar[0], fixed)[at]  # values at the start
        prior = FieldPrior(
            group or "boundary", form.unknown_nodes[at] / unit, Hyper("se", float(extent[0]) / 2, spread), modes=modes
        )
        result.append((prior, at))
    return result


def laplacian_modes(space: ScalarSpace, fixed: np.ndarray, count: int = _MODES) -> np.ndarray:
    """(n, J) the smoothest functions that vanish at given nodes: eigenfunctions of the Laplacian, of mean square one."""
    basis = skfem.Basis(space.mesh.skfem, space.element)
    K = skfem.BilinearForm(lambda u, v, w: dot(grad(u), grad(v))).assemble(basis).tocsr()
    M = skfem.BilinearForm(lambda u, v, w: u * v).assemble(basis).tocsr()
    inner = np.setdiff1d(np.arange(space.size), fixed)
    K, M, volume = K[inner][:, inner], M[inner][:, inner], float(M.sum())
    count = min(count, len(inner) // 4)
    if count < 1:
        return np.zeros((space.size, 0))
    if len(inner) <= _DENSE:
        _, vectors = la.eigh(K.toarray(), M.toarray(), subset_by_index=[0, count - 1])
    else:
        shift = -1.0 / max(volume, 1e-300) if not len(fixed) else 0.0
        start = np.ones(len(inner))
        _, vectors = spla.eigsh(sp.csc_matrix(K), count, sp.csc_matrix(M), sigma=shift, v0=start)
    result = np.zeros((space.size, count))
    result[inner] = vectors * math.sqrt(volume)
    return result
