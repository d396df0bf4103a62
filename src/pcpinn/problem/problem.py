"""The one definition of a PDE, from which everything else follows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ..errors import PcpinnError, PcpinnWarning
from .arguments import refuse_other_order, refuse_time_first, takes_time
from .conditions import Condition, Natural, Periodic, Pin, require_condition
from .field import Field, as_fields
from .shape_base import Domain
from .time_checks import check_time


@runtime_checkable
class DomainLike(Protocol):
    """A shape, a shape over time, or a mesh."""

    @property
    def dimension(self) -> int:
        """Number of coordinates, time included."""

    @property
    def boundary_names(self) -> tuple[str, ...]:
        """Names that conditions may refer to."""

    @property
    def has_time(self) -> bool:
        """Whether the last coordinate is time."""


@dataclass(frozen=True)
class Problem:
    """d/dt density(x, u) + source(x, u) - div flux(x, u) = 0 on a domain, with conditions on its named boundaries.

    `flux`, `source` and `density` are functions of *one point*: x is a tensor (d,), each field a `Local` with `.value` and
    `.grad`. In a problem over time x and `.grad` are those of space, there is a `.dt`, and a function that needs the time
    takes it as its second parameter, called t: flux(x, t, *fields). They are written with torch operations, and are evaluated
    at many points at once by `torch.func.vmap`.

    Attributes:
        domain: a shape (`Rectangle(...) - Disk(...)`), a shape over time (`Interval(0, 1).over(0, 2)`), or a mesh.
        flux: flux(x, *fields) -> (d,) for a scalar field, (c, d) for a vector; a tuple, one per field, for several.
        source: source(x, *fields) -> () or (c,), likewise. A right-hand side f enters as -f.
        density: density(x, *fields) -> () or (c,), likewise: u.value for heat and flow, u.dt for waves; None for an equation
            without a rate.
        boundary: name -> condition, or name -> {field name: condition}.
        fields: "u", Field("u", components=2), or several of them; or numbers of components, {"u": 2, "p": 1}.
        pins: values fixed at single points of space.
        name: for titles and run folders.
    """

    domain: DomainLike
    flux: Callable[..., Any] | None = None
    source: Callable[..., Any] | None = None
    density: Callable[..., Any] | None = field(default=None, kw_only=True)
    boundary: Mapping[str, Condition | Mapping[str, Condition]] = field(default_factory=dict)
    fields: Sequence[Field | str] | Field | str | Mapping[str, int] = "u"
    pins: Sequence[Pin] = ()
    name: str = "problem"

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain) and not isinstance(self.domain, DomainLike):
            raise PcpinnError(
                f"the domain is {self.domain!r}, which is neither a shape nor a mesh",
                "use shapes such as Rectangle((0, 0), (1, 1)), or read_mesh('file.msh')",
            )
        if self.flux is None and self.source is None and self.density is None:
            raise PcpinnError("the problem has neither flux nor source", "give flux=lambda x, u: u.grad, for instance")
        for what, function in (("flux", self.flux), ("source", self.source), ("density", self.density)):
            if function is not None and not callable(function):
                raise PcpinnError(f"{what} is {function!r}, not a function", f"write {what}=lambda x, u: ...")
        object.__setattr__(self, "fields", as_fields(self.fields))
        object.__setattr__(self, "boundary", self._normalised_boundary())
        object.__setattr__(self, "pins", (self.pins,) if isinstance(self.pins, Pin) else tuple(self.pins))
        for pin in self.pins:
            self._check_pin(pin)
        self._check_arguments()
        check_time(self.over_time, self.domain.has_time, self.density is not None, self.unknowns, self.conditions)

    def _check_arguments(self) -> None:
        """Refuse functions whose parameters are called like arguments that come at another place."""
        names = [f.name for f in self.unknowns]
        for what, given in (("flux", self.flux), ("source", self.source), ("density", self.density)):
            if given is not None:
                self._check_order(given, names, 1, what)
        for name, by_field in self.conditions.items():
            what = f"the condition on {name!r}"
            for condition in by_field.values():
                if isinstance(condition, Natural):
                    self._check_order(condition.function, names, 2, what)
                for given in vars(condition).values():
                    for one in given if isinstance(given, list | tuple) else (given,):
                        if self.over_time:
                            refuse_time_first(one, what)

    def _check_order(self, function: Callable[..., Any], names: Sequence[str], before: int, what: str) -> None:
        timed = self.over_time and takes_time(function)
        if self.over_time:
            refuse_time_first(function, what)
        refuse_other_order(function, names, before + timed, what)

    def _check_pin(self, pin: Pin) -> None:
        components = self.field(pin.field or self.unknowns[0].name).components
        if not 0 <= pin.component < components:
            raise PcpinnError(f"{pin} is for component {pin.component}", f"the field has {components}, from 0")
        if len(pin.at) != self.dimension:
            which = "space has" if self.over_time else "the domain has"
            raise PcpinnError(
                f"pin at {tuple(pin.at)} has {len(pin.at)} coordinates", f"{which} {self.dimension}: give as many"
            )
        shape = getattr(self.domain, "shape", self.domain) if self.over_time else self.domain
        if hasattr(shape, "bounds") and not _near(shape, pin.at):
            raise PcpinnError(f"{pin} is not in the domain", "give a point of the domain or of its boundary")

    @property
    def unknowns(self) -> tuple[Field, ...]:
        """The fields, always as a tuple."""
        return self.fields  # type: ignore[return-value]

    @property
    def components(self) -> int:
        """Total number of scalar components."""
        return sum(f.components for f in self.unknowns)

    @property
    def conditions(self) -> dict[str, dict[str, Condition]]:
        """Boundary name -> field name -> condition."""
        return self.boundary  # type: ignore[return-value]

    @property
    def over_time(self) -> bool:
        """Whether the problem has a time of its own, which is no component of x."""
        return self.domain.has_time and not getattr(self.domain, "coordinate", False)

    @property
    def dimension(self) -> int:
        """Number of components of x and of gradients, as the problem's functions see them."""
        return self.domain.dimension - self.over_time

    @property
    def second_order_fields(self) -> tuple[str, ...]:
        """Fields whose equation is of second order in time, by their initial conditions: those with a rate."""
        given = self.conditions.get("initial", {})
        return tuple(f.name for f in self.unknowns if getattr(given.get(f.name), "rate", None) is not None)

    @property
    def periodic_pairs(self) -> tuple[tuple[str, str], ...]:
        """(boundary, partner) for each periodic condition, without repeats."""
        pairs = {
            (name, condition.partner): None
            for name, by_field in self.conditions.items()
            for condition in by_field.values()
            if isinstance(condition, Periodic)
        }
        return tuple(pairs)

    def field(self, name: str) -> Field:
        """The field called `name`."""
        for candidate in self.unknowns:
            if candidate.name == name:
                return candidate
        raise PcpinnError(f"there is no field {name!r}", f"the fields are {', '.join(f.name for f in self.unknowns)}")

    def component_range(self, name: str) -> range:
        """Numbers of a field's components among those of all fields."""
        at = self.unknowns.index(self.field(name))
        start = sum(f.components for f in self.unknowns[:at])
        return range(start, start + self.unknowns[at].components)

    def _normalised_boundary(self) -> dict[str, dict[str, Condition]]:
        result: dict[str, dict[str, Condition]] = {}
        for name, given in self.boundary.items():
            if isinstance(given, Mapping):
                result[name] = {self.field(f).name: require_condition(c, name) for f, c in given.items()}
            elif len(self.unknowns) == 1:
                result[name] = {self.unknowns[0].name: require_condition(given, name)}
            else:
                raise PcpinnError(
                    f"boundary {name!r} has one condition, but the problem has several fields",
                    f"say which field it is for: {{{self.unknowns[0].name!r}: {given!r}}}",
                )
        return result

    def refuse_unknown(self, names: Sequence[str]) -> None:
        """Refuse conditions on boundaries that are none of these."""
        for name in [*self.conditions, *(partner for _, partner in self.periodic_pairs)]:
            if name not in names:
                raise unknown_boundary(name, sorted(names))

    def check_boundaries(self, names: Sequence[str]) -> None:
        """Compare the conditions with the boundaries that the mesh really has; warn of silent natural conditions."""
        self.refuse_unknown(names)
        self._warn_of_half_rings()
        partners = [partner for _, partner in self.periodic_pairs]
        ends = {"initial", "final"} if self.over_time else set()  # what is needed there depends on the order in time
        silent = sorted(set(names) - set(self.conditions) - set(partners) - ends)
        if silent:
            if self.flux is None:
                meaning = (
                    "there is no flux, so nothing is imposed. Right where the solution flows out (say Neumann(0) there); where "
                    "it flows in, give its values with Dirichlet."
                )
            else:
                meaning = (
                    "taken as natural, flux . n = 0. Say Neumann(0) there if that is meant; an outflow whose transport is part "
                    "of the flux needs Natural(lambda x, n, u: flux(x, u) @ n)."
                )
            warnings.warn(
                f"no condition on {', '.join(map(repr, silent))}: {meaning}",
                PcpinnWarning,
                stacklevel=3,
            )

    def _warn_of_half_rings(self) -> None:
        """Warn of boundaries on which some fields repeat themselves, and nothing is said of others."""
        for name, by_field in self.conditions.items():
            for partner in {c.partner for c in by_field.values() if isinstance(c, Periodic)}:
                given = {*by_field, *self.conditions.get(partner, {})}
                left = [repr(f.name) for f in self.unknowns if f.name not in given]
                if left:
                    warnings.warn(
                        f"{', '.join(left)} has no condition on {name!r}, where other fields repeat themselves: it does not, and "
                        f"has a wall there. If that is not meant, write Periodic({partner!r}) for it, too.",
                        PcpinnWarning,
                        stacklevel=4,
                    )


def unknown_boundary(name: str, known: Sequence[str]) -> PcpinnError:
    """The error for a name that is none of those of the boundaries."""
    return PcpinnError(
        f"there is no boundary called {name!r}", f"the boundaries of this domain are: {', '.join(known) or 'none'}"
    )


def _near(domain: Any, at: Sequence[float]) -> bool:
    """Whether a point lies in a shape, or in the box around a mesh; or beside it by a thousandth of its extent.

    A point on a curved wall is a rounded one.
    """
    lower, upper = (np.asarray(b, dtype=np.float64)[: len(at)] for b in domain.bounds)
    margin, point = 1e-3 * float(np.max(upper - lower)), np.asarray(at, dtype=np.float64)
    if not isinstance(domain, Domain):
        return bool(((point >= lower - margin) & (point <= upper + margin)).all())
    step = margin * np.eye(len(at))
    return bool(domain.contains(np.vstack([np.zeros(len(at)), step, -step]) + point).any())
