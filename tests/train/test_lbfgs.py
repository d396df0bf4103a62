"""L-BFGS: its packed state loses nothing, in memory or on disk."""

import numpy as np
import pytest
import torch
from cases import poisson, task, two_fields

from pcpinn.train import LBFGS, Checkpoints, Stopping, train

STEPS = 15


def torchs_own(problem, memory, steps, at_once):
    """Losses before each step and final weights of torch's optimiser, used without a break."""
    optimiser = torch.optim.LBFGS(
        [problem.theta],
        max_iter=steps if at_once else 1,
        max_eval=10_000,
        tolerance_grad=0.0,
        tolerance_change=0.0,
        history_size=memory,
        line_search_fn="strong_wolfe",
    )

    def closure():
        optimiser.zero_grad()
        loss = problem.loss()
        loss.backward()
        return loss

    losses = [float(optimiser.step(closure).detach()) for _ in range(1 if at_once else steps)]
    return losses, problem.theta.detach()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("memory", [50, 3])
@pytest.mark.parametrize("system", [lambda: poisson(2, 3, 2), two_fields], ids=["one", "two"])
def test_takes_the_steps_of_torch(system, memory, dtype):
    ours, theirs = (task(system(), dtype=dtype) for _ in range(2))
    lbfgs = LBFGS(memory)
    state = lbfgs.start(ours, 0)
    losses = [lbfgs.step(ours, state) for _ in range(STEPS)]
    expected, weights = torchs_own(theirs, memory, STEPS, at_once=False)
    # The order of sums depends on where in memory a row lies, so the last digits may differ.
    tolerance = 1e-9 if dtype == torch.float64 else 1e-2
    np.testing.assert_allclose(losses, expected, rtol=tolerance)
    torch.testing.assert_close(ours.theta.detach(), weights, rtol=tolerance, atol=tolerance)
    assert losses[-1] < 0.1 * losses[0]


def test_fifteen_calls_are_one_call_of_fifteen_iterations():
    ours, theirs = task(), task()
    lbfgs = LBFGS()
    state = lbfgs.start(ours, 0)
    for _ in range(STEPS):
        lbfgs.step(ours, state)
    torch.testing.assert_close(
        ours.theta.detach(), torchs_own(theirs, 50, STEPS, at_once=True)[1], rtol=1e-12, atol=1e-13
    )


def test_goes_on_where_the_whole_step_overshoots():
    """The line search shortens steps, and absolute tolerances do not end it early: no iteration leaves the weights."""
    problem = task(poisson(1, 12, 2), width=8)
    result = train(problem, LBFGS(), Stopping(200))
    assert np.all(np.diff(result.history.losses) < 0)
    assert np.sqrt(2 * result.loss) < 2e-4


def test_state():
    """Plain tensors: pairs of the memory in rows, oldest first, no more than fit; no gradient is left behind."""
    problem, lbfgs = task(), LBFGS(pairs=4)
    p = problem.network.parameter_count
    state = lbfgs.start(problem, 0)
    assert state == {}
    for k in range(1, 8):
        lbfgs.step(problem, state)
        assert all(isinstance(v, torch.Tensor) and not v.requires_grad for v in state.values())
        assert int(state["n_iter"]) == k
        kept = min(k - 1, 4)
        if kept:
            assert state["old_dirs"].shape == state["old_stps"].shape == (kept, p)
            assert state["ro"].shape == (kept,)
            torch.testing.assert_close(state["ro"], 1 / (state["old_dirs"] * state["old_stps"]).sum(1))
    assert problem.theta.grad is None


@pytest.mark.parametrize("stop_after", [1, 2, 7])
def test_resuming_changes_nothing(stop_after, tmp_path):
    whole = task()
    expected = train(whole, LBFGS(pairs=5), Stopping(12))
    broken = task()
    train(broken, LBFGS(pairs=5), Stopping(stop_after), checkpoints=Checkpoints(tmp_path))
    fresh = task(seed=77)
    snapshot = Checkpoints(tmp_path).read(fresh.theta)
    assert snapshot.iteration == stop_after
    result = train(fresh, LBFGS(pairs=5), Stopping(12), resume=snapshot)
    assert torch.equal(fresh.theta, whole.theta)
    np.testing.assert_array_equal(result.history.losses, expected.history.losses)


def test_at_a_minimum_the_weights_stay():
    problem, lbfgs = task(), LBFGS()
    problem.operator._rhs.copy_(problem.operator.apply(problem.unknowns().detach()))  # the network is the solution
    before = problem.theta.detach().clone()
    state = lbfgs.start(problem, 0)
    assert [lbfgs.step(problem, state) for _ in range(2)] == [0.0, 0.0]
    assert torch.equal(problem.theta.detach(), before)
