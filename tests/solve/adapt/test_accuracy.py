"""Accuracy in, verdict out: the whole way, as a user goes it."""

import json
import sys

import numpy as np
import pytest
import torch
from cli.typed import run

import pcpinn as pc
from pcpinn.errors import AccuracyWarning, PcpinnError
from pcpinn.mesh.generate import generate_mesh
from pcpinn.network import Architecture, DenseNetwork
from pcpinn.network.centred import centre_units
from pcpinn.network.grow import widened
from pcpinn.network.stretched import stretched, stretches
from pcpinn.solution.verdict import judge

X = np.linspace(0, 1, 2001)[:, None]


def layer(eps=0.01):
    return pc.Problem(
        pc.Interval(0, 1),
        flux=lambda x, u: eps * u.grad,
        source=lambda x, u: u.grad[0] - 1,
        boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)},
    )


def transport():
    return pc.Problem(
        pc.Interval(0, 2 * np.pi).over(0, 0.5),
        density=lambda x, u: u.value,
        source=lambda x, u: 10 * u.grad[0],
        boundary={"left": pc.Periodic("right"), "initial": pc.Initial(lambda x: torch.sin(x[0]))},
    )


@pytest.mark.filterwarnings("error::pcpinn.errors.AccuracyWarning")
def test_a_layer_by_accuracy_alone():
    solution = pc.solve(layer(), accuracy=1e-3, device="cpu")
    exact = X[:, 0] - (np.exp((X[:, 0] - 1) / 0.01) - np.exp(-100)) / (1 - np.exp(-100))
    true = np.linalg.norm(solution(X) - exact) / np.linalg.norm(exact)
    verdict = solution.verdict
    assert (verdict.asked, verdict.reached, verdict.limited_by) == (1e-3, True, None)
    assert true < 1e-3
    assert 0.5 < verdict.estimate / true < 2.5
    assert solution.errors["estimate"] == verdict.estimate


def test_transport_by_accuracy_alone_and_back_from_disk(tmp_path):
    solution = pc.solve(transport(), accuracy=1e-2, device="cpu", out=tmp_path / "run")
    points = np.random.default_rng(0).uniform((0, 0), (2 * np.pi, 0.5), (500, 2))
    exact = np.sin(points[:, 0] - 10 * points[:, 1])
    assert np.linalg.norm(solution(points) - exact) < 1e-2 * np.linalg.norm(exact)
    assert solution.verdict.reached
    again = pc.load(tmp_path / "run")
    np.testing.assert_array_equal(again(points), solution(points))
    assert again.verdict == solution.verdict


@pytest.mark.filterwarnings("ignore::pcpinn.errors.AccuracyWarning")
@pytest.mark.parametrize(
    ("given", "kept"), [({"width": 9}, ("radial", 1)), ({"network.depth": 2, "width": 9}, ("cells", 2))]
)
def test_the_network_of_a_march_is_as_given(given, kept):
    solution = pc.solve(transport(), accuracy=1e-2, device="cpu", **given)
    own = solution.network.base.architecture
    assert (own.initialisation, own.depth, own.width) == (*kept, 9)


def test_a_wave_shows_its_own_field_alone(tmp_path):
    problem = pc.Problem(
        pc.Interval(0, 1).over(0, 1),
        density=lambda x, u: u.dt,
        flux=lambda x, u: u.grad,
        boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0),
                  "initial": pc.Initial(lambda x: torch.sin(torch.pi * x[0]), rate=0.0)},
    )  # fmt: skip
    solution = pc.solve(problem, accuracy=1e-2, device="cpu", out=tmp_path / "run")
    points = np.random.default_rng(0).random((300, 2))
    exact = np.sin(np.pi * points[:, 0]) * np.cos(np.pi * points[:, 1])
    assert solution.names == ("u",)
    assert solution(points).shape == (300,)
    assert np.linalg.norm(solution(points) - exact) < 1e-2 * np.linalg.norm(exact)
    np.testing.assert_array_equal(pc.load(tmp_path / "run")(points), solution(points))


