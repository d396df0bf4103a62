"""Interfaces are found and followed: discrete solutions with a jump keep their order."""

import runpy
from pathlib import Path

import numpy as np
import pytest
import torch

import pcpinn as pc
from pcpinn.discretize.space import Space
from pcpinn.progress import Progress
from pcpinn.solve.adapt.interfaces import interfaces_of, pieces_of
from pcpinn.solve.adapt.level import Elements
from pcpinn.solve.adapt.limits import Limits
from pcpinn.solve.adapt.space import adapt
from pcpinn.solve.linear import settings_of
from pcpinn.solve.refinement import refined_everywhere

STRANGERS = Path(__file__).parents[2] / "strangers"


def test_a_disk_that_conducts_better_needs_few_degrees_of_freedom():
    given = runpy.run_path(str(STRANGERS / "inclusion.py"))
    problem, reference = given["problem"], given["reference"]
    known = interfaces_of(problem)
    mesh = known.first_mesh(problem, settings_of("pcpinn", problem, None, {}))
    found = adapt(problem, mesh, Elements(3, "lagrange", 8), 3.5e-4, Limits(60), Progress(), settled=known.settled)
    u = found.level.coarse.interpolate(found.level.u, reference.points)
    true = np.linalg.norm(u - reference.values) / np.linalg.norm(reference.values)
    assert found.limited_by is None
    assert found.level.coarse.size < 5000  # 116 000 without
    assert true < 1e-4
    assert found.trust > 0.7


def test_a_rod_of_two_materials_over_time_is_followed():
    """A network that knows of the interface, on a mesh with a node there: a pulse of heat spreads on both sides of it.

    The truth: on an infinite rod, heat from a point y on the left, by reflection and transmission.
    """
    ratio, c, y, begin = 0.1, 0.5, 0.35, 0.02  # of the conductivities, as k1 = 1; where they meet; the source; its age

    def heat(s, t, k):
        return torch.exp(-(s**2) / (4 * k * t)) / (4 * torch.pi * k * t) ** 0.5

    def truth(x, t):
        root = ratio**0.5
        reflected, through = (1 - root) / (1 + root), 2 / (1 + root)
        left = heat(x - y, t, 1) + reflected * heat(2 * c - x - y, t, 1)
        right = through * heat((x - c) / root + c - y, t, 1)
        return torch.where(x < c, left, right)

    problem = pc.Problem(
        pc.Interval(0, 1).over(0, 0.1),
        density=lambda x, u: u.value,
        flux=lambda x, u: torch.where(x[0] < c, 1.0, ratio) * u.grad,
        boundary={name: pc.Dirichlet(lambda x, t: truth(x[0], t + begin)) for name in ("left", "right")}
        | {"initial": pc.Initial(lambda x: truth(x[0], torch.tensor(begin)))},
    )
    solution = pc.solve(problem, accuracy=1e-3, device="cpu")
    x = torch.rand(2000, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) * torch.tensor([1, 0.1])
    exact = truth(x[:, 0], x[:, 1] + begin)
    true = float(((solution(x) - exact).norm() / exact.norm()).detach())
    assert solution.verdict.reached
    assert true < 1e-3
    assert 0.5 * true < solution.verdict.estimate < 2 * true
    assert len(solution.network.base.interfaces) == 1
    assert solution.result["adaptation"]["levels"][-1][0] < 400  # 1500 and more without


