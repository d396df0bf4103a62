"""Every catalog problem: same anatomy, solvable, with a reference that the discretisation converges to."""

import numpy as np
import pytest
import torch
from torch.func import jacfwd, vmap

from pcpinn import PcpinnError
from pcpinn.bench import suite
from pcpinn.catalog import CATALOG, INVERSE, PRESETS
from pcpinn.catalog.entry import PRECISE
from pcpinn.catalog.makers import MAKERS
from pcpinn.catalog.published import best_baseline, paper_result, published_figures
from pcpinn.discretize.discrete_equation import DiscreteEquation
from pcpinn.discretize.discretisation import check_functions
from pcpinn.discretize.nonlinear import solve_newton
from pcpinn.discretize.pointwise import Pointwise, dirichlet_values
from pcpinn.discretize.system import linear_part
from pcpinn.problem.conditions import Dirichlet, NaturalCondition
from pcpinn.solution.reference import compare
from pcpinn.solution.solution import component_names
from pcpinn.solve.build import make_discretisation, make_mesh
from pcpinn.solve.method import SLOTS
from pcpinn.solve.settings import recipes_with


def discretisation_error(entry, preset, changes):
    parameters, settings = entry.resolve(preset, changes)
    problem, reference = entry.problem(**parameters), entry.reference(**parameters)
    discretisation = make_discretisation(problem, make_mesh(problem, settings), settings)
    linear = check_functions(discretisation)
    equation = DiscreteEquation(discretisation)
    u = linear_part(equation).solution if linear else solve_newton(equation)
    names = component_names(problem.unknowns)
    return compare(discretisation.interpolate(u, reference.points), reference, names)["l2re"]


@pytest.mark.parametrize("name", ["gs", "ks", "ns2d-c", "ns2d-cg", "ns2d-lt", "wave2d-cg", "wave2d-long"])
def test_fields_that_count_are_those_of_the_reference(name):
    """Else an estimated error, the largest over the fields, is one of other fields than the true error."""
    entry = CATALOG.find(name)
    problem = entry.problem()
    fields = [f for f in problem.unknowns for _ in range(f.components)]
    compared = {fields[k].name for k in entry.reference().components}
    assert compared == {f.name for f in fields if not f.auxiliary}


@pytest.mark.parametrize("name", ["gs", "ks", "ns2d-lt", "wave2d-cg", "wave2d-long"])
def test_only_what_is_given_at_the_start_is_compared_there(name):
    """A pressure then is what sets the flow going, not the zero of a file."""
    entry = CATALOG.find(name)
    problem, reference = entry.problem(), entry.reference()
    names = [f.name for f in problem.unknowns for _ in range(f.components)]
    initial = problem.boundary["initial"]
    given = set(initial) if isinstance(initial, dict) else set(names)
    if bool((reference.points[:, -1] <= problem.domain.start).any()):
        assert {names[k] for k in reference.components} <= given


@pytest.mark.parametrize("entry", CATALOG, ids=CATALOG.names())
def test_anatomy(entry):
    assert tuple(entry.presets)[:3] == PRESETS
    assert set(entry.presets) <= {*PRESETS, PRECISE}
    for preset in entry.presets:
        parameters, settings = entry.resolve(preset, {})
        assert entry.problem(**parameters).name == entry.name
        if preset == "paper":
            assert (settings.optimiser.name, settings.loss.norm) == ("adam", "uniform")
            assert entry.deviations or entry.name not in suite("paper")  # the paper leaves something open everywhere
            if settings.marches:
                time = settings.time
                assert (time.linearisation, time.head_steps) == ("none", 0)
                assert time.scheme == ("second-difference" if entry.name == "wave2d-cg" else "euler")
                assert settings.optimiser.iterations == {"burgers2d-c": 2000, "ks": 15_000}.get(entry.name, 1000)
            else:
                assert settings.optimiser.iterations == (50_000 if entry.name == "heat2d-ms" else 20_000)
    reference = entry.reference(**entry.parameters)
    assert reference.kind in ("exact", "certified")
    assert reference.error < {"poisson3d-cg": 4e-4, "wave2d-cg": 6e-4}.get(
        entry.name, 1e-4 if entry.name in MAKERS else 1e-6
    )
    assert reference.note
    assert len(reference.points) == len(reference.values)