def test_fields_in_units_of_their_own():
    """-1e6 u'' = 1e3 beside -1e-4 w'' = u: sizes differ by a factor of a million, and both are right."""
    problem = pc.Problem(
        pc.Interval(0, 1),
        flux=lambda x, u, w: (1e6 * u.grad, 1e-4 * w.grad),
        source=lambda x, u, w: (-1e3 * torch.ones_like(u.value), -u.value),
        fields=["u", "w"],
        boundary={s: {"u": pc.Dirichlet(0.0), "w": pc.Dirichlet(0.0)} for s in ("left", "right")},
    )
    solution = pc.solve(problem, accuracy=1e-2, device="cpu")
    x = X[:, 0]
    u = 1e-3 * x * (1 - x) / 2
    w = 1e-3 / 2 / 1e-4 * (x / 12 - x**3 / 6 + x**4 / 12)
    for name, exact in (("u", u), ("w", w)):
        assert np.linalg.norm(solution(X, name) - exact) < 1.5e-2 * np.linalg.norm(exact), name
    assert set(solution.verdict.fields) == {"u", "w"}


def test_what_is_given_stays_and_is_judged():
    with pytest.warns(AccuracyWarning, match="NOT REACHED"):
        solution = pc.solve(layer(1e-3), cells=6, degree=1, iterations=20, device="cpu")
    assert solution.result["dofs"] == 7
    assert solution.verdict.reached is False
    assert "leave them out" in solution.verdict.advice
    fixed = pc.solve(layer(1e-3), cells=6, degree=1, iterations=20, device="cpu", accuracy=None)
    assert fixed.verdict.asked is None
    torch.testing.assert_close(fixed.network.theta, solution.network.theta)


def test_given_keys_that_equal_defaults_are_kept():
    solution = pc.solve(layer(), accuracy=0.5, iterations=60, device="cpu")
    assert solution.settings["optimiser"]["iterations"] == 60


def test_too_little_time_is_said():
    with pytest.warns(AccuracyWarning):
        solution = pc.solve(layer(1e-3), accuracy=1e-6, time_limit=1.5, device="cpu")
    assert solution.verdict.limited_by in ("time", "network")


@pytest.mark.parametrize(
    ("accuracy", "word"), [(0.0, "no relative error"), (2.0, "no relative error"), (1e-12, "double precision")]
)
def test_impossible_accuracies(accuracy, word):
    with pytest.raises(PcpinnError, match=word):
        pc.solve(layer(), accuracy=accuracy)


def test_backward_heat_is_refused_at_once():
    problem = pc.Problem(
        pc.Interval(0, 1).over(0, 1),
        density=lambda x, u: u.value,
        flux=lambda x, u: -u.grad,
        boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0), "initial": pc.Initial(1.0)},
    )
    with pytest.raises(PcpinnError, match="backward"):
        pc.solve(problem, accuracy=1e-2)


FILE = """
import pcpinn as pc
problem = pc.Problem(pc.Interval(0, 1), flux=lambda x, u: u.grad, source=lambda x, u: -1.0,
                     boundary={'left': pc.Dirichlet(0.0), 'right': pc.Dirichlet(0.0)})
"""


def test_the_command_line_ends_with_the_verdict(capfd, tmp_path):
    (tmp_path / "mine.py").write_text(FILE)
    file = tmp_path / "mine.py"
    code, out, err = run(
        capfd, "solve", file, "--accuracy", "1e-2", "--device", "cpu", "--out", tmp_path / "a", "--json"
    )
    assert code == 0, err
    verdict = json.loads(out)["verdict"]
    assert (verdict["asked"], verdict["reached"]) == (0.01, True)
    assert "accuracy 0.01 reached" in err
    small = ("--set", "cells=2", "--set", "degree=1", "--set", "width=2", "--set", "depth=1", "--set", "iterations=1")
    code, out, err = run(capfd, "solve", file, *small, "--device", "cpu", "--out", tmp_path / "b", "--json")
    assert code == 3
    assert json.loads(out)["verdict"]["reached"] is False
    assert "NOT REACHED" in err
    code, _, err = run(capfd, "solve", file, "--preset", "default", "--accuracy", "1e-3", "--out", tmp_path / "c")
    assert code == 2
    assert "fixes everything" in err
    code, _, err = run(capfd, "solve", file, "--method", "pinn", "--accuracy", "1e-3", "--out", tmp_path / "d")
    assert code == 2
    assert not (tmp_path / "c").exists()
    assert not (tmp_path / "d").exists()


