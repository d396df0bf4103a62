"""Networks of a sweep trained together: each as if it were alone, on the right equation."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.func import hessian, jacfwd, vmap

from pcpinn.checkpoint import Checkpoint
from pcpinn.errors import PcpinnError
from pcpinn.files import read_tensors, write_tensors
from pcpinn.network.dense import split_layers
from pcpinn.study.families import FAMILIES, paper_values
from pcpinn.study.family import compose
from pcpinn.study.jets import network_jets, network_values
from pcpinn.study.sweep import Batch, Training, train_sweep

TINY = Training(width=6, depth=2, points=32, iterations=25, records=5, test=9, dtype=torch.float64)


def test_together_as_alone():
    family = FAMILIES["wave"]
    together = train_sweep(family, [1.1, 3.0], [0, 1], TINY)
    assert list(zip(together.parameters, together.seeds, strict=True)) == [(1.1, 0), (1.1, 1), (3.0, 0), (3.0, 1)]
    for k, (parameter, seed) in enumerate(zip(together.parameters, together.seeds, strict=True)):
        alone = train_sweep(family, [parameter], [seed], TINY)
        np.testing.assert_allclose([row[k] for row in together.losses], [row[0] for row in alone.losses], rtol=1e-9)
        np.testing.assert_allclose([row[k] for row in together.errors], [row[0] for row in alone.errors], rtol=1e-9)
    assert len({float(e) for e in together.final_errors}) == 4
    assert together.iterations == [0, 5, 10, 15, 20, 25]


def test_batches_of_limited_memory_join(monkeypatch):
    whole = train_sweep(FAMILIES["helmholtz"], [1.0, 2.0, 3.0], [0], TINY)
    monkeypatch.setattr("pcpinn.study.sweep._at_once", lambda *a: 2)
    parts = train_sweep(FAMILIES["helmholtz"], [1.0, 2.0, 3.0], [0], TINY)
    np.testing.assert_allclose(parts.losses, whole.losses, rtol=1e-9)


class Stopped(Exception):
    """A kill, as the tests play it."""


def _stopped(monkeypatch, folder, after):
    """A sweep in two batches that is killed after so many writings of its state."""
    write, count = Checkpoint.write, [0]

    def failing(self, *arguments):
        write(self, *arguments)
        count[0] += 1
        if count[0] == after:
            raise Stopped

    monkeypatch.setattr("pcpinn.study.sweep._at_once", lambda *a: 2)
    monkeypatch.setattr("pcpinn.study.unfinished._EVERY", 0.0)
    monkeypatch.setattr(Checkpoint, "write", failing)
    with pytest.raises(Stopped):
        train_sweep(FAMILIES["helmholtz"], [1.0, 2.0, 3.0], [0], TINY, folder=folder)
    monkeypatch.setattr(Checkpoint, "write", write)


@pytest.mark.parametrize("after", [1, 13, 26, 40])  # in the first batch, at its end, in the second
def test_a_sweep_that_was_killed_ends_where_it_would_have(monkeypatch, tmp_path, after):
    whole = train_sweep(FAMILIES["helmholtz"], [1.0, 2.0, 3.0], [0], TINY)
    _stopped(monkeypatch, tmp_path, after)
    steps = []
    monkeypatch.setattr(torch.optim.Adam, "step", _counted(torch.optim.Adam.step, steps))
    again = train_sweep(FAMILIES["helmholtz"], [1.0, 2.0, 3.0], [0], TINY, folder=tmp_path)
    assert len(steps) < 50 - after + 3  # what was done is not done again
    assert again.iterations == whole.iterations
    np.testing.assert_allclose(again.losses, whole.losses, rtol=1e-9)
    np.testing.assert_allclose(again.errors, whole.errors, rtol=1e-9)


def _counted(step, calls):
    def counting(self, *arguments):
        calls.append(1)
        return step(self, *arguments)

    return counting


def test_states_of_another_sweep_and_damaged_ones_are_refused(monkeypatch, tmp_path):
    _stopped(monkeypatch, tmp_path, 3)
    (path,) = tmp_path.iterdir()
    with pytest.raises(PcpinnError, match="begun with other sizes"):
        train_sweep(FAMILIES["helmholtz"], [1.0, 2.0, 3.0], [1], TINY, folder=tmp_path)
    tensors, facts = read_tensors(path)
    write_tensors(path, {k: v for k, v in tensors.items() if k != "exp_avg"}, facts)
    with pytest.raises(PcpinnError, match="damaged: exp_avg"):
        train_sweep(FAMILIES["helmholtz"], [1.0, 2.0, 3.0], [0], TINY, folder=tmp_path)
    path.write_bytes(b"nonsense")
    with pytest.raises(PcpinnError, match="cannot be read"):
        train_sweep(FAMILIES["helmholtz"], [1.0, 2.0, 3.0], [0], TINY, folder=tmp_path)


def test_batches_of_points_take_turns():
    """Four steps see all points, the fifth those of the first."""
    family, changed = FAMILIES["burgers"], replace(TINY, points=32, batch=8)
    whole, parts = Batch(family, [0.1, 1.0], [0, 1], TINY), Batch(family, [0.1, 1.0], [0, 1], changed)
    turns = [parts.losses(k).detach() for k in range(5)]
    torch.testing.assert_close(torch.stack(turns[:4]).mean(0), whole.losses().detach())
    torch.testing.assert_close(turns[4], turns[0])
    assert not torch.allclose(turns[1], turns[0])


def test_one_that_fails_does_not_disturb_the_others():
    family = FAMILIES["wave"]
    batch, alone = Batch(family, [1e30, 2.0], [0, 0], TINY), Batch(family, [2.0], [0], TINY)
    both, one = batch.train(lambda *a: None), alone.train(lambda *a: None)
    np.testing.assert_allclose(both.errors[-1][1], one.errors[-1][0], rtol=1e-9)


def test_jets_are_derivatives():
    """Against automatic differentiation, their derivatives by the weights too."""
    batch = Batch(FAMILIES["wave"], [2.0], [3], TINY)
    x = torch.rand(4, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    cotangent = torch.rand(5, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))

    def automatic(theta):
        def value(p):
            return network_values(split_layers(theta, batch.shapes), p[None])[0]

        return torch.stack([torch.cat([value(p)[None], jacfwd(value)(p), hessian(value)(p).diagonal()]) for p in x]).T

    theta = batch.theta.detach()[0].requires_grad_(True)
    jets = network_jets(split_layers(theta, batch.shapes), x)
    torch.testing.assert_close(jets, automatic(theta))
    (ours,) = torch.autograd.grad((jets * cotangent).sum(), theta)
    (theirs,) = torch.autograd.grad((automatic(theta) * cotangent).sum(), theta)
    torch.testing.assert_close(ours, theirs)


def exact_formulas():
    pi = torch.pi

    def wave(x, C):
        slow = torch.sin(pi / 8 * x[0]) * torch.cos(pi / 8 * x[1])
        return slow + 0.5 * torch.sin(pi / 2 * x[0]) * torch.cos(C * pi / 2 * x[1])

    def helmholtz(x, A):
        return torch.sin(A * pi * x[0]) * torch.sin(A * pi * x[1])

    return {"wave": wave, "helmholtz": helmholtz}


@pytest.mark.parametrize(("name", "parameter"), [("wave", 1.7), ("helmholtz", 3.0)])
def test_strong_forms_vanish_at_the_exact_solution(name, parameter):
    family, formula = FAMILIES[name], exact_formulas()[name]
    p = torch.tensor(parameter, dtype=torch.float64)
    lower, upper = family.box
    x = lower + (upper - lower) * torch.rand(20, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    u, slopes = vmap(lambda q: formula(q, p))(x), vmap(lambda q: jacfwd(formula)(q, p))(x)
    second = vmap(lambda q: hessian(formula)(q, p).diagonal())(x)
    residual = family.residual(x, p, u, slopes, second)
    assert residual.abs().max() < 1e-10 * second.abs().max()
    np.testing.assert_allclose(family.values(x, [parameter])[0], u, atol=1e-12)


def test_burgers_reference_obeys_its_strong_form():
    """Differences of the reference on a fine grid."""
    family, nu, h = FAMILIES["burgers"], 0.3, 1e-3
    places, times = torch.tensor([-0.6, 0.1, 0.5]), torch.tensor([0.2, 0.7])
    steps = torch.tensor([-h, 0.0, h])
    x = torch.cartesian_prod((places[:, None] + steps).flatten(), (times[:, None] + steps).flatten()).double()
    u = family.values(x, [nu])[0].reshape(3, 3, 2, 3)
    at = torch.cartesian_prod(places, times).double()
    slopes = torch.stack([(u[:, 2, :, 1] - u[:, 0, :, 1]), (u[:, 1, :, 2] - u[:, 1, :, 0])], -1).reshape(-1, 2) / (
        2 * h
    )
    second = ((u[:, 2, :, 1] - 2 * u[:, 1, :, 1] + u[:, 0, :, 1]) / h**2).reshape(-1, 1).expand(-1, 2)
    residual = family.residual(at, torch.tensor(nu, dtype=torch.float64), u[:, 1, :, 1].reshape(-1), slopes, second)
    assert residual.abs().max() < 1e-3


@pytest.mark.parametrize(("name", "parameter"), [("wave", 2.0), ("helmholtz", 2.0), ("burgers", 0.1)])
def test_the_ansatz_holds_the_conditions(name, parameter):
    """Whatever the network is; at the start also its rate, where the problem gives one."""
    family = FAMILIES[name]
    t = torch.linspace(0, 1, 7, dtype=torch.float64)
    (a, c), (b, d) = (corner.tolist() for corner in family.box)
    sides = [torch.stack([torch.full_like(t, v), c + (d - c) * t], 1) for v in (a, b)]
    sides += [
        torch.stack([a + (b - a) * t, torch.full_like(t, v)], 1) for v in ((c, d) if name == "helmholtz" else (c,))
    ]
    x = torch.cat(sides)
    located = family.place(x, torch.tensor([parameter], dtype=torch.float64))
    network = torch.rand(5, len(x), dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    u = compose(located.lift[0], located.distance[0], network)
    np.testing.assert_allclose(u[0], family.values(x, [parameter])[0], atol=1e-9)
    if name == "wave":
        start = x[:, 1] == 0
        np.testing.assert_allclose(u[2][start], 0.0, atol=1e-12)


def test_the_papers_sweeps():
    assert (len(paper_values("wave")), paper_values("wave")[0], paper_values("wave")[-1]) == (40, 1.1, 5.0)
    assert paper_values("helmholtz") == [float(k) for k in range(1, 21)]
    assert len(paper_values("burgers")) == 21
    assert paper_values("burgers")[10] == pytest.approx(0.1)
