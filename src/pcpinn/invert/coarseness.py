"""What the mesh of an inference does to its answer: data predicted on a finer discretisation, with the coefficients found.

Data that a coarse mesh predicts wrongly are explained by wrong coefficients, and no posterior on that mesh knows of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..discretize.newton import direct, newton
from ..errors import PcpinnError
from ..mesh.meshing import Meshing
from ..mesh.slab_mesh import AnyMesh, SlabMesh
from ..solve.finer import finer_elements, finer_slabs
from ..solve.settings import Settings
from .choice import Discrete
from .equations import Equations
from .observations import Observations
from .setup import make_equations, space_of

_AFFORDABLE = {1: 200_000, 2: 60_000, 3: 15_000}  # degrees of freedom of the finer discretisation, at most
_STEPS = 8  # of Newton's method on it


def missed_by_mesh(
    equations: Equations,
    data: Sequence[Observations],
    mesh: AnyMesh,
    settings: Settings,
    u: np.ndarray,
    c: np.ndarray,
) -> np.ndarray | None:
    """(m,) data predicted on a finer discretisation less those predicted here; None where that cannot be had, or costs too much.

    Args:
        equations: the discrete problem.
        data: what is predicted.
        mesh, settings: of the inference.
        u, c: (N,) and (n, K), its discrete answer.
    """
    try:
        finer = _finer(equations, mesh, settings)
        if finer.size > _AFFORDABLE[mesh.simplices.dimension]:
            return None
        c_finer = space_of(equations).interpolation(finer.coefficient_nodes) @ c
        form = finer.discretisation
        values = equations.at(c).interpolate(u, form.unknown_nodes)
        first = values[np.arange(finer.size), np.asarray(form.unknown_components)]
        steps = 1 if equations.is_linear else _STEPS
        found = newton(finer.given(c_finer), first, direct, steps=steps, damped=False).u
        noise = [np.ones(len(d)) for d in data]
        here, there = (Discrete(e, data, noise, {}, ()).observe(v)[0] for e, v in ((equations, u), (finer, found)))
    except (PcpinnError, np.linalg.LinAlgError):  # the answer stands without it
        return None
    return there - here if np.isfinite(there).all() else None


def _finer(equations: Equations, mesh: AnyMesh, settings: Settings) -> Equations:
    if isinstance(mesh, SlabMesh):
        slabs, degree, order, _ = finer_slabs(mesh, settings)
        finer: AnyMesh = slabs
        raised = settings.with_recipe("time", replace(settings.time, order=order))
    else:
        _, finer, degree, _ = finer_elements(equations.family.base, mesh, settings)
        raised = settings
    assert isinstance(settings.mesh, Meshing)  # unknown coefficients live on finite elements
    return make_equations(equations.family, finer, raised.with_recipe("mesh", replace(settings.mesh, degree=degree)))
