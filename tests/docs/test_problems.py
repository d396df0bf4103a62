"""The examples of docs/problems.md: each runs as it is printed, and gives what is known of it."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch

from pcpinn import March, Natural, Problem, solve
from pcpinn.discretize.time_orders import check_start
from pcpinn.mesh.generate import generate_mesh

PAGE = Path(__file__).parents[2] / "docs" / "problems.md"


@pytest.fixture(scope="module")
def blocks():
    """What each block of the page leaves behind, one after the other."""
    names: dict = {}
    result = []
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL):
        exec(compile(code, str(PAGE), "exec"), names)
        result.append(dict(names))
    return result


def solutions(blocks, name):
    """By the block that made a problem of this name, the problem and what was solved there."""
    return [
        (b[name], b.get("solution"))
        for a, b in zip([{}, *blocks], blocks, strict=False)
        if a.get(name) is not b.get(name)
    ]


def test_every_problem_has_the_conditions_that_it_needs(blocks):
    problems = {id(p): p for block in blocks for p in block.values() if isinstance(p, Problem)}
    assert len(problems) == 9
    for problem in problems.values():
        timed = {"steps": 2} if problem.domain.has_time else {}
        mesh = generate_mesh(
            problem.domain, size=0.5 if problem.dimension == 1 else 0.2, periodic=problem.periodic_pairs, **timed
        )
        problem.check_boundaries(mesh.boundary_names)
        check_start(problem, torch.from_numpy(mesh.nodes))


def test_a_hump_flows_out(blocks):
    ((_, solution),) = solutions(blocks, "transport")
    points = np.random.default_rng(0).random((500, 2))
    exact = np.exp(-40 * (points[:, 0] - 2 * points[:, 1] + 0.3) ** 2)
    assert solution.verdict.reached
    assert np.linalg.norm(solution(points) - exact) < 1e-2 * np.linalg.norm(exact)


def test_a_conservation_law_flows_out_alike(blocks):
    ((problem, solution),) = solutions(blocks, "transport")
    conserved = Problem(
        problem.domain,
        density=problem.density,
        flux=lambda x, u: -2 * u.value,
        boundary={**problem.boundary, "right": Natural(lambda x, n, u: -2 * u.value * n[0])},
    )
    same = solve(conserved, accuracy=1e-2)
    points = np.random.default_rng(0).random((500, 2))
    np.testing.assert_allclose(same(points), solution(points), atol=1e-9)


def test_a_pressure_of_mean_zero(blocks):
    ((_, solution),) = solutions(blocks, "closed")
    (block,) = {id(b["mean"]): b for b in blocks if "mean" in b}.values()
    x = np.random.default_rng(0).random((300, 2))
    exact = np.cos(np.pi * x).prod(axis=1)
    assert np.linalg.norm(solution(x) - block["mean"] - exact) < 2e-2 * np.linalg.norm(exact)
    assert block["mean"] == pytest.approx(-1, abs=1e-2)


def test_the_beam_bends_as_the_formula_says(blocks):
    ((_, solution),) = solutions(blocks, "beam")
    x = np.linspace(0, 1, 41)
    deflection = 2.0 * x**2 * (6 - 4 * x + x**2) / 24
    moment = 2.0 * (1 - x) ** 2 / 2
    u, m = solution(x[:, None]).T
    np.testing.assert_allclose(u, deflection, atol=1e-4 * deflection.max())
    np.testing.assert_allclose(m, moment, atol=1e-4)


def soliton(x, t):
    return 2 / np.cosh(x - 4 * t) ** 2


def test_the_soliton_keeps_its_shape(blocks):
    (_, solution), _ = solutions(blocks, "kdv")
    x, t = np.meshgrid(np.linspace(-8, 8, 161), [0.0, 0.23, 0.5], indexing="ij")
    u = solution(np.stack([x.ravel(), t.ravel()], 1))[:, 0]
    assert np.linalg.norm(u - soliton(x, t).ravel()) < 1e-3 * np.linalg.norm(soliton(x, t))


def test_the_soliton_leaves_an_interval(blocks):
    _, (problem, _) = solutions(blocks, "kdv")
    solution = solve(
        problem, cells=30, degree=3, time=March(steps=10, start_iterations=0), width=160, depth=1, iterations=0
    )
    x = np.linspace(-1, 3, 81)
    u = solution(np.stack([x, np.full(81, 0.5)], 1))[:, 0]
    assert np.linalg.norm(u - soliton(x, 0.5)) < 1e-4 * np.linalg.norm(soliton(x, 0.5))
