"""Adam against torch's own; Gauss-Newton against dense algebra."""

import numpy as np
import pytest
import torch
from cases import poisson, task, two_fields

from pcpinn.errors import PcpinnError
from pcpinn.network import Architecture, DenseNetwork, Features
from pcpinn.precondition import ILU, LU, Identity, Jacobi, PreconditionedResidual
from pcpinn.train import Adam, GaussNewton, LeastSquares
from pcpinn.train.forms import sample_rows


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("settings", [{}, {"learning_rate": 0.02, "beta1": 0.5, "beta2": 0.999, "epsilon": 1e-3}])
def test_adam_takes_the_steps_of_torch(settings, dtype):
    ours, theirs = task(dtype=dtype), task(dtype=dtype)
    adam = Adam(**settings)
    reference = torch.optim.Adam([theirs.theta], adam.learning_rate, (adam.beta1, adam.beta2), adam.epsilon)
    state = adam.start(ours, 0)
    tolerance = {"rtol": 1e-11, "atol": 1e-13} if dtype == torch.float64 else {"rtol": 2e-4, "atol": 2e-5}
    for _ in range(20):
        reference.zero_grad()
        loss = theirs.loss()
        loss.backward()
        reference.step()
        assert adam.step(ours, state) == pytest.approx(float(loss.detach()), rel=tolerance["rtol"])
        torch.testing.assert_close(ours.theta.detach(), theirs.theta.detach(), **tolerance)


@pytest.fixture
def double(monkeypatch):
    """No rounding of Gram matrices to single precision."""
    monkeypatch.setattr("pcpinn.train.least_squares._SINGLE_ABOVE", float("inf"))


def run(optimiser, problem, steps=12, seed=0):
    state = optimiser.start(problem, seed)
    first = float(problem.loss().detach())
    return [first] + [optimiser.step(problem, state) for _ in range(steps)]


@pytest.mark.parametrize("p", [LU(), ILU(1e-2, 5.0), Jacobi(), Identity()], ids=lambda p: p.name)
@pytest.mark.parametrize("form", ["auto", "gram", "exact", "matrix-free"])
@pytest.mark.parametrize("system", [lambda: poisson(2, 3, 2), two_fields], ids=["one", "two"])
def test_gauss_newton_never_raises_the_loss(system, form, p):
    problem = task(system(), p)
    losses = run(GaussNewton(form), problem)
    assert np.all(np.diff(losses) <= 0)
    assert losses[-1] < 0.5 * losses[0]
    assert float(problem.loss().detach()) == pytest.approx(losses[-1], rel=1e-12)


@pytest.mark.usefixtures("double")
def test_both_forms_agree_when_p_is_a_and_only_then():
    exact, gram = (run(GaussNewton(form), task(preconditioner=LU()), 5) for form in ("exact", "gram"))
    np.testing.assert_allclose(gram, exact, rtol=1e-6)
    exact, gram = (run(GaussNewton(form), task(preconditioner=Jacobi()), 5) for form in ("exact", "gram"))
    assert abs(gram[1] / exact[1] - 1) > 0.01


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("accelerate", [False, True])
@pytest.mark.parametrize("width", [3, 9])
@pytest.mark.parametrize("form", ["auto", "gram", "exact"])
def test_step_solves_the_damped_normal_equations(form, width, accelerate):
    """With P = A and the first damping accepted: -(J^T J + damping mean diag)^-1 J^T (r + r'' / 2), J by autograd.

    r'' is the second derivative of the residual along the first part of the step, here by finite differences.
    With fewer weights than nodes (and a bend too large to be believed), and with more.
    """
    problem = task(preconditioner=LU(), width=width)
    assert (problem.network.parameter_count > problem.size) == (width == 9)
    theta = problem.theta.detach().clone()
    J = torch.autograd.functional.jacobian(lambda t: residual_at(problem, t), theta)
    r = problem.residual().detach()
    H = J.T @ J
    damped = H + 0.5 * H.diagonal().mean() * torch.eye(len(H), dtype=H.dtype)
    velocity = -torch.linalg.solve(damped, J.T @ r)
    step = 1e-3
    second = (
        residual_at(problem, theta + step * velocity) - 2 * r + residual_at(problem, theta - step * velocity)
    ) / step**2
    bend = -0.5 * torch.linalg.solve(damped, J.T @ second.detach())
    trusted = bool(2 * bend.norm() < 0.75 * velocity.norm())
    assert trusted == (width == 9)
    expected = theta + velocity + (bend if accelerate and trusted else 0)

    optimiser = GaussNewton(form, damping=0.5, accelerate=accelerate)
    state = optimiser.start(problem, 0)
    loss = optimiser.step(problem, state)
    torch.testing.assert_close(problem.theta.detach(), expected, rtol=1e-5, atol=1e-6)
    linear = r + J @ velocity
    gain = float(0.5 * r @ r - 0.5 * linear @ linear)
    ratio = (float(0.5 * r @ r) - loss) / gain  # of the gain to that of the model
    assert float(state["damping"]) == pytest.approx(0.5 * max(1 / 5, 1 - (2 * ratio - 1) ** 3), rel=1e-4)


def residual_at(problem, theta):
    values = torch.func.functional_call(problem.network, {"theta": theta}, (problem.points,))
    return problem.operator(values[problem.point_of, problem.component_of]) * problem.scale


def linear_model(outputs):
    """Linear in its weights: sines and cosines of the inputs, for one or more outputs."""
    architecture = Architecture(1, 0, features=Features("gaussian", 4, std=2.0))
    return DenseNetwork(architecture, [0.0, 0.0], [1.0, 1.0], outputs, torch.Generator().manual_seed(0))


