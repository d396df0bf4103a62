"""Optimisers of torch.optim: the steps are torch's own, their state survives checkpoints, bad choices are refused."""

import numpy as np
import pytest
import torch
from cases import poisson, task

from pcpinn import PcpinnError
from pcpinn.solve.method import METHODS
from pcpinn.solve.settings import Settings, resolve
from pcpinn.train import Adam, Checkpoints, Stopping, TorchOptimiser, train

CHOICES = {
    "sgd": {"lr": 0.1},
    "sgd with momentum": {"lr": 0.05, "momentum": 0.9, "nesterov": True},
    "nadam": {"lr": 1e-2},
    "rmsprop": {"lr": 1e-3, "momentum": 0.5, "centered": True},
    "adagrad": {"lr": 0.05, "lr_decay": 0.01},
    "adamw": {"lr": 1e-2, "amsgrad": True},
    "radam": {"lr": 1e-2},
    "asgd": {"lr": 0.05, "t0": 3},
    "rprop": {"lr": 1e-2},
    "adafactor": {"lr": 1e-2},
    "adadelta": {"lr": 1.0},
    "adamax": {"lr": 1e-2},
}
EACH = pytest.mark.parametrize("name", CHOICES)


def recipe(name):
    return TorchOptimiser(name.split()[0], **CHOICES[name])


@EACH
def test_takes_the_steps_of_torch(name):
    ours, theirs = task(), task()
    result = train(ours, recipe(name), Stopping(12))
    optimiser = recipe(name).kind([theirs.theta], **CHOICES[name])
    expected = []
    for _ in range(12):
        optimiser.zero_grad()
        loss = theirs.loss()
        loss.backward()
        optimiser.step()
        expected.append(float(loss.detach()))
    assert torch.equal(ours.theta, theirs.theta)
    np.testing.assert_array_equal(result.history.losses, expected)
    assert ours.theta.grad is None


@EACH
@pytest.mark.parametrize("stop_after", [1, 2, 7])
def test_resuming_changes_nothing(name, stop_after, tmp_path):
    whole = task()
    expected = train(whole, recipe(name), Stopping(12))
    train(task(), recipe(name), Stopping(stop_after), checkpoints=Checkpoints(tmp_path))
    fresh = task(seed=77)
    snapshot = Checkpoints(tmp_path).read(fresh.theta)
    assert snapshot.iteration == stop_after
    result = train(fresh, recipe(name), Stopping(12), resume=snapshot)
    assert torch.equal(fresh.theta, whole.theta)
    np.testing.assert_array_equal(result.history.losses, expected.history.losses)


@pytest.mark.parametrize("name", ["sgd with momentum", "nadam"])
def test_the_state_lives_in_its_tensors(name):
    """Single steps are a training, and a state that others hold is the state: Newton hands it from step to step."""
    whole, stepped = task(), task()
    train(whole, recipe(name), Stopping(6))
    optimiser = recipe(name)
    state = optimiser.start(stepped, 0)
    held = dict(state)
    assert not any(v.any() for v in held.values())
    for _ in range(6):
        optimiser.step(stepped, state)
    assert torch.equal(stepped.theta, whole.theta)
    assert state.keys() == held.keys()
    assert all(state[k] is held[k] and not v.requires_grad for k, v in held.items())
    assert int(held["begun"]) == 1


def test_numbers_that_are_no_tensors_survive(tmp_path):
    class Counting(torch.optim.Optimizer):
        """Steps that grow with their number and shrink with a sum of sizes: an int, a float and an unused entry."""

        def __init__(self, params, lr=1e-3):
            super().__init__(params, {"lr": lr})

        def step(self, closure):
            loss = closure()
            for group in self.param_groups:
                for p in group["params"]:
                    own = self.state[p]
                    own["number"] = own.get("number", 0) + 1
                    own["total"] = own.get("total", 0.0) + float(p.grad.norm())
                    own["unused"] = None
                    with torch.no_grad():
                        p.sub_(group["lr"] * own["number"] / own["total"] * p.grad)
            return loss

    whole, fresh = task(), task(seed=3)
    optimiser = TorchOptimiser(Counting, lr=1e-2)
    assert optimiser.algorithm.endswith("Counting")
    assert optimiser.changed({"iterations": 9}).kind is Counting
    train(whole, optimiser, Stopping(9))
    train(task(), optimiser, Stopping(4), checkpoints=Checkpoints(tmp_path))
    train(fresh, optimiser, Stopping(9), resume=Checkpoints(tmp_path).read(fresh.theta))
    assert torch.equal(fresh.theta, whole.theta)


