"""Every file loads, and its truth fulfils the equation and the conditions that the file itself states.

Closed forms (`exact`, of one point, in torch) are differentiated automatically; computed truths (`truth`, of many points, in
numpy) by differences of fourth order. So a slip in a formula, a sign or a right-hand side is found without solving anything.
"""

import runpy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pcpinn import Dirichlet, Problem, Reference
from pcpinn.catalog.task import find_task
from pcpinn.problem.arguments import with_time
from pcpinn.problem.conditions import Condition, Initial, NaturalCondition, evaluate
from pcpinn.problem.field import Local
from pcpinn.problem.walls import walls_of

FILES = {p.stem: p for p in sorted(Path(__file__).parent.glob("*.py")) if not p.name.startswith(("test_", "make_"))}
STORED = ("cylinder_dfg",)  # truth in a table, not a function that gives it anywhere
FORMULAS = [name for name in FILES if name not in STORED]
OVER_TIME = [name for name in FORMULAS if '"initial":' in FILES[name].read_text()]
CLOSED = 1e-9  # residual of a closed form, relative to the terms of the equation
# The same for computed truths, which differences limit, and the step of these relative to the extent.
COMPUTED = {
    "allen_cahn": (5e-5, 2e-4),
    "burgers_ring": (2e-5, 1e-4),
    "cahn_hilliard": (2e-4, 2e-4),
    "heat_jump": (1e-7, 1e-3),
    "heat_robin": (1e-6, 1e-3),
    "schroedinger": (0.1, 1e-4),  # the jump of its slope makes u_xx rough; see also the breather below
}
LATER = ("heat_jump", "heat_robin")  # conditions and initial values contradict each other


@dataclass(frozen=True)
class Stranger:
    """A file: its names, problem and reference."""

    name: str
    names: dict[str, Any]
    problem: Problem
    reference: Reference

    @property
    def shape(self):
        return self.problem.domain.shape if self.problem.over_time else self.problem.domain

    def exact(self, z):
        """(D,) point, time last -> (C,) all components; closed forms only."""
        given = (z[:-1], z[-1]) if self.problem.over_time else (z,)
        return torch.atleast_1d(self.names["exact"](*given))

    def truth(self, points):
        """(n, D) -> (n, C)."""
        if "exact" in self.names:
            return np.stack([self.exact(torch.tensor(z)).numpy() for z in points])
        values = self.names["truth"](points)
        return values.reshape(len(points), -1)

    def jets(self, points):
        """(n, D) -> values (n, C) and derivatives (n, C, D)."""
        if "exact" in self.names:
            z = torch.tensor(points)
            return self.truth(points), np.stack([torch.func.jacfwd(self.exact)(p).numpy() for p in z])
        h = COMPUTED[self.name][1] * np.subtract(*self.problem.domain.bounds[::-1])
        shifts = np.concatenate([[0 * h], *(np.diag(k * h) for k in (1, -1, 2, -2))])
        all_values = self.truth((points + shifts[:, None]).reshape(-1, points.shape[1]))
        values = all_values.reshape(len(shifts), len(points), -1)
        up, down, up2, down2 = values[1:].reshape(4, points.shape[1], len(points), -1)
        slopes = (8 * (up - down) - (up2 - down2)) / (12 * h[:, None, None])
        return values[0], np.moveaxis(slopes, 0, 2)


@cache
def load(name):
    task = find_task(str(FILES[name]), "default", {})
    return Stranger(name, runpy.run_path(str(FILES[name])), task.problem, task.reference)


def local(problem, values, slopes):
    """Values (C,) and derivatives (C, D) as a `Local` for each field."""
    result, k = [], 0
    for field in problem.unknowns:
        part = slice(k, k + field.components) if field.components > 1 else k
        rate = slopes[part][..., -1] if problem.over_time else None
        result.append(Local(values[part], slopes[part][..., : problem.dimension], rate))
        k += field.components
    return result


def rows(problem, function, z, fields, tail=()):
    """What flux (tail=(d,)), source or density give at a point, (C, *tail); nothing is zero."""
    count = problem.components
    if function is None:
        return torch.zeros((count, *tail), dtype=torch.float64)
    d = problem.dimension
    given = with_time(function, problem.over_time)(z[:d], z[-1], *fields)
    given = given if isinstance(given, tuple) else (given,)
    parts = [
        torch.zeros((f.components, *tail), dtype=torch.float64)
        if part is None
        else torch.as_tensor(part, dtype=torch.float64).reshape(-1, *tail).expand(f.components, *tail)
        for f, part in zip(problem.unknowns, given, strict=True)
    ]
    return torch.cat(parts)