def test_a_mesh_over_time_follows_a_disk():
    """In two levels: without, thousands of cells are cut along the circle."""
    problem = pc.Problem(
        pc.Rectangle((0, 0), (1, 1), name="w").over(0, 0.2),
        density=lambda x, u: u.value,
        flux=lambda x, u: torch.where(((x - 0.5) ** 2).sum() < 0.06, 20.0, 1.0) * u.grad,
        source=lambda x, u: -1.0,
        boundary={"w": pc.Dirichlet(0.0), "initial": pc.Initial(0.0)},
    )
    known = interfaces_of(problem)
    mesh = known.first_mesh(problem, settings_of("pcpinn", problem, None, {}))
    pieces = np.array(pieces_of(problem, mesh)).reshape(-1, 2)
    assert len(pieces) > 20
    assert np.abs(((pieces - 0.5) ** 2).sum(axis=1) - 0.06).max() < 1e-6
    finer = known.settled(refined_everywhere(mesh, problem))
    assert np.abs(((np.array(pieces_of(problem, finer)).reshape(-1, 2) - 0.5) ** 2).sum(axis=1) - 0.06).max() < 1e-6


def test_a_layer_thinner_than_what_is_looked_at_first_is_followed():
    """Half of the resistance of a rod is in a thousandth of it: a cell that is partly in the layer would conduct as it likes."""
    at, width = 2**0.5 - 1, 1e-3
    inner = width / (1 - width)  # as much resistance as the rest

    def steady(x):
        return (x.clamp(max=at) + (x.clamp(at, at + width) - at) / inner + x.clamp(min=at + width) - at - width) / 2

    problem = pc.Problem(
        pc.Interval(0, 1).over(0, 1),
        density=lambda x, u: u.value,
        flux=lambda x, u: torch.where((x[0] > at) & (x[0] < at + width), inner, 1.0) * u.grad,
        boundary={
            "left": pc.Dirichlet(0.0),
            "right": pc.Dirichlet(1 - width),
            "initial": pc.Initial(lambda x: steady(x[0])),
        },
    )
    solution = pc.solve(problem, accuracy=1e-3, device="cpu")
    x = torch.rand(2000, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    exact = steady(x[:, 0])
    assert solution.verdict.reached
    assert float((solution(x).detach().reshape(-1) - exact).norm() / exact.norm()) < 1e-3
    assert len(solution.network.base.interfaces) == 2


def heated(domain, source):
    conditions = {name: pc.Dirichlet(0.0) for name in domain.boundary_names}
    return pc.Problem(domain, flux=lambda x, u: u.grad, source=source, boundary=conditions)


@pytest.mark.parametrize("radius", [0.2, 0.45])
def test_meshes_follow_the_rim_of_a_heated_disk(radius):
    """Sources jump as coefficients do; a disk of two cells' size needs smaller ones before its rim is followed."""
    at = torch.tensor([0.31, 0.17])

    def source(x, u):
        return torch.where(((x - at.to(x)) ** 2).sum() < radius**2, -1.0, 0.0)

    problem = heated(pc.Disk((0, 0), 1.0, name="rim"), source)
    known = interfaces_of(problem)
    mesh = known.first_mesh(problem, settings_of("pcpinn", problem, None, {}))
    assert not known.onto.crossed(mesh)
    assert not known.onto.mixed(mesh).any()
    quadrature = Space(mesh, problem.unknowns, 3).quadrature
    inside = np.linalg.norm(quadrature.x.mean(axis=1) - at.numpy(), axis=1) < radius
    assert quadrature.dx[inside].sum() == pytest.approx(np.pi * radius**2, rel=3e-3)


def test_a_mesh_of_a_line_has_nodes_where_the_source_jumps():
    problem = heated(pc.Interval(0, 1), lambda x, u: -torch.where((x[0] > 0.4321) & (x[0] < 0.7654), 1.0, 0.0))
    mesh = interfaces_of(problem).first_mesh(problem, settings_of("pcpinn", problem, None, {}))
    for place in (0.4321, 0.7654):
        assert np.abs(mesh.nodes[:, 0] - place).min() < 1e-9


def test_smooth_sources_are_not_followed():
    problem = heated(pc.Rectangle((0, 0), (1, 1)), lambda x, u: torch.sin(9 * x[0]) * torch.exp(-50 * x[1]))
    assert interfaces_of(problem).onto is None
