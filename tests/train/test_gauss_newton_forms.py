"""Gauss-Newton's forms on whole problems: products against matrices, acceleration, memory, and stops of the loop."""

import functools

import numpy as np
import pytest
import torch
from cases import poisson, task, two_fields
from memory_of_tensors import most_held

from pcpinn.errors import PcpinnError
from pcpinn.precondition import LU
from pcpinn.train import GaussNewton, Optimiser, Stopping, forms, train
from pcpinn.train.curvature import MatrixFree

SYSTEMS = {"one": lambda: poisson(2, 3, 2), "two": two_fields}


@pytest.fixture
def precise(monkeypatch):
    """No rounding of matrices to single precision, no early end of conjugate gradients."""
    monkeypatch.setattr("pcpinn.train.least_squares._SINGLE_ABOVE", float("inf"))
    thorough = functools.partial(MatrixFree, steps=2000, tolerance=1e-13)
    monkeypatch.setattr("pcpinn.train.least_squares.MatrixFree", thorough)


@pytest.mark.usefixtures("precise")
@pytest.mark.parametrize("sample", [0, 20])
@pytest.mark.parametrize("accelerate", [False, True])
@pytest.mark.parametrize("kind", SYSTEMS)
def test_products_take_the_steps_of_the_matrix(kind, accelerate, sample):
    """Same sampled rows, same damping (whose unit the matrix-free form only estimates): same weights."""
    free, dense = task(SYSTEMS[kind]()), task(SYSTEMS[kind]())
    probe = GaussNewton("matrix-free", sample, accelerate=accelerate)
    units = [
        problem.curvature(GaussNewton(form, sample), probe.start(problem, 0)).scale
        for form, problem in (("matrix-free", free), ("gram", dense))
    ]
    assert 0.1 < units[0] / units[1] < 10
    damping = 0.3
    optimisers = [
        GaussNewton(form, sample, damping * units[1] / unit, accelerate)
        for form, unit in zip(("matrix-free", "gram"), units, strict=True)
    ]
    losses = [o.step(p, o.start(p, 0)) for o, p in zip(optimisers, (free, dense), strict=True)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-7)
    torch.testing.assert_close(free.theta.detach(), dense.theta.detach(), rtol=1e-6, atol=1e-7)


def test_loose_products_train_nearly_as_well():
    results = [train(task(preconditioner=LU()), GaussNewton(form), Stopping(12)) for form in ("matrix-free", "gram")]
    assert results[0].loss < 30 * results[1].loss
    assert results[0].loss < 1e-2 * results[0].history.losses[0]


@pytest.mark.parametrize(
    ("activation", "form"),
    [("tanh", "gram"), ("silu", "gram"), ("gelu", "gram"), ("sin", "gram"), ("tanh", "exact"), ("tanh", "matrix-free")],
)
def test_acceleration_saves_iterations(activation, form):
    """A small Poisson problem, the same number of iterations from the same weights: lower with it, over three seeds."""
    residuals = {}
    for accelerate in (False, True):
        losses = []
        for seed in range(3):
            problem = task(poisson(1, 10, 2), LU(), seed=seed, width=8, activation=activation)
            losses.append(train(problem, GaussNewton(form, accelerate=accelerate), Stopping(12)).loss)
        residuals[accelerate] = np.exp(np.mean(np.log(losses)) / 2)
    assert residuals[True] < residuals[False]


def test_the_matrix_is_chosen_by_what_it_needs():
    """Rows and the smaller of the two square matrices, in float64, against the memory allowed."""
    problem = task(poisson(2, 6, 2))
    p, n = problem.network.parameter_count, problem.size
    assert n > p
    needed = 8 * (n * p + 3 * p**2) / 2**30
    assert GaussNewton(memory=1.01 * needed).resolve(problem) == ("gram", n)
    assert GaussNewton(memory=0.99 * needed).resolve(problem) == ("matrix-free", n)
    assert GaussNewton("exact", memory=1.01 * needed).resolve(problem) == ("exact", n)
    few = 8 * (20 * p + 3 * 20**2) / 2**30  # a sample, and so a smaller matrix, fits where all nodes do not
    assert GaussNewton("gram", sample=20, memory=1.01 * few).resolve(problem) == ("gram", 20)
    assert GaussNewton("matrix-free", memory=1e-9).resolve(problem) == ("matrix-free", n)