def equation(stranger, points):
    """Terms of each equation at points: d/dt density, source and the parts of -div flux, (n, 2 + d, C)."""
    problem, d = stranger.problem, stranger.problem.dimension
    if "exact" in stranger.names:

        def parts(z):
            fields = local(problem, stranger.exact(z), torch.func.jacrev(stranger.exact)(z))
            flux = rows(problem, problem.flux, z, fields, (d,))
            return torch.cat([rows(problem, problem.density, z, fields)[:, None], flux], dim=1)

        def terms(z):
            fields = local(problem, stranger.exact(z), torch.func.jacrev(stranger.exact)(z))
            slopes = torch.func.jacfwd(parts)(z)  # (C, 1 + d, D)
            rate = slopes[:, 0, -1] if problem.over_time else 0 * slopes[:, 0, 0]
            away = [-slopes[:, 1 + i, i] for i in range(d)]
            return torch.stack([rate, rows(problem, problem.source, z, fields), *away])

        return np.stack([terms(z).numpy() for z in torch.tensor(points)])
    size = points.shape[1]
    h = COMPUTED[stranger.name][1] * np.subtract(*problem.domain.bounds[::-1])
    shifts = np.concatenate([[0 * h], *(np.diag(k * h) for k in (1, -1, 2, -2))])
    where = (points + shifts[:, None]).reshape(-1, size)
    values, slopes = (torch.tensor(a) for a in stranger.jets(where))
    found = []
    for z, v, s in zip(torch.tensor(where), values, slopes, strict=True):
        fields = local(problem, v, s)
        density, source = (rows(problem, f, z, fields) for f in (problem.density, problem.source))
        flux = rows(problem, problem.flux, z, fields, (d,))
        found.append(torch.cat([flux, density[:, None], source[:, None]], dim=1).numpy())
    table = np.array(found).reshape(len(shifts), len(points), problem.components, d + 2)
    up, down, up2, down2 = table[1:].reshape(4, size, *table.shape[1:])
    change = (8 * (up - down) - (up2 - down2)) / (12 * h[:, None, None, None])
    rate = change[-1, ..., d]
    return np.stack([rate, table[0, ..., d + 1], *(-change[i, ..., i] for i in range(d))], axis=1)


def sides(stranger, count=3):
    """(name, points (n, D), normals (n, d)) of each side: walls of the shape, at random places and times."""
    shape, random = stranger.shape, np.random.default_rng(1)
    lower, upper = shape.bounds
    for wall in walls_of(shape):
        x = random.uniform(lower, upper, (300, len(lower)))
        for _ in range(8):
            slope = 2 * x @ wall.quadratic + wall.linear
            x = x - (wall.level(x) / (slope**2).sum(axis=1))[:, None] * slope
        n = 2 * x @ wall.quadratic + wall.linear
        n /= np.linalg.norm(n, axis=1, keepdims=True)
        small = 1e-6 * shape.extent
        ahead, behind = shape.contains(x + small * n), shape.contains(x - small * n)
        n = np.where(ahead[:, None], -n, n)
        on = np.flatnonzero((ahead != behind) & (np.abs(wall.level(x)) < 1e-12 * shape.extent))[:count]
        assert len(on), wall.name
        yield wall.name, with_times(stranger, x[on], random), n[on]


def with_times(stranger, x, random):
    if not stranger.problem.over_time:
        return x
    domain = stranger.problem.domain
    early = 0.1 if stranger.name in LATER else 0.0
    times = domain.start + (domain.end - domain.start) * random.uniform(early, 1, (len(x), 1))
    return np.concatenate([x, times], axis=1)


def tolerance(stranger):
    return CLOSED if "exact" in stranger.names else COMPUTED[stranger.name][0]


@pytest.mark.parametrize("name", FILES)
def test_fields_that_count_are_compared(name):
    """The estimate is of the worst of them, so the truth has to be of all."""
    stranger = load(name)
    fields = [f for f in stranger.problem.unknowns for _ in range(f.components)]
    compared = {fields[k].name for k in stranger.reference.components}
    assert compared == {f.name for f in fields if not f.auxiliary}


@pytest.mark.parametrize("name", FILES)
def test_it_loads_and_says_what_it_is(name):
    stranger = load(name)
    assert len(stranger.names["__doc__"].splitlines()) > 2
    assert "Truth" in stranger.names["__doc__"]
    assert not {"settings", "presets"} & stranger.names.keys()
    stranger.problem.check_boundaries(stranger.problem.domain.boundary_names)  # a side that is forgotten is a warning


