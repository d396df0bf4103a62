"""Points outside the domain: named once, nan on request."""

import warnings

import numpy as np
import pytest
import torch
from small import QUICK, quick
from typed import run

import pcpinn as pc

POINTS = np.array([[0.1, 0.1], [0.5, 0.5], [1.5, 0.5], [0.9, 0.5]])
HOLE = [False, True, True, False]


@pytest.fixture(scope="module")
def holed():
    domain = pc.Rectangle((0, 0), (1, 1)) - pc.Disk((0.5, 0.5), 0.2, name="hole")
    sides = dict.fromkeys(("left", "right", "bottom", "top", "hole"), pc.Dirichlet(0.0))
    problem = pc.Problem(domain, lambda x, u: u.grad, lambda x, u: -1.0, boundary=sides, name="holed")
    return pc.solve(problem, **{k: v for k, v in QUICK.items() if k != "cells"}, size=0.2)


@pytest.fixture
def solution(holed):
    holed._warned = False
    return holed


def test_they_are_told_once(solution):
    with pytest.warns(pc.PcpinnWarning, match="2 of 4 points lie outside the domain"):
        solution(POINTS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution(POINTS)


def test_nan_on_request(solution):
    plain = solution(POINTS, outside="ignore")
    assert np.isfinite(plain).all()
    np.testing.assert_array_equal(solution(POINTS, outside="nan"), np.where(HOLE, np.nan, plain))
    x = torch.tensor(POINTS, requires_grad=True)
    values = solution(x, outside="nan")
    assert values.isnan().tolist() == HOLE
    assert torch.autograd.grad(values[0], x)[0].isfinite().all()


def test_points_that_are_no_numbers_lie_outside(solution):
    """They ended in an error of the search for their cells."""
    values = solution([[np.nan, 0.1], [0.1, np.inf], [0.1, 0.1]], outside="nan")
    assert np.isnan(values).tolist() == [True, True, False]
    with pytest.warns(pc.PcpinnWarning, match="1 of 1 points"):
        solution([[np.nan, 0.1]])


def test_a_loaded_solution_knows_by_its_mesh(solution, tmp_path):
    back = pc.load(solution.save(tmp_path / "run"))
    assert back.outside(POINTS).tolist() == HOLE


def test_nodes_and_walls_are_inside(solution):
    angle = np.linspace(0, 2 * np.pi, 100)
    wall = 0.5 + 0.2 * np.column_stack([np.cos(angle), np.sin(angle)])
    assert not solution.outside(solution.mesh.nodes).any()
    assert not solution.outside(wall).any()


def test_inside_torch_func_nobody_looks(solution):
    slope = torch.func.vmap(torch.func.grad(lambda p: solution(p[None])[0]))
    assert slope(torch.tensor(POINTS)).isfinite().all()


def test_other_words_are_refused(solution):
    with pytest.raises(pc.PcpinnError, match="outside='zero' is not a choice"):
        solution(POINTS, outside="zero")


def test_in_time_too():
    sides = {"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0), "initial": pc.Initial(0.0)}
    heat = pc.Problem(
        pc.Interval(0, 1).over(0, 1), flux=lambda x, u: u.grad, density=lambda x, u: u.value, boundary=sides
    )
    found = quick(heat, steps=2)
    assert found.outside([[0.5, 0.5], [0.5, 1.5], [0.5, -0.1]]).tolist() == [False, True, True]


@pytest.mark.filterwarnings("always::pcpinn.errors.PcpinnWarning")
def test_evaluate_marks_them(solution, tmp_path, capfd):
    solution.save(tmp_path / "run")
    (tmp_path / "points.csv").write_text("\n".join(",".join(map(str, p)) for p in POINTS))
    code, out, error = run(capfd, "evaluate", tmp_path / "run", "--points", tmp_path / "points.csv")
    assert code == 0
    assert [row.endswith(",nan") for row in out.splitlines()[1:]] == HOLE
    assert "2 of 4 points lie outside the domain: nan" in error
