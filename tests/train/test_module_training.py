"""Networks made of modules under every optimiser: as good as the perceptron, and resumed without a trace."""

import numpy as np
import pytest
import torch
from cases import poisson, task, two_fields
from modules import ResNet, Siren

from pcpinn import PcpinnError
from pcpinn.network import ModuleNetwork
from pcpinn.train import (
    LBFGS,
    SOAP,
    Adam,
    Checkpoints,
    GaussNewton,
    LeastSquares,
    Stopping,
    TorchOptimiser,
    rescale_outputs,
    train,
)
from pcpinn.train.heads import HeadSolver

KINDS = pytest.mark.parametrize("kind", [Siren, ResNet])


def module_task(kind, system=None, dtype=torch.float64, seed=0):
    """The same problem as `task`, for a network around a module."""
    system = system or poisson(1, 16, 2)
    lower, upper = system.discretisation.mesh.bounds
    outputs = system.discretisation.components
    network = ModuleNetwork(kind(len(lower), outputs, seed=seed), lower, upper, outputs, dtype)
    operator = task(system, dtype=dtype).operator
    rescale_outputs(network, operator)
    return LeastSquares(network, system.nodes, operator)


def error(problem, system):
    """Relative to the discrete solution."""
    u = problem.unknowns().detach().double().numpy()
    return system.norm(u - system.solution) / system.norm(system.solution)


@KINDS
@pytest.mark.parametrize(
    ("optimiser", "iterations", "bound"),
    [
        (GaussNewton(matrix="gram"), 40, 1e-5),
        (GaussNewton(matrix="exact"), 40, 1e-5),
        (GaussNewton(matrix="matrix-free"), 8, 3e-3),
        (GaussNewton(accelerate=False), 40, 1e-4),
        (Adam(1e-2), 1000, 3e-2),
        (LBFGS(), 150, 1e-3),
        (TorchOptimiser("nadam", lr=1e-2), 1000, 3e-2),
    ],
    ids=["gram", "exact", "matrix-free", "straight", "adam", "lbfgs", "nadam"],
)
def test_as_good_as_the_perceptron(kind, optimiser, iterations, bound):
    system = poisson(1, 16, 2)
    problem, usual = module_task(kind, system), task(system, width=16)
    for each in (problem, usual):
        train(each, optimiser, Stopping(iterations))
    assert error(usual, system) < bound
    assert error(problem, system) < bound


@KINDS
def test_several_fields_on_a_plane(kind):
    system = two_fields()
    problem, usual = module_task(kind, system), task(system, width=16)
    for each in (problem, usual):
        train(each, GaussNewton(), Stopping(30))
    assert error(problem, system) < 3 * error(usual, system)


def test_single_precision():
    system = poisson(1, 16, 2)
    problem = module_task(ResNet, system, torch.float32)
    train(problem, GaussNewton(), Stopping(20))
    assert problem.theta.dtype == torch.float32
    assert error(problem, system) < 1e-3


@pytest.mark.parametrize("optimiser", [GaussNewton(), Adam(1e-2), LBFGS(), TorchOptimiser("sgd", lr=0.1, momentum=0.9)])
def test_resuming_changes_nothing(optimiser, tmp_path):
    whole, fresh = module_task(ResNet), module_task(ResNet)
    expected = train(whole, optimiser, Stopping(8))
    train(module_task(ResNet), optimiser, Stopping(3), checkpoints=Checkpoints(tmp_path))
    with torch.no_grad():
        fresh.theta.add_(1.0)
    result = train(fresh, optimiser, Stopping(8), resume=Checkpoints(tmp_path).read(fresh.theta))
    assert torch.equal(fresh.theta, whole.theta)
    np.testing.assert_array_equal(result.history.losses, expected.history.losses)


def test_the_curving_of_a_wrapped_perceptron_is_its_own():
    own = task(poisson(2, 3, 2))
    lower, upper = [-1.0, -1.0], [1.0, 1.0]
    network = ModuleNetwork(own.network, lower, upper, 1)
    wrapped = LeastSquares(network, poisson(2, 3, 2).nodes, own.operator)
    v = torch.linspace(-1, 1, own.network.parameter_count, dtype=torch.float64)
    for through in (True, False):
        expected = own.curving(v, through)
        assert (wrapped.curving(v, through) - expected).norm() < 1e-5 * expected.norm()
    r = own.known_residual()
    torch.testing.assert_close(wrapped.gradient(r), own.gradient(r), rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("work", [lambda p: SOAP().start(p, 0), HeadSolver().step, LeastSquares.features])
def test_what_works_on_layers_refuses_modules(work):
    with pytest.raises(PcpinnError, match="ModuleNetwork does not show them"):
        work(module_task(Siren))