def test_two_accuracies_are_refused(capfd, tmp_path):
    (tmp_path / "mine.py").write_text(FILE)
    file, common = tmp_path / "mine.py", ("--device", "cpu", "--json", "--out")
    for key in ("accuracy", "run.accuracy"):
        code, _, err = run(capfd, "solve", file, "--accuracy", "1e-2", "--set", f"{key}=1e-3", *common, tmp_path / "a")
        assert code == 2
        assert "contradict" in err
    assert run(capfd, "solve", file, "--seed", "1", "--set", "seed=2", *common, tmp_path / "a")[0] == 2
    assert not (tmp_path / "a").exists()
    code, out, _ = run(capfd, "solve", file, "--accuracy", "1e-2", "--set", "accuracy=0.01", *common, tmp_path / "a")
    assert code == 0
    assert json.loads(out)["verdict"]["asked"] == 0.01


def test_a_verdict_on_a_quantity_tells_of_the_fields():
    found = judge(1e-2, {"drag": 1e-3}, "mesh").for_quantity("drag", 0.15)
    assert found.reached
    assert "estimated error of 1.5e-01" in found.message
    assert found.to_dict()["of_fields"] == 0.15
    missed = judge(1e-4, {"drag": 1e-3}, "mesh").for_quantity("drag", None)
    assert "unknown error" in missed.message


def test_prepared_to_an_accuracy(capfd, tmp_path):
    (tmp_path / "mine.py").write_text(FILE)
    file, packed = tmp_path / "mine.py", tmp_path / "m.pcpinn"
    assert run(capfd, "prepare", file, "--accuracy", "1e-2", "--out", packed)[0] == 0
    code, out, _ = run(capfd, "solve", packed, "--problem", file, "--device", "cpu", "--out", tmp_path / "r", "--json")
    result = json.loads(out)
    assert code == 0
    assert result["verdict"]["reached"] is True
    assert len(result["adaptation"]["levels"]) > 1


def test_verdicts():
    assert judge(1e-3, {"u": 6e-4}, "mesh").reached is True
    assert judge(1e-3, {"u": 7e-4}, "mesh").reached is False
    assert judge(1e-3, {}, "mesh").limited_by == "estimate"
    assert judge(None, {"u": 1.0}, "mesh").reached is None
    unknown = judge(1e-3, {"u": 1e-5, "v": float("nan")}, "mesh")
    assert (unknown.reached, unknown.estimate, unknown.limited_by) == (False, None, "estimate")
    lost = judge(1e-3, {"u": 1e-4, "p": 1.3}, "mesh")
    assert (lost.reached, lost.limited_by) == (False, "mesh")
    assert "'p' cannot be told from zero" in lost.advice
    assert "'p' cannot be told from zero" in lost.blaming("time", "wait").advice
    assert "told from zero" not in judge(1e-3, {"u": 0.4, "p": 1.3}, "mesh").advice  # nothing is resolved yet


def network(width=6, depth=2):
    return DenseNetwork(Architecture(width, depth), [0.0, -1.0], [2.0, 1.0], 2, torch.Generator().manual_seed(3))


def test_a_widened_network_is_the_same_function():
    small, x = network(), torch.rand(40, 2, dtype=torch.float64)
    grown = widened(small, 11, 0)
    torch.testing.assert_close(grown(x), small(x), rtol=1e-13, atol=1e-13)
    assert grown.parameter_count > small.parameter_count
    with torch.no_grad():
        weight, _ = grown.layers(grown.theta)[-1]
        weight += 1.0
    assert not torch.allclose(grown(x), small(x))


def test_units_sit_where_cells_are():
    net = network(width=400, depth=1)
    centres = np.array([[1.5, 0.5]]).repeat(30, 0)
    centre_units(net, centres, np.full(30, 1e-3), 0)
    weight, bias = net.layers(net.theta.detach())[0]
    at = net.encode(torch.tensor([[1.5, 0.5]], dtype=torch.float64))
    values = (at @ weight.T + bias)[0, ::2]
    assert float(values.abs().median()) < 2.0
    assert float(weight[::2, :2].norm(dim=1).median()) > 10


