"""What users ask of a solution: integrals, fluxes through boundaries, values at points, extremes.

Errors are estimated: intervals [value - error, value + error] are meant to contain the truth. Over time see marched.py. For a
steady solution (ground.py) the error is twice the difference between its own discretisation and the finer one that the value
is from, or twice a quarter of what the cells contribute to that difference before they cancel each other, if that is more. For
smooth solutions this is careful by a factor of ten to a hundred; at singularities of the solution by a factor of one and a half
to three. It is no bound: it knows nothing of errors in the problem itself, nor of layers that neither of the two
discretisations resolves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, Protocol

import numpy as np
import torch

from ...discretize.places import Inside, places, resampled, single_points
from ...errors import PcpinnError
from ...problem.problem import Problem
from ...solution.quantity import Quantities, Quantity, answers
from ...solution.solution import Solution
from .extreme import highest
from .functional import Discrete, Functional, Sum, Together, of_point, parts_of
from .ground import ground_of
from .marched import OverTime, march_ground
from .network import over_time, space_of, time_of
from .wanted import When, flux_parts

Of = str | Callable[..., Any] | None


class Ground(Protocol):
    """What quantities are computed on."""

    @property
    def best(self) -> tuple[Discrete, torch.Tensor]:
        """The discretisation that is nearest to the truth, and its solution (N,)."""

    def quantities(self, functional: Functional, what: str, rougher: Functional | None = None) -> list[Quantity]:
        """Values of a functional, with their errors."""


@answers
def integrate(
    solution: Solution,
    f: Callable[..., Any],
    on: str | Inside | None = None,
    *,
    degree: int | None = None,
    t: When = None,
    problem: Problem | None = None,
) -> Quantities:
    """The integral of a function of a solution, with its error.

    Args:
        solution: of `pcpinn.solve`.
        f: a function of one point as those of the problem: f(x, *fields) in the domain, f(x, n, *fields) on a boundary, with
            fields that have .value and .grad; over time f(x, t, ...) if it needs the time. A number, or a vector of several.
        on: the name of a boundary; a function x -> truth value for a part of the domain; None for all of it.
        degree: of polynomials that the quadrature integrates exactly; by default what the elements need and four more.
        t: the time, in a problem over time; two moments (a, b) for the integral over the time between them, too.
        problem: the PDE; needed only for a solution that was loaded from disk.

    Returns:
        A `Quantity`; for a vector a tuple of them.

    Raises:
        PcpinnError: for an unknown boundary, a function of the wrong shape, a loaded solution without its problem.
    """
    known = _problem_of(solution, problem)
    if degree is not None and not (isinstance(degree, int) and degree >= 0):
        raise PcpinnError(
            f"degree={degree!r} is no degree of polynomials", "give a whole number from 0, or leave it out"
        )
    at_point, shape = of_point(f, known.unknowns, known.over_time, normals=isinstance(on, str))
    name = "the domain" if on is None else repr(on) if isinstance(on, str) else "a region"

    def cut(fewer: int) -> Sum:
        return Sum(at_point, lambda space: places(resampled(space, degree), on, fewer))

    found = _answer(solution, known, cut(0), f"integral over {name}", t, rougher=cut(2) if callable(on) else None)
    return found[0] if shape == [0] else tuple(found)


@answers
def flux(
    solution: Solution,
    on: str,
    field: str | None = None,
    *,
    form: Literal["reaction", "gradients"] = "reaction",
    t: When = None,
    problem: Problem | None = None,
) -> Quantities:
    """The integral of flux . n over a boundary, n pointing out of the domain; for a vector field one number per component.

    Args:
        solution: of `pcpinn.solve`.
        on: the name of the boundary.
        field: whose equation has the flux; by default that of the first field.
        form: where values are prescribed, "reaction" takes the weak residual there, which is far more accurate than the
            integral of flux . n by "gradients". Where the flux is prescribed, it is that which is integrated.
        t: the time, in a problem over time; two moments (a, b) for the integral over the time between them, too.
        problem: the PDE; needed only for a solution that was loaded from disk.

    Raises:
        PcpinnError: for an unknown boundary or field, or a loaded solution without its problem.
    """
    known = _problem_of(solution, problem)
    if form not in ("reaction", "gradients"):
        raise PcpinnError(f"form={form!r} is unknown", "give reaction or gradients")

    parts, how = flux_parts(known, on, field, gradients=form == "gradients")
    slopes, by_slopes = flux_parts(known, on, field, gradients=True)
    network = Together(slopes), f"flux through {on!r} ({by_slopes})"
    found = _answer(solution, known, Together(parts), f"flux through {on!r} ({how})", t, network=network)
    return found[0] if len(parts) == 1 else tuple(found)


@answers
def value(
    solution: Solution, x: Sequence[float], of: Of = None, *, t: When = None, problem: Problem | None = None
) -> Quantities:
    """The value of a field, or of a function f(x, *fields), at one point of the domain; arguments as of `integrate`."""
    known = _problem_of(solution, problem)
    point = _point(x, known)
    at_point, shape = of_point(_function(known, of), known.unknowns, known.over_time, normals=False)
    functional = Sum(at_point, lambda space: iter([single_points(space, point)]))
    found = _answer(solution, known, functional, "value at a point", t)
    return found[0] if shape == [0] else tuple(found)


@answers
def maximum(solution: Solution, of: Of = None, *, t: When = None, problem: Problem | None = None) -> Quantity:
    """The largest value and its place; of a vector the largest length.

    Searched for in all cells, then narrowed down in the best ones. The error is that of the value at this very place.

    Args:
        solution: of `pcpinn.solve`.
        of: the name of a field (by default the first) or a function f(x, *fields) with one number, such as a stress.
        t: the time, in a problem over time.
        problem: the PDE; needed only for a solution that was loaded from disk.
    """
    return _extreme(solution, of, 1.0, t, problem)


@answers
def minimum(solution: Solution, of: Of = None, *, t: When = None, problem: Problem | None = None) -> Quantity:
    """The smallest value and its place; arguments as of `maximum`."""
    return _extreme(solution, of, -1.0, t, problem)


def _extreme(solution: Solution, of: Of, sign: float, t: When, problem: Problem | None) -> Quantity:
    known = _problem_of(solution, problem)
    function = _function(known, of, length=True)
    at_point, shape = of_point(function, known.unknowns, known.over_time, normals=False)
    time = time_of(solution, known, t)
    if len(time) > 1:
        raise PcpinnError(f"t={t!r}: an extreme value is looked for at one moment", "give t= one moment")
    ground, _ = _ground(solution, known, time)
    if ground is None:
        space, seen = space_of(solution, known), next(over_time(solution, time))[0]
    else:
        there, u = ground.best
        space, seen = there.space, partial(there.seen, u=u)
    sought = Sum(at_point, lambda s: iter([]))
    place = highest(space, lambda batch: sign * sought.each(batch, seen)[:, 0])
    if shape != [0]:
        raise PcpinnError(
            "the function for an extreme value returned a vector", "return one number, such as u.value[0]"
        )
    functional = Sum(at_point, lambda s: iter([single_points(s, place)]))
    (found,) = _answer(solution, known, functional, "largest value" if sign > 0 else "smallest value", t)
    return Quantity(found.value, found.error, found.how, found.network, tuple(place[0].tolist()))


def _answer(
    solution: Solution,
    problem: Problem,
    functional: Functional,
    what: str,
    t: When,
    rougher: Functional | None = None,
    network: tuple[Functional, str] | None = None,
) -> list[Quantity]:
    """The numbers of a functional, with errors where a finer discretisation is at hand; else those of the network.

    Args:
        rougher: the same with a coarser quadrature.
        network: what is asked of a network over time, if not the functional, and what that is.
    """
    time = time_of(solution, problem, t)
    own, named = network if network is not None and time else (functional, what)
    ground, why = _ground(solution, problem, time, own)
    if ground is not None:
        return ground.quantities(functional, what, rougher)
    sums = [part for part in parts_of(own) if isinstance(part, Sum)]
    if len(sums) < len(parts_of(own)):
        raise PcpinnError(f"the reaction form needs a finer discretisation: {why}", "use form='gradients'")
    space = space_of(solution, problem)
    values = torch.zeros(1, dtype=torch.float64)
    for seen, weight in over_time(solution, time):
        values = values + weight * torch.cat([part.over(space, seen)[0] for part in sums])
    return [Quantity(v, None, f"{named}; of the network, without an error: {why}", v) for v in values.tolist()]


def _ground(
    solution: Solution, problem: Problem, time: tuple[float, ...], network: Functional | None = None
) -> tuple[Ground | None, str]:
    try:
        return OverTime(march_ground(solution, problem), time, network) if time else ground_of(solution, problem), ""
    except (PcpinnError, MemoryError) as error:
        return None, getattr(error, "problem", "memory is exhausted")


def _problem_of(solution: Solution, problem: Problem | None) -> Problem:
    known = problem or solution.problem
    if known is None:
        raise PcpinnError(
            "the solution does not know its equations: it was loaded from disk, or inferred from data",
            "give problem=...",
        )
    return known


def _point(x: Sequence[float], problem: Problem) -> np.ndarray:
    try:
        point = np.asarray(x, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise PcpinnError(f"{x!r} is not a point", "give its coordinates") from error
    if not np.isfinite(point).all():
        raise PcpinnError(f"the point {x!r} is not finite", "give the coordinates of a point of the domain")
    if point.shape != (problem.dimension,):
        raise PcpinnError(
            f"the point has shape {point.shape}", f"give the {problem.dimension} coordinates of one point"
        )
    return point[None]


def _function(problem: Problem, of: Of, length: bool = False) -> Callable[..., Any]:
    """A field's value, or of a vector its length, as a function of a point; a function itself."""
    if callable(of):
        return of
    name = of or problem.unknowns[0].name
    field = problem.field(name)
    at = problem.unknowns.index(field)
    if length and field.components > 1:
        return lambda x, *fields: fields[at].value.norm()
    return lambda x, *fields: fields[at].value