def test_adam_by_torch_is_our_adam():
    ours, theirs = task(poisson(1, 12, 2)), task(poisson(1, 12, 2))
    train(ours, Adam(1e-2, 0.9, 0.99), Stopping(50))
    train(theirs, TorchOptimiser("Adam", lr=1e-2, betas=(0.9, 0.99)), Stopping(50))
    torch.testing.assert_close(theirs.theta, ours.theta, rtol=1e-9, atol=1e-11)


def test_single_precision(tmp_path):
    whole, fresh = task(dtype=torch.float32), task(dtype=torch.float32, seed=1)
    train(whole, recipe("nadam"), Stopping(8))
    train(task(dtype=torch.float32), recipe("nadam"), Stopping(3), checkpoints=Checkpoints(tmp_path))
    train(fresh, recipe("nadam"), Stopping(8), resume=Checkpoints(tmp_path).read(fresh.theta))
    assert torch.equal(fresh.theta, whole.theta)


def test_recipes_are_values():
    one = TorchOptimiser(torch.optim.NAdam, lr=1e-3, betas=(0.9, 0.99))
    assert one == TorchOptimiser("NAdam", "betas=(0.9, 0.99), lr=0.001")
    assert hash(one) == hash(TorchOptimiser("nadam", "lr=1e-3", betas=(0.9, 0.99)))
    assert one != TorchOptimiser("nadam", lr=1e-2)
    assert (one.name, one.algorithm, one.iterations, one.patience) == ("torch", "nadam", 20_000, None)
    assert one.changed({"iterations": "70"}) == TorchOptimiser("nadam", lr=1e-3, betas=(0.9, 0.99), iterations=70)
    with pytest.raises(AttributeError):
        one.algorithm = "sgd"


def test_recipes_as_plain_data_and_back():
    keys = TorchOptimiser("sgd", lr=0.1, nesterov=True, momentum=0.9, iterations=5, patience=3).to_dict()
    expected = {"name": "torch", "algorithm": "sgd", "options": "lr=0.1, momentum=0.9, nesterov=True"}
    assert keys == {**expected, "iterations": 5, "patience": 3}
    back = TorchOptimiser(**{k: v for k, v in keys.items() if k != "name"})
    assert back.to_dict() == keys
    assert back.arguments == {"lr": 0.1, "momentum": 0.9, "nesterov": True}


def test_as_the_optimiser_of_a_solve():
    """By name and key, as on the command line; by recipe; and after further changes."""
    settings = resolve(METHODS.find("pcpinn"), False, {"optimiser": "torch", "options": "lr=0.01", "iterations": 7})
    assert settings.optimiser == TorchOptimiser("nadam", lr=0.01, iterations=7)
    settings = resolve(METHODS.find("pcpinn"), False, {"optimiser": TorchOptimiser("sgd", lr=0.1, momentum=0.9)})
    assert settings.updated({"seed": 3}).optimiser == TorchOptimiser("sgd", lr=0.1, momentum=0.9)
    assert Settings.from_dict(settings.to_dict()).optimiser == settings.optimiser


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("magic", {}, "there is no torch optimiser 'magic'"),
        ("nadam", {"speed": 3}, "unexpected keyword argument 'speed'"),
        ("nadam", {"lr": -1.0}, "Invalid learning rate"),
        ("nadam", {"lr": torch.tensor(1e-3)}, "cannot be read|not plain"),
        ("nadam", {"options": "lr"}, "cannot be read"),
        ("nadam", {"options": "lr=print(1)"}, "cannot be read"),
        ("nadam", {"options": "lr=1) + g(x=2"}, "cannot be read"),
        ("nadam", {"iterations": -1}, "iterations=-1 must be 0 or more"),
        (torch.nn.Linear, {}, "is not a class of optimisers"),
        (torch.optim.SGD([torch.zeros(1)], lr=0.1), {}, "is not a class of optimisers"),
    ],
)
def test_refused_when_made(kind, options, message):
    with pytest.raises(PcpinnError, match=message) as refusal:
        TorchOptimiser(kind, **options)
    assert refusal.value.remedy


@pytest.mark.parametrize(
    ("kind", "message"),
    [("sparseadam", "does not support dense gradients"), ("lbfgs", "cannot be kept in checkpoints: old_dirs")],
)
def test_refused_before_the_first_step(kind, message):
    problem = task()
    before = problem.theta.detach().clone()
    with pytest.raises(PcpinnError, match=message):
        TorchOptimiser(kind, lr=1e-3).start(problem, 0)
    assert torch.equal(problem.theta, before)