# Independent of the references' own certificates: finite elements approach them at the rate of their degree.
@pytest.mark.parametrize(
    ("name", "coarse", "fine", "ratio"),
    [
        ("poisson1d", {"cells": 8}, {"cells": 16}, 14),
        ("poisson2d-c", {"size": 0.1, "curvature": 1.5}, {"size": 0.05, "curvature": 3.0}, 5),
        ("poisson2d-cg", {"size": 0.16, "degree": 2}, {"size": 0.08, "degree": 2, "curvature": 4.0}, 5),
        ("wave1d-c", {"cells": 6, "steps": 24}, {"cells": 12, "steps": 48}, 12),
        ("wave1d", {"cells": 6, "steps": 24, "C": 1.5}, {"cells": 12, "steps": 48, "C": 1.5}, 10),
        ("helmholtz2d", {"cells": (6, 6), "A": 3}, {"cells": (12, 12), "A": 3}, 10),
    ],
)
def test_finite_elements_converge_to_the_reference(name, coarse, fine, ratio):
    entry = CATALOG.find(name)
    assert discretisation_error(entry, "quick", coarse) > ratio * discretisation_error(entry, "quick", fine)


# Coarse, but a wrong sign or boundary value would be an error of order one; the coefficient transposed gives 0.5.
@pytest.mark.parametrize(
    ("name", "changes", "error"),
    [
        ("heat2d-vc", {"cells": (4, 12), "steps": 8, "degree": 2}, 0.15),
        ("poisson2d-ms", {"cells": (10, 10), "lines": 2, "degree": 3}, 0.003),
        ("poisson3d-cg", {"size": 0.15, "curvature": 1.0, "degree": 2}, 0.06),
        ("heat2d-cg", {"size": 2.5, "steps": 5, "degree": 1, "curvature": 2.0}, 0.1),
        ("ns2d-c", {"size": 0.15, "degree": 2}, 0.03),
        ("ns2d-cg", {"size": 0.5, "degree": 2}, 0.02),
        (
            "burgers1d",
            {
                "cells": (40,),
                "steps": 20,
                "degree": 2,
                "time": "simplex",
                "iterations": 1,
            },
            0.01,
        ),
    ],
)
def test_finite_elements_come_near_the_shipped_reference(name, changes, error):
    assert discretisation_error(CATALOG.find(name), "quick", changes) < error


def heat2d_ms(x):
    return torch.sin(20 * torch.pi * x[0]) * torch.sin(torch.pi * x[1]) * torch.exp(-(0.0016 + 1) * x[2])


def wave2d_ms(x):
    pi = torch.pi
    part = torch.sin(pi * x[0]) * torch.sinh(pi * x[1]) + torch.sinh(3 * pi * x[0]) * torch.sin(2 * pi * x[1])
    return torch.cos(pi * x[2]) * part


