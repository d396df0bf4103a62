"""A mesh that is fine enough for all problems of a family: discrete solutions at a few parameters decide."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from ..discretize.finite_elements import FiniteElements
from ..discretize.in_time import Slabs
from ..errors import PcpinnError
from ..mesh.mesh import Mesh
from ..mesh.meshing import Meshing
from ..mesh.refine import refined
from ..mesh.slab_mesh import AnyMesh, SlabMesh
from ..problem.shape_base import Domain
from ..progress import Progress
from ..solve.adapt.interfaces import Interfaces, interfaces_of
from ..solve.adapt.inverses import Inverses
from ..solve.adapt.level import Elements, Level
from ..solve.adapt.wish import Wish
from ..solve.build import make_mesh
from ..solve.settings import Settings
from .direct import direct_solution, direct_solutions, distance
from .discretise import AnySystem, make_finer, make_system
from .family import Family

_SHARE = 0.3  # of the accuracy that the discretisation may take
_SOME = 4  # parameters at random, beside the middle and ends of ranges
_MOST = {1: 20_000, 2: 12_000, 3: 12_000}  # degrees of freedom, by dimension
_MOST_SLABS = 20_000  # the same over time, whose matrices are factorised whole
_FEWEST = 300  # nodes of each field: between fewer a network is anything
_TIME, _LONGER = 0.1, 6.0  # of the time limit that is spent on it; how much longer the next mesh takes
_TIME_FOR_NODES = 0.25  # the same as long as there are too few nodes
_HARDER = 1.5  # of slabs, for as many more degrees of freedom
_MUCH = 0.5  # of an error: a part that is refined


def choose_mesh(
    family: Family,
    settings: Settings,
    progress: Progress,
    seconds: Callable[[], float] = lambda: 0.0,
    limit: float = math.inf,
) -> tuple[AnyMesh, Settings]:
    """The mesh that was asked for; or, to an accuracy, one refined until that is within reach, over time with as many slabs.

    Returns the settings with what goes with it: the degree, and planes at which slopes jump for all parameters.

    Args:
        family: the problems.
        settings: of a run.
        progress: told what was tried.
        seconds: since the beginning.
        limit: of the whole run.
    """
    wish, base = Wish(settings), family.base
    accuracy = settings.run.accuracy
    if accuracy is not None and wish.adaptable and isinstance(settings.time, Slabs):
        return _slabs(family, settings, progress, lambda longer: seconds() + longer > 2 * _TIME * limit, seconds)
    if accuracy is None or not wish.adaptable or base.domain.has_time or isinstance(base.domain, Mesh):
        return make_mesh(base, settings), settings
    settings = wish.settings(base.domain.dimension).with_recipe("network", settings.network)
    interfaces = _interfaces(family)
    mesh = interfaces.first_mesh(base, settings)
    elements = Elements(settings.mesh.degree, settings.mesh.element, settings.mesh.quadrature)
    shape = base.domain if isinstance(base.domain, Domain) else None
    while True:
        began = seconds()
        worst = max(_error(family, mu, mesh, elements) for mu in _tried(family))
        form = FiniteElements(base, mesh, elements.degree, element=elements.element)
        size, nodes = form.size, min(s.size for s in form.space.scalar)
        progress.note(
            f"{size} degrees of freedom: discretisation error at most {worst:.1e} at {len(_tried(family))} parameters"
        )
        grown = size * 2**mesh.dimension
        longer = seconds() + _LONGER * (seconds() - began)
        good = worst <= _SHARE * accuracy
        enough = nodes >= _FEWEST
        late = longer > (_TIME if enough else _TIME_FOR_NODES) * limit
        if (good and enough) or grown > _MOST[mesh.dimension] or late:
            planes = interfaces.kinks(mesh)
            if any(planes) and isinstance(settings.mesh, Meshing):
                settings = settings.with_recipe("mesh", replace(settings.mesh, kinks=planes))
            return mesh, replace(settings, asked={**settings.asked, "mesh.degree": elements.degree})
        mesh = refined(mesh, shape)


def _interfaces(family: Family) -> Interfaces:
    """Planes at which coefficients jump for all parameters, as two at random show; those that move are none."""
    first, second = (interfaces_of(family.at(mu)).planes for mu in family.sample(2, seed=2))
    return Interfaces(first) if first == second else Interfaces()


def _slabs(
    family: Family, settings: Settings, progress: Progress, late: Callable[[float], bool], seconds: Callable[[], float]
) -> tuple[AnyMesh, Settings]:
    """Slabs and cells halved, whichever has the larger part of the error, until the accuracy is within reach."""
    mesh, host = make_mesh(family.base, settings), torch.device("cpu")
    accuracy, shape = settings.run.accuracy, getattr(family.base.domain, "shape", None)
    assert accuracy is not None
    while isinstance(mesh, SlabMesh):
        began = seconds()
        system = make_system(family, mesh, settings, host)
        finer, _ = make_finer(family, mesh, settings, host)
        errors = [_distance(family, system, finer, mu) for mu in _tried(family)]
        worst = max(errors)
        progress.note(
            f"{system.size} degrees of freedom: discretisation error at most {worst:.1e} at {len(errors)} parameters"
        )
        if worst <= _SHARE * accuracy:
            break
        later = settings.with_recipe("time", replace(settings.time, order=settings.time.order + 1))
        in_time = _distance(
            family, system, make_system(family, mesh, later, host), _tried(family)[int(np.argmax(errors))]
        )
        times, space, size = mesh.times, mesh.space, system.size
        if in_time >= _MUCH * worst:
            times, size = np.sort(np.append(times, (times[1:] + times[:-1]) / 2)), 2 * size
        if in_time < (1 - _MUCH / 2) * worst:
            space, size = refined(space, shape), size * 2**space.dimension
        if size > _MOST_SLABS or late(_HARDER * size / system.size * (seconds() - began)):
            break
        mesh = SlabMesh(space, times)
        settings = settings.with_recipe("time", replace(settings.time, steps=len(times) - 1))
    return mesh, settings


def _distance(family: Family, system: AnySystem, finer: AnySystem, mu: Tensor) -> float:
    try:
        return distance(system, finer, mu[None], direct_solutions(system, mu[None]))
    except PcpinnError as error:
        raise _nowhere(family, mu, error) from error


def _tried(family: Family) -> list[Tensor]:
    """The middle, a few ends of ranges, and a few at random."""
    ends = [mu for _, mu in family.corners(most=4)]
    return [family.middle, *ends, *family.sample(_SOME, seed=1)]


def _error(family: Family, mu: Tensor, mesh: Mesh, elements: Elements) -> float:
    problem = family.at(mu)
    coarse, fine = elements.on(problem, mesh), elements.finer(problem, mesh)
    try:
        level = Level(coarse, direct_solution(coarse), fine, direct_solution(fine), Inverses(fine))
    except PcpinnError as error:
        raise _nowhere(family, mu, error) from error
    return level.largest(level.errors)


def _nowhere(family: Family, mu: Tensor, error: PcpinnError) -> PcpinnError:
    """What to say where nothing solves the equations: in the middle of the ranges the problem is at fault, elsewhere a range."""
    if torch.equal(mu, family.middle):
        return error
    where = ", ".join(f"{n}={v:.3g}" for n, v in zip(family.labels[:6], mu.tolist(), strict=False))
    return PcpinnError(
        f"at {where} there is no discrete solution: {error.problem}", f"narrow the range; {error.remedy}"
    )