@pytest.mark.parametrize("p", [LU(), Jacobi()], ids=lambda p: p.name)
@pytest.mark.parametrize("system", [lambda: poisson(2, 3, 2), two_fields], ids=["one", "two"])
def test_a_linear_model_is_solved_in_a_few_steps(system, p):
    """Linear least squares, whose minimum a dense solve gives."""
    system = system()
    model = linear_model(system.discretisation.components)
    problem = LeastSquares(model, system.nodes, PreconditionedResidual(system.A, system.b, p, system.weights))
    J = problem.operator.apply(problem.jacobian()) * problem.scale
    r = problem.residual().detach()
    best = r - J @ torch.linalg.lstsq(J, r[:, None]).solution[:, 0]
    losses = run(GaussNewton("exact", damping=1e-8), problem, 4)
    assert losses[-1] == pytest.approx(float(0.5 * best @ best), rel=1e-6)
    assert losses[0] > 2 * losses[-1]


def test_sampling_is_reproducible_and_drawn_anew():
    def trajectory(sample, seed):
        problem = task()
        run(GaussNewton(sample=sample), problem, 3, seed)
        return problem.theta.detach()

    assert torch.equal(trajectory(10, 0), trajectory(10, 0))
    assert not torch.equal(trajectory(10, 0), trajectory(10, 1))
    torch.testing.assert_close(trajectory(10_000, 0), trajectory(0, 1))
    problem, optimiser = task(), GaussNewton(sample=10)
    state = optimiser.start(problem, 0)
    before = state["random"].clone()
    optimiser.step(problem, state)
    assert not torch.equal(state["random"], before)


def test_sampled_training_falls_too():
    losses = run(GaussNewton(sample=30), task(preconditioner=LU()), 15)
    assert np.all(np.diff(losses) <= 0)
    assert losses[-1] < 0.1 * losses[0]


def test_where_nothing_helps_the_weights_stay():
    """At an exact minimum no damping lowers the loss: same weights, same loss, damping back at its start."""
    problem = task(preconditioner=LU())
    optimiser = GaussNewton()
    state = optimiser.start(problem, 0)
    problem.operator._rhs.copy_(problem.operator.apply(problem.unknowns().detach()))  # the network is the solution
    before = problem.theta.detach().clone()
    assert optimiser.step(problem, state) == 0.0
    assert torch.equal(problem.theta.detach(), before)
    assert float(state["damping"]) == optimiser.damping


def test_single_precision():
    losses = run(GaussNewton(), task(preconditioner=LU(), dtype=torch.float32), 10)
    assert np.all(np.diff(losses) <= 0)
    assert losses[-1] < 0.1 * losses[0]


def test_single_precision_of_the_matrix_hardly_matters(monkeypatch):
    rounded = run(GaussNewton("gram"), task(), 4)
    monkeypatch.setattr("pcpinn.train.least_squares._SINGLE_ABOVE", float("inf"))
    exact = run(GaussNewton("gram"), task(), 4)
    assert rounded != exact
    np.testing.assert_allclose(rounded, exact, rtol=0.02)


def test_forms_by_memory():
    """auto falls back to products; a form that was asked for by name is refused with what it needs."""
    problem = task()
    assert GaussNewton().resolve(problem)[0] == "gram"
    assert GaussNewton(memory=1e-6).resolve(problem)[0] == "matrix-free"
    for form in ("gram", "exact"):
        with pytest.raises(
            PcpinnError, match=f"Gauss-Newton's {form} matrix needs .* for {problem.network.parameter_count} weights"
        ):
            GaussNewton(form, memory=1e-6).start(problem, 0)
    assert GaussNewton(sample=7).resolve(problem) == ("gram", 7)
    assert GaussNewton("exact", sample=7).resolve(problem) == ("exact", problem.size)


def test_refusals():
    with pytest.raises(PcpinnError, match="matrix='newton'"):
        GaussNewton("newton")
    with pytest.raises(PcpinnError, match="loss on nodal values"):
        GaussNewton().start(object(), 0)


def test_nodes_are_drawn_by_their_weights():
    """A node that stands for most of the domain is in every sample; one that stands for nothing is in none."""
    problem = task()
    problem.weights = torch.full((problem.size,), 1.0, dtype=torch.float64)
    problem.weights[7] = 3.0 * problem.size
    problem.weights[3] = 0.0
    state = GaussNewton().start(problem, 0)
    rows = torch.cat([sample_rows(problem.weights, 40, state)[0] for _ in range(50)])
    assert abs(float((rows == 7).double().mean()) - 0.75) < 0.03
    assert not (rows == 3).any()
    assert len(torch.unique(rows)) > problem.size / 3


def test_part_of_the_nodes_is_drawn_evenly():
    """Nodes that stand for next to nothing are drawn too, and sums over the sample are right on average."""
    problem = task()
    problem.weights = torch.full((problem.size,), 1e-6, dtype=torch.float64)
    problem.weights[: problem.size // 2] = 1.0
    values = torch.linspace(1.0, 2.0, problem.size, dtype=torch.float64) / problem.weights
    state, sums, light = GaussNewton().start(problem, 0), [], []
    for _ in range(400):
        rows, weights = sample_rows(problem.weights, 40, state, even=0.5)
        sums.append(float((weights * values[rows]).sum()))
        light.append(float((rows >= problem.size // 2).double().mean()))
    assert abs(sum(light) / len(light) - 0.25) < 0.02
    assert abs(sum(sums) / len(sums) / float((problem.weights * values).sum()) - 1) < 0.02


@pytest.mark.parametrize(
    ("given", "words"), [({"even": 1.5}, "outside"), ({"even": 0.5, "matrix": "exact"}, "not read")]
)
def test_parts_that_make_no_sense_are_refused(given, words):
    with pytest.raises(PcpinnError, match=words):
        GaussNewton(**given)