def test_stretched_coordinates_widen_layers():
    x = np.sort(np.concatenate([np.linspace(0, 1, 50), 1 - np.geomspace(1e-4, 0.1, 400)]))
    (knots,) = stretches(np.stack([x[:-1], x[1:]], axis=1)[:, :, None])
    table = torch.tensor(knots, dtype=torch.float64)
    at = torch.tensor([0.0, 0.5, 0.999, 0.9999, 1.0], dtype=torch.float64, requires_grad=True)
    y = stretched(at, table)
    assert y[0].item() == pytest.approx(-1, abs=1e-9)
    assert y[-1].item() == pytest.approx(1, abs=1e-9)
    assert (torch.diff(y) > 0).all()
    (slope,) = torch.autograd.grad(y.sum(), at)
    assert slope[3] > 20 * slope[1]
    even = np.linspace(0, 1, 100)
    assert stretches(np.stack([even[:-1], even[1:]], axis=1)[:, :, None]) == ()


def test_stretched_coordinates_are_no_steeper_at_a_wall_than_its_cells_are_small():
    mesh = generate_mesh(pc.Rectangle((0, 0), (1, 1)), cells=(60, 8))
    cells = mesh.nodes[mesh.vertices]
    cells = np.stack([1 - (1 - cells[..., 0]) ** 2, cells[..., 1]], axis=-1)  # cells of 1/3600 along a straight wall
    knots = np.array(stretches(cells)[0])
    smallest = np.ptp(cells[:, :, 0], axis=1).min()
    assert 1 < knots[:, 2].max() < 1 / smallest / 10


def test_stretched_coordinates_are_placed_by_hand():
    cells = np.stack([np.linspace(0, 0.9, 10), np.linspace(0.1, 1, 10)], axis=1)[:, :, None]
    (knots,) = stretches(cells, at=[1 - np.linspace(1, 0, 65) ** 3])
    at = torch.tensor([0.1, 0.999], dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(stretched(at, torch.tensor(knots, dtype=torch.float64)).sum(), at)
    assert slope[1] > 10 * slope[0]
    with pytest.raises(pc.PcpinnError, match="stretch_at"):
        pc.MLP(stretch_at=((0.0, 1.0),))
    with pytest.raises(pc.PcpinnError, match="in order"):
        pc.MLP(stretch=True, stretch_at=((1.0, 0.0),))


def test_planning_that_takes_too_long_is_an_error_with_a_remedy():
    with pytest.raises(PcpinnError, match=r"time limit of 0\.05 s"):
        pc.solve(transport(), accuracy=1e-3, time_limit=0.05)


@pytest.mark.parametrize(("steps", "scheme"), [(2, "radau"), (20, "euler")])
def test_a_march_with_given_steps_is_judged(tmp_path, steps, scheme):
    """Steps that are too long are seen by the estimate, not by the training error."""
    given = {"time": "march", "steps": steps, "scheme": scheme, "cells": 20, "degree": 3, "width": 120, "depth": 1,
             "feature_count": 4, "iterations": 0, "start_iterations": 0}  # fmt: skip
    with pytest.warns(AccuracyWarning, match="NOT REACHED"):
        solution = pc.solve(transport(), given, out=tmp_path / "r", device="cpu")
    points = np.random.default_rng(0).uniform((0, 0), (2 * np.pi, 0.5), (2000, 2))
    exact = np.sin(points[:, 0] - 10 * points[:, 1])
    true = np.linalg.norm(solution(points) - exact) / np.linalg.norm(exact)
    assert true > 0.01
    assert 0.5 < solution.verdict.estimate / true < 2
    assert solution.errors["training"] < 0.1 * true
    assert pc.load(tmp_path / "r").verdict == solution.verdict
    assert pc.certify(solution).estimate == pytest.approx(solution.verdict.estimate)


def test_what_an_adaptive_solve_does_not_read_is_refused():
    with pytest.raises(PcpinnError, match="has no effect here"):
        pc.solve(layer(), accuracy=1e-2, certify=False)


class Begun(Exception):
    """All that comes before the work is done."""


def test_three_dimensions_and_time_are_no_obstacle(monkeypatch):
    def begin(*_):
        raise Begun

    monkeypatch.setattr(sys.modules["pcpinn.solve.adapt.solve"], "_solve", begin)
    heat = pc.Problem(
        pc.Box((0, 0, 0), (1, 1, 1), name="walls").over(0, 0.1),
        density=lambda x, u: u.value,
        flux=lambda x, u: u.grad,
        boundary={"walls": pc.Dirichlet(0.0), "initial": pc.Initial(1.0)},
    )
    with pytest.raises(Begun):
        pc.solve(heat, accuracy=1e-2)
