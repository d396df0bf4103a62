"""What cannot be afforded is refused before anything is allocated, with the figure, a remedy and a way round."""

import numpy as np
import pytest
from cases import chosen
from small import line

import pcpinn as pc
from pcpinn.solve import afford
from pcpinn.solve.method import METHODS

ENDS = {"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)}
HEAT = pc.Problem(
    pc.Interval(0, 1).over(0, 1),
    density=lambda x, u: u.value,
    flux=lambda x, u: u.grad,
    boundary={**ENDS, "initial": pc.Initial(0.0)},
)
BOX = pc.Problem(pc.Box((0, 0, 0), (1, 1, 1)), flux=lambda x, u: u.grad, source=lambda x, u: u.value)
SIZE = r"needs about [\d.e+]+ GiB, and [\d.e+]+ GiB are free"


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    """With 8 GiB, whatever the one is that the tests run on."""
    monkeypatch.setattr(afford, "available_memory", lambda: 8.0)


@pytest.mark.parametrize(
    ("problem", "settings", "remedy"),
    [
        (line(), {"width": 100_000}, "smaller width"),
        (line(), {"feature_count": 10**8}, "feature_count"),
        (line(), {"cells": (19_000_000,)}, "fewer cells"),
        (BOX, {"size": 1e-3}, "fewer cells"),
        (HEAT, {"steps": 10**8}, "fewer cells or steps"),
        (HEAT, {"time": "slabs", "steps": 10**8}, "fewer cells or steps"),
        (HEAT, {"time": "march", "steps": 10**8}, "fewer steps"),
    ],
)
def test_more_memory_than_there_is(problem, settings, remedy, tmp_path):
    with pytest.raises(pc.PcpinnError, match=rf"{SIZE}(.|\n)*{remedy}.*--force"):
        pc.solve(problem, out=tmp_path / "run", device="cpu", **settings)
    assert not (tmp_path / "run").exists()


def test_points_of_a_baseline():
    with pytest.raises(pc.PcpinnError, match=rf"{SIZE}: 1e\+11 points of collocation"):
        METHODS.find("pinn").solver(line(), collocation=10**11, device="cpu")


def test_an_inference_of_a_million_points():
    def bar(k):
        return pc.Problem(pc.Interval(0, 1), flux=lambda x, u: k * u.grad, source=lambda x, u: -1.0, boundary=ENDS)

    data = pc.Observations(np.full((1_000_000, 1), 0.5), np.zeros(1_000_000), 0.1)
    with pytest.raises(pc.PcpinnError, match=rf"{SIZE}: derivatives of 1e\+06 data"):
        pc.infer(bar, data, {"k": pc.Parameter(1.0)}, device="cpu")


@pytest.mark.parametrize(
    ("problem", "settings", "largest"),
    [
        (line(), {"quadrature": 100_000}, "100 at most"),
        (HEAT, {"time": "slabs", "order": 1000}, "12 at most"),
        (HEAT, {"time": "march", "order": 1000}, "12 at most"),
        (line(), {"preconditioner": "ilu", "refinement": 10**308}, "1000 at most"),
        (line(), {"depth": 100_000}, "1000 hidden layers"),
    ],
)
def test_values_that_no_run_can_mean(problem, settings, largest):
    with pytest.raises(pc.PcpinnError, match=largest):
        pc.solve(problem, device="cpu", **settings)


def test_force_lets_it_begin():
    wide = {"width": 100_000, "device": "cpu"}
    with pytest.raises(pc.PcpinnError, match="--force"):
        afford.refuse_unaffordable(line(), chosen(**wide))
    afford.refuse_unaffordable(line(), chosen(**wide, force=True))


def test_an_iteration_of_days(monkeypatch):
    monkeypatch.setattr(afford, "available_memory", lambda: None)  # a system that does not say
    with pytest.raises(pc.PcpinnError, match=r"one iteration is going to take about [\d.e+]+ hours"):
        afford.refuse_unaffordable(line(), chosen(width=100_000, depth=900, cells=(100_000,), device="cpu"))


def test_usual_runs_fit_into_a_gigabyte():
    for problem, settings in ((line(), {}), (HEAT, {}), (HEAT, {"time": "march", "steps": 1000})):
        over_time = problem is HEAT
        found = afford.needs(problem, chosen(over_time=over_time, device="cpu", **settings))
        assert sum(n.gib for n in found) < 1


def test_the_estimate_is_of_the_right_size():
    """20 000 degrees of freedom in the plane."""
    square = pc.Problem(pc.Rectangle((0, 0), (1, 1)), flux=lambda x, u: u.grad, source=lambda x, u: u.value)
    _, nodes = afford._nodes(square, chosen(cells=(70, 70), degree=2, device="cpu"), None)
    assert nodes == pytest.approx(141**2, rel=0.05)