@pytest.mark.parametrize("exact", [heat2d_ms, wave2d_ms])
def test_formulas_solve_their_problems(exact):
    """The equation holds inside; the conditions hold on every side; the reference is the formula."""
    entry = CATALOG.find(exact.__name__.replace("_", "-"))
    problem, reference = entry.problem(), entry.reference()
    lower, upper = problem.domain.bounds
    x = torch.from_numpy(np.random.default_rng(0).uniform(lower, upper, size=(50, 3)))

    def state(p):
        return torch.cat([exact(p)[None], jacfwd(exact)(p)])[None]

    def flux(p):  # in space and time
        return Pointwise(problem, strong=True).at_point(p, state(p))[0, 1:]

    terms = vmap(lambda p: jacfwd(flux)(p).diagonal())(x)
    size = terms.abs().max()
    assert terms.sum(1).abs().max() < 1e-10 * size
    assert problem.source is None
    sides = {
        "initial": (2, lower),
        "final": (2, upper),
        **{f"sides{k}": (k // 2, (lower, upper)[k % 2]) for k in range(4)},
    }
    for side, (axis, corner) in sides.items():
        condition = problem.conditions.get(side.rstrip("0123"), {}).get("u")
        on_it = x.clone()
        on_it[:, axis] = corner[axis]
        normal = torch.zeros(3, dtype=torch.float64)
        normal[axis] = -1.0 if corner is lower else 1.0
        if isinstance(condition, Dirichlet):
            (given,) = dirichlet_values(condition, problem.field("u"), on_it, side, problem.over_time)
            np.testing.assert_allclose(given, vmap(exact)(on_it), atol=1e-9 * float(size))
        if isinstance(condition, NaturalCondition):
            outward = vmap(lambda p: flux(p) @ normal)(on_it)  # noqa: B023
            np.testing.assert_allclose(outward, 0.0, atol=1e-9 * float(size))
    np.testing.assert_allclose(reference.values[:, 0], vmap(exact)(torch.from_numpy(reference.points)), atol=1e-9)
    assert np.sqrt((reference.values**2).mean()) > 0.1 * np.abs(reference.values).max() / 3  # not on the zeros


def wave2d_long(x):
    """u and v = u_t / (sqrt(7) pi)."""
    pi = torch.pi

    def u(p):
        one = torch.sin(2 * pi * p[0]) * torch.sinh(pi * p[1]) * torch.cos(2**0.5 * pi * p[2])
        two = torch.sinh(pi * p[0]) * torch.sin(2 * pi * p[1]) * torch.cos(7**0.5 * pi * p[2])
        return (one + two) / np.sinh(np.pi)

    return torch.stack([u(x), jacfwd(u)(x)[2] / (7**0.5 * pi)])


def test_the_long_wave_solves_its_system():
    entry = CATALOG.find("wave2d-long")
    problem, reference = entry.problem(), entry.reference()
    x = torch.from_numpy(np.random.default_rng(0).uniform(*problem.domain.bounds, size=(50, 3)))

    def out(p):  # source and flux in space and time of both fields
        state = torch.cat([wave2d_long(p)[:, None], jacfwd(wave2d_long)(p)], dim=1)
        return Pointwise(problem, strong=True).at_point(p, state)

    def residual(p):
        return out(p)[:, 0] - jacfwd(lambda q: out(q)[:, 1:])(p).diagonal(dim1=1, dim2=2).sum(1)

    assert vmap(residual)(x).abs().max() < 1e-9
    for side in ("sides", "initial"):
        at = x.clone()
        at[:, 2 if side == "initial" else 0] = 0.0
        for k, field in enumerate(("u", "v")):
            given = vmap(problem.conditions[side][field].value)(at[:, :2], at[:, 2])
            np.testing.assert_allclose(given, vmap(wave2d_long)(at)[:, k], atol=1e-11)
    assert float(vmap(wave2d_long)(at)[:, 1].abs().max()) == 0.0  # at rest at the start
    np.testing.assert_allclose(
        reference.values[:500, 0], vmap(wave2d_long)(torch.from_numpy(reference.points[:500]))[:, 0], atol=1e-11
    )


def test_the_papers_form_of_the_wave_agrees_with_the_formula():
    assert discretisation_error(CATALOG.find("wave1d-c"), "paper", {}) == pytest.approx(1.3e-2, rel=0.2)


@pytest.mark.parametrize(("name", "nodes"), [("poisson2d-c", 10602), ("poisson2d-cg", 9382), ("poisson2d-ms", 101**2)])
def test_paper_meshes_have_the_papers_size(name, nodes):
    entry = CATALOG.find(name)
    parameters, settings = entry.resolve("paper", {})
    assert len(make_mesh(entry.problem(**parameters), settings).nodes) == pytest.approx(nodes, rel=0.05)


def test_parameters_change_the_problem_and_its_reference():
    entry = CATALOG.find("poisson1d")
    parameters, _ = entry.resolve("quick", {"P": "4"})
    assert entry.reference(**parameters).points.max() == pytest.approx(np.pi / 2)
    x = torch.tensor([0.3], dtype=torch.float64)
    assert float(entry.problem(**parameters).source(x, None)) == pytest.approx(-16 * np.sin(1.2))


def test_references_of_burgers_are_refused_where_they_are_not_resolved():
    with pytest.raises(PcpinnError, match="out of the reference's reach"):
        CATALOG.find("burgers1d").reference(nu=1e-4)


def test_study_problems_are_in_no_table_of_the_paper():
    for name in ("wave1d", "helmholtz2d", "burgers1d"):
        assert paper_result(name) is None


def test_published_figures():
    assert len(published_figures()) > 600
    assert paper_result("poisson2d-c").mean == pytest.approx(3.98e-3)
    assert best_baseline("poisson2d-c").method == "NTK"
    assert paper_result("poisson1d") is None


@pytest.mark.parametrize("entry", [*CATALOG, *INVERSE], ids=[*CATALOG.names(), *INVERSE.names()])
def test_no_parameter_has_the_name_of_a_setting(entry):
    assert not [name for name in entry.parameters if recipes_with(name) or name in SLOTS]