@pytest.mark.parametrize("form", ["gram", "exact"])
def test_refusal_gives_the_numbers(form):
    problem = task()
    p, n = problem.network.parameter_count, problem.size
    with pytest.raises(PcpinnError) as caught:
        GaussNewton(form, memory=2e-6).start(problem, 0)
    assert f"{form} matrix needs" in caught.value.problem
    assert f"{p} weights and {n} nodes" in caught.value.problem
    for word in ("matrix-free", "sample", "2e-06"):
        assert word in caught.value.remedy


class Scripted(Optimiser):
    """Meets the losses that it is told to."""

    name = "scripted"

    def __init__(self, losses):
        self.losses = iter(losses)

    def start(self, problem, seed):
        return {}

    def step(self, problem, state):
        return next(self.losses)


def stops(losses, **stopping):
    result = train(task(), Scripted(losses), Stopping(iterations=len(losses), **stopping))
    return result.reason, result.iterations


def test_stagnation():
    """Patience p: the residual sqrt(2 loss) fell by less than one percent over the last p iterations."""
    falling, flat = [1.0 * 0.5**k for k in range(10)], [0.001] * 10
    assert stops(falling + flat, patience=4) == ("stagnation", 15)
    assert stops(falling + flat, patience=0) == ("iterations", 20)
    assert stops(falling, patience=4) == ("iterations", 10)
    slow = [0.997 ** (2 * k) for k in range(20)]  # residuals fall by 0.3 percent each
    assert stops(slow, patience=3) == ("stagnation", 4)
    assert stops(slow, patience=5) == ("iterations", 20)


def test_the_first_of_several_stops_counts():
    losses = [1.0, 0.5, 0.5, 0.5, 1e-6]
    assert stops(losses, patience=2, tolerance=1e-2) == ("stagnation", 4)
    assert stops(losses, patience=3, tolerance=1e-2) == ("tolerance", 5)
    assert stops(losses, tolerance=1.0) == ("tolerance", 2)


def test_gauss_newton_that_gets_nowhere_stops():
    """One neuron is soon as good as it can be; from then on steps hardly lower the loss."""
    problem = task(poisson(1, 20, 1), LU(), width=1, depth=1)
    result = train(problem, GaussNewton(), Stopping(500, patience=8))
    assert result.reason == "stagnation"
    losses = result.history.losses
    assert losses[-1] > 0.98 * losses[-9]
    assert np.all(losses[8:-1] <= 0.98 * losses[:-9])


@pytest.mark.usefixtures("precise")
def test_rows_that_do_not_fit_are_added_up_a_part_at_a_time(monkeypatch):
    """The same matrix and so the same training, where a Gram matrix fits and the rows it is made of do not."""
    monkeypatch.setattr(forms, "_FEW_ROWS", 16)
    problem = task(poisson(2, 8, 2))
    p, n = problem.network.parameter_count, problem.size
    assert n > p
    enough, least = 8 * (n * p + 3 * p**2) / 2**30, 8 * (16 * p + 3 * p**2) / 2**30
    losses = []
    for memory in (1.01 * enough, 1.01 * least):
        again = task(poisson(2, 8, 2))
        recipe = GaussNewton("gram", memory=memory)
        assert recipe.resolve(again) == ("gram", n)
        losses.append(train(again, recipe, Stopping(5)).loss)
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)
    assert GaussNewton(memory=0.99 * least).resolve(problem) == ("matrix-free", n)
    held = [
        most_held(lambda m=m: problem.curvature(GaussNewton("gram", memory=m), {"damping": torch.tensor(1e-9)}))
        for m in (1.01 * enough, 1.01 * least)
    ]
    assert held[1] < held[0] - 0.8 * 8 * (n - 16) * p
