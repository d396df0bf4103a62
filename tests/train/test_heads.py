"""Exact steps of the last layer."""

import math

import numpy as np
import pytest
import torch

from pcpinn.discretize.equation import Nodes
from pcpinn.errors import PcpinnError
from pcpinn.network import Architecture, DenseNetwork, Features
from pcpinn.precondition import misfit
from pcpinn.train import LeastSquares, heads
from pcpinn.train.heads import HeadSolver


def loss_for(width=24, outputs=3, architecture=None):
    x = np.linspace(-1, 1, 81)[:, None]
    network = DenseNetwork(
        architecture or Architecture(width, 1, features=Features("none")),
        [-1.0],
        [1.0],
        outputs,
        torch.Generator().manual_seed(0),
    )
    nodes = Nodes(x, np.tile(np.arange(81), outputs), np.repeat(np.arange(outputs), 81))
    target = torch.from_numpy(np.concatenate([np.sin((k + 1) * x[:, 0]) for k in range(outputs)]))
    weights = np.tile(np.linspace(1, 2, 81), outputs) / 100
    operator = misfit(target.numpy(), weights, torch.float64, torch.device("cpu"))
    return LeastSquares(network, nodes, operator), target


def test_one_step_is_the_least_squares_solution():
    loss, target = loss_for(width=6)
    reached = HeadSolver().step(loss)
    with torch.no_grad():
        features = torch.cat([loss.features().hidden(), torch.ones(81, 1, dtype=torch.float64)], 1)
    root = loss.weights[:81].sqrt()[:, None]
    best = torch.linalg.lstsq(root * features, root * target.reshape(3, 81).T).solution
    left = root * (features @ best - target.reshape(3, 81).T)
    assert 1e-8 < reached <= 1.01 * float(left.norm()) / loss.operator.target_norm


def test_hidden_weights_stay_and_a_second_step_changes_nothing():
    loss, _ = loss_for()
    solver, before = HeadSolver(), loss.theta.detach().clone()
    first = solver.step(loss)
    head = loss.network.head_size
    assert torch.equal(loss.theta.detach()[:-head], before[:-head])
    assert solver.step(loss, afresh=False) <= first


def test_weights_do_not_pile_up():
    """What the features hardly see is not kept from step to step."""
    loss, _ = loss_for()
    solver = HeadSolver()
    solver.step(loss)
    size = float(loss.theta.detach().abs().max())
    for _ in range(5):
        with torch.no_grad():
            loss.theta[-loss.network.head_size :] *= 1.5
        solver.step(loss)
    assert float(loss.theta.detach().abs().max()) < 2 * size


def test_normal_equations_give_what_orthogonal_factors_give(monkeypatch):
    """Piece by piece and without a copy of the table."""
    loss, _ = loss_for(architecture=Architecture(1, 0, features=Features("waves", 6, periodic=(0,))))
    assert loss.theta.numel() == 3 * 13  # six sines, six cosines, a constant
    start = loss.theta.detach().clone()
    first = HeadSolver().step(loss)
    weights = loss.theta.detach().clone()
    monkeypatch.setattr(heads, "LARGE", 0)
    loss.features().rows = 7
    with torch.no_grad():
        loss.theta.copy_(start)
    second = HeadSolver().step(loss)
    assert abs(second - first) < 1e-6 * first
    assert float((loss.theta.detach() - weights).norm()) < 1e-6 * float(weights.norm())


def test_normal_equations_of_dependent_features_are_damped_until_they_can_be_solved(monkeypatch):
    monkeypatch.setattr(heads, "LARGE", 0)
    loss, _ = loss_for(width=24)
    with torch.no_grad():
        weight, bias = loss.network.layers(loss.theta)[0]
        weight[1::2], bias[1::2] = weight[::2].clone(), bias[::2].clone()  # each feature twice
    assert HeadSolver().step(loss) < 1e-3


@pytest.mark.parametrize("large", [0, 10**9], ids=["normal", "orthogonal"])
def test_a_residual_that_is_not_finite_ends_the_step(monkeypatch, large):
    """Normal equations of features that are not finite cannot be damped until they can be solved."""
    monkeypatch.setattr(heads, "LARGE", large)
    loss, _ = loss_for()
    with torch.no_grad():
        loss.network.layers(loss.theta)[0][0].fill_(math.nan)
    before = loss.theta.detach().clone()
    assert HeadSolver().step(loss) == math.inf
    assert torch.equal(loss.theta.detach().nan_to_num(7.0), before.nan_to_num(7.0))


def test_features_too_large_to_be_squared_are_told(monkeypatch):
    monkeypatch.setattr(heads, "LARGE", 0)
    loss, _ = loss_for()
    huge = lambda points: torch.full((len(points), 24), 1e200, dtype=torch.float64)  # noqa: E731
    monkeypatch.setattr(loss.features(), "at", huge)
    with pytest.raises(PcpinnError, match="not finite"):
        HeadSolver().step(loss)


def test_a_step_into_the_infinite_is_taken_back(monkeypatch):
    loss, _ = loss_for()
    before, start = loss.theta.detach().clone(), float(loss.known_residual().norm())
    infinite = torch.full((25, 3), math.inf, dtype=torch.float64)
    monkeypatch.setattr(heads.Orthogonal, "solve", lambda self, wanted: infinite)
    assert HeadSolver().step(loss) == start
    assert torch.equal(loss.theta.detach(), before)


@pytest.mark.parametrize("kind", ["cosines", "waves"])
def test_with_a_table_that_is_not_stored_the_step_is_the_same(kind, monkeypatch):
    """Conjugate gradients on factors along the axes, against orthogonal factors of the whole table."""
    line = np.linspace(-1, 1, 14, endpoint=kind == "cosines")
    x = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2)
    n, outputs = len(x), 2
    architecture = Architecture(1, 0, features=Features(kind, count=4, periodic=(0, 1) if kind == "waves" else ()))
    target = np.concatenate([np.exp(np.sin((k + 1) * x[:, 0]) + x[:, 1] ** 2) for k in range(outputs)])
    weights = np.tile(np.random.default_rng(0).uniform(0.5, 2.0, n), outputs) / n
    reached, values = [], []
    for large in (10**9, 0):
        monkeypatch.setattr("pcpinn.network.dense.LARGE", large)
        network = DenseNetwork(architecture, [-1.0] * 2, [1.0] * 2, outputs, torch.Generator().manual_seed(0))
        nodes = Nodes(x, np.tile(np.arange(n), outputs), np.repeat(np.arange(outputs), n))
        operator = misfit(target, weights, torch.float64, torch.device("cpu"))
        loss = LeastSquares(network, nodes, operator)
        assert (loss.features().separated is None) == bool(large)
        reached.append(HeadSolver().step(loss))
        values.append(loss.unknowns().detach())
    assert 1e-3 < reached[0] < 0.9
    assert reached[1] == pytest.approx(reached[0], rel=1e-9)
    torch.testing.assert_close(values[1], values[0], rtol=1e-8, atol=1e-8)