@pytest.mark.parametrize("name", FILES)
def test_the_points_are_spread_over_the_whole_domain(name):
    stranger = load(name)
    domain, points = stranger.problem.domain, stranger.reference.points
    stranger.reference.check_fits(domain.dimension, stranger.problem.components)
    assert 500 <= len(points) <= 4000
    assert domain.contains(points).all()
    lower, upper = domain.bounds
    for i in range(points.shape[1]):
        counts, _ = np.histogram(points[:, i], 10, (lower[i], upper[i]))
        assert counts.min() > 0.01 * len(points)
    assert (np.ptp(stranger.reference.values, axis=0) > 0).all()


@pytest.mark.parametrize("name", FORMULAS)
def test_the_truth_fulfils_the_equation(name):
    stranger = load(name)
    points = stranger.reference.points[:: len(stranger.reference.points) // 7]
    terms = equation(stranger, points)
    scale = np.abs(terms).sum(axis=1).max(axis=0)
    scale = np.maximum(scale, 1e-3 * scale.max())  # a divergence that vanishes is one term without a size
    assert (np.abs(terms.sum(axis=1)) <= tolerance(stranger) * scale).all(), np.abs(terms.sum(axis=1)).max(0) / scale


@pytest.mark.parametrize("name", [n for n in FORMULAS if n not in COMPUTED])
def test_the_reference_is_the_truth(name):
    stranger = load(name)
    some = slice(0, None, 100)
    points = stranger.reference.points[some]
    values = stranger.truth(points)[:, list(stranger.reference.components)]
    scale = np.abs(stranger.reference.values).max()
    np.testing.assert_allclose(stranger.reference.values[some], values, rtol=0, atol=tolerance(stranger) * 1e-3 * scale)


@pytest.mark.parametrize("name", FORMULAS)
def test_the_truth_fulfils_the_conditions_on_the_sides(name):
    stranger = load(name)
    problem, d = stranger.problem, stranger.problem.dimension
    if not problem.periodic_pairs:
        for side, points, normals in sides(stranger):
            for z, n, v, s in zip(*map(torch.tensor, (points, normals, *stranger.jets(points))), strict=True):
                fields = local(problem, v, s)
                flux = rows(problem, problem.flux, z, fields, (d,)) @ n
                k = 0
                for field, own in zip(problem.unknowns, fields, strict=True):
                    part = slice(k, k + field.components)
                    k += field.components
                    condition = problem.conditions[side].get(field.name)
                    check_condition(stranger, condition, z, n, own, fields, flux[part])
    else:  # on a ring
        lower, upper = stranger.shape.bounds
        at_left = np.stack([np.full(5, lower[0]), np.linspace(*problem.domain.bounds, 7)[1:-1, -1]], axis=1)
        at_right = at_left + np.array([upper[0] - lower[0], 0.0])
        both = stranger.truth(np.concatenate([at_left, at_right])).reshape(2, 5, -1)
        np.testing.assert_allclose(both[0], both[1], atol=1e-7 * np.abs(stranger.reference.values).max())


def check_condition(stranger, condition: Condition | None, z, n, own, fields, flux):
    """At one point of a side: the values are those of Dirichlet, else the normal flux (C,) is that of the condition."""
    problem, d = stranger.problem, stranger.problem.dimension
    x, t = z[:d], z[-1] if problem.over_time else None
    natural = torch.zeros_like(flux)
    if isinstance(condition, NaturalCondition):
        natural = natural + torch.as_tensor(condition.normal_flux(x, t, n, own, fields), dtype=torch.float64)
    free = [True] * len(flux)
    if isinstance(condition, Dirichlet):
        wanted = condition.value if isinstance(condition.value, list) else evaluate(condition.value, x, t)
        if not isinstance(wanted, list):
            wanted = torch.as_tensor(wanted, dtype=torch.float64).expand(len(flux)).tolist()
        free = [w is None for w in wanted]
        values, _ = sizes(stranger.name)
        for w, v in zip(wanted, torch.atleast_1d(own.value), strict=True):
            assert w is None or abs(w - float(v)) <= tolerance(stranger) * values
    wrong = (flux - natural).abs()[torch.tensor(free)]
    assert (wrong <= tolerance(stranger) * sizes(stranger.name)[1]).all()


@cache
def sizes(name):
    """The largest value and the largest flux at some points."""
    stranger = load(name)
    problem, points = stranger.problem, stranger.reference.points[:: len(stranger.reference.points) // 7]
    values, slopes = map(torch.tensor, stranger.jets(points))
    fluxes = [
        rows(problem, problem.flux, z, local(problem, v, s), (problem.dimension,)).abs().max()
        for z, v, s in zip(torch.tensor(points), values, slopes, strict=True)
    ]
    return float(values.abs().max()), float(max(fluxes))


@pytest.mark.parametrize("name", [n for n in OVER_TIME if n not in LATER])
def test_the_truth_begins_as_the_problem_says(name):
    stranger = load(name)
    problem = stranger.problem
    points = stranger.reference.points[:20].copy()
    points[:, -1] = problem.domain.start
    values = stranger.truth(points)
    scale = np.abs(values).max()
    rates = stranger.jets(points)[1][..., -1] if problem.second_order_fields else None
    k = 0
    for field in problem.unknowns:
        condition = problem.conditions["initial"].get(field.name)
        if isinstance(condition, Initial):
            for i, z in enumerate(torch.tensor(points)):
                given = [(condition.value, values, scale)]
                if rates is not None:
                    given.append((condition.rate, rates, scale / (problem.domain.end - problem.domain.start)))
                for value, found, size in given:
                    wanted = evaluate(value, z[:-1], z[-1])
                    np.testing.assert_allclose(found[i, k], float(wanted), rtol=0, atol=1e-4 * size)
        k += field.components


def test_the_schroedinger_ring_is_long_enough_for_a_breather():
    """On the whole line there is a formula; on the ring the solution differs from it by the tails, 0.03 at x = 5."""
    reference = load("schroedinger").reference
    x, t = reference.points.T
    above = 4 * np.exp(0.5j * t) * (np.cosh(3 * x) + 3 * np.exp(4j * t) * np.cosh(x))
    line = above / (np.cosh(4 * x) + 4 * np.cosh(2 * x) + 3 * np.cos(4 * t))
    ring = reference.values[:, 0] + 1j * reference.values[:, 1]
    assert np.linalg.norm(ring - line) < 0.01 * np.linalg.norm(line)


@pytest.mark.parametrize("name", LATER)
def test_series_begin_as_the_problem_says(name):
    """Where conditions and initial values contradict each other: away from the sides, soon after the start."""
    stranger = load(name)
    middle = np.mean(stranger.problem.domain.bounds, axis=0)[None]
    middle[0, -1] = 1e-3
    np.testing.assert_allclose(stranger.truth(middle), 1.0, atol=1e-9)


def test_the_string_repeats_itself():
    """Its pieces are straight, so that the equation says nothing: after half a period it is mirrored, after one the same."""
    stranger = load("plucked_string")
    x = np.linspace(0.05, 0.95, 19)
    at = [stranger.truth(np.stack([x, np.full(19, t)], axis=1)) for t in (0.0, 1.0, 2.0)]
    np.testing.assert_allclose(at[1], -at[0][::-1], atol=1e-12)
    np.testing.assert_allclose(at[2], at[0], atol=1e-12)
    quarter = stranger.truth(np.array([[0.3, 0.2]]))
    np.testing.assert_allclose(quarter, (0.1 / 0.3 + 0.5 / 0.7) / 2)


def test_the_inclusion_keeps_value_and_flux_across_its_circle():
    stranger = load("inclusion")
    flux = stranger.problem.flux
    for angle in (0.3, 1.2, 2.9, 4.0):
        n = torch.tensor([np.cos(angle), np.sin(angle)])
        sides = []
        for r in (0.5 - 1e-9, 0.5 + 1e-9):
            slope = torch.func.jacfwd(stranger.exact)(r * n)[0]
            sides.append([float(stranger.exact(r * n)), float(flux(r * n, Local(torch.zeros(()), slope)) @ n)])
        np.testing.assert_allclose(*sides, rtol=1e-7, atol=1e-7)


def test_the_stored_flow_has_the_forces_that_are_known():
    """Drag, lift and pressure difference of the computation behind the table; its values near the walls and the inflow."""
    stranger = load("cylinder_dfg")
    table = np.load(FILES["cylinder_dfg"].with_suffix(".npz"))
    np.testing.assert_allclose(table["numbers"], [5.57953523, 0.0106189, 0.11752017], rtol=1e-5)
    assert table["difference"].max() < 2e-5
    points, values = stranger.reference.points, stranger.reference.values
    near_wall = np.minimum(points[:, 1], 0.41 - points[:, 1]) < 1e-3
    assert near_wall.sum() > 5
    assert np.linalg.norm(values[near_wall, :2], axis=1).max() < 0.02
    entering = points[:, 0] < 0.01
    profile = 1.2 * points[entering, 1] * (0.41 - points[entering, 1]) / 0.41**2
    np.testing.assert_allclose(values[entering, 0], profile, atol=2e-3)
