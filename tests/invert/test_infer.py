"""Inference: parameters and coefficients from noisy data; uncertainty; run folders; taking up a run."""

import json

import numpy as np
import pytest
import torch
from cases import chosen
from rods import ENDS, SMALL, UNKNOWN, bar, bar_data, rod, rod_data, rod_u

import pcpinn as pc
from pcpinn.checkpoint import Checkpoint
from pcpinn.train import Checkpoints, GaussNewton


def test_a_parameter_and_its_standard_deviation():
    data = bar_data(0)
    solution = pc.infer(bar, data, {"k": pc.Parameter(1.0, low=0.1)}, **SMALL)
    k, std = solution.parameters["k"], solution.std("k")
    assert isinstance(k, float)
    assert isinstance(std, float)
    assert solution.result["inverse"]["values"] == {"k": k}
    x = data.points[:, 0]
    slope = x * (1 - x) / 2 / k**2
    assert std == pytest.approx(0.003 / np.linalg.norm(slope), rel=0.02)
    weights = x * (1 - x) / 2  # u = weights / k, so least squares has a formula
    assert k == pytest.approx(weights @ weights / (weights @ data.values), rel=1e-3)
    assert solution([[0.5]])[0] == pytest.approx(1 / (8 * k), rel=3e-3)
    assert solution.result["inverse"]["effective"] == pytest.approx(1.0, abs=0.01)
    assert solution.result["preconditioner"]["oldest"] <= solution.settings["loss"]["refresh"]


def test_standard_deviations_cover_the_truth_as_often_as_they_say():
    """Of the discrete problem, which has the same posterior: 40 sets of noise, one and two standard deviations."""

    from pcpinn.invert.inference import Inference
    from pcpinn.problem.family import Family

    settings = chosen(method="infer", **{**SMALL, "cells": (4,)})
    family = Family(bar, {"k": pc.Parameter(1.0)})
    run = Inference(family, (bar_data(0),), settings)
    z = []
    for seed in range(40):
        run.discrete.values = bar_data(seed).values
        start = np.zeros(run.equations.size), np.full((run.equations.nodes_count, 1), 1.95)
        choice = run.discrete.solve(*start, 2, ())
        z.append((choice.c[0, 0] - 2.0) / np.linalg.norm(choice.posterior.factors[0]))
    inside = np.abs(z)
    assert 0.5 < np.mean(inside < 1) < 0.85
    assert np.mean(inside < 2) > 0.87


def test_several_numbers_in_source_and_conditions_from_an_observable():
    def build(k):
        return pc.Problem(
            pc.Interval(0, 1),
            flux=lambda x, u: u.grad,
            source=lambda x, u: -k[0],
            boundary={"left": pc.Dirichlet(lambda x: k[1] + 0 * x[0]), "right": pc.Robin(1.0, 0.0)},
        )

    # -u'' = s, u(0) = g, u' + u = 0 at 1: u = g + b x - s x^2 / 2, b = (3 s / 2 - g) / 2
    s, g = 3.0, 0.5
    b = (1.5 * s - g) / 2
    x = np.linspace(0, 1, 30)[:, None]
    slope = b - s * x[:, 0]
    noise = 1e-3 * np.random.default_rng(0).normal(size=30)
    data = pc.Observations(x, slope + noise, 1e-3, observable=lambda x, u: u.grad[0])
    solution = pc.infer(build, data, {"k": pc.Parameter((1.0, 0.1), spread=10.0)}, **SMALL)
    assert np.abs(solution.parameters["k"] - [s, g]).max() < 0.01
    assert np.all(np.abs(solution.parameters["k"] - [s, g]) < 4 * solution.std("k"))


@pytest.mark.parametrize(
    "way", [{"time": "slabs", "scheme": "radau", "steps": 2, "order": 2}, {"steps": 8}], ids=["slabs", "simplex"]
)
def test_a_number_over_time_from_an_observable_of_time(way):
    """u_t = k u_xx with u = sin(pi x) exp(-k pi^2 t); observed is t u, a function of (x, t, u)."""

    def build(k):
        return pc.Problem(
            pc.Interval(0, 1).over(0, 1),
            density=lambda x, u: u.value,
            flux=lambda x, u: k * u.grad,
            boundary={
                "left": pc.Dirichlet(0.0),
                "right": pc.Dirichlet(0.0),
                "initial": pc.Initial(lambda x: torch.sin(torch.pi * x[0])),
            },
        )

    k, random = 0.1, np.random.default_rng(0)
    x = random.uniform(0.1, 0.9, size=(40, 2))
    values = x[:, 1] * np.sin(np.pi * x[:, 0]) * np.exp(-k * np.pi**2 * x[:, 1]) + 1e-3 * random.normal(size=40)
    data = pc.Observations(x, values, 1e-3, observable=lambda x, t, u: t * u.value)
    solution = pc.infer(build, data, {"k": pc.Parameter(0.2)}, **{**SMALL, "cells": (6,), "degree": 2, **way})
    assert solution.parameters["k"] == pytest.approx(k, rel=0.05)


def test_unknown_noise_is_estimated_and_outliers_are_borne():
    data = bar_data(1)
    loud = pc.Observations(data.points, data.values.copy())
    solution = pc.infer(bar, loud, {"k": pc.Parameter(1.0)}, **SMALL)
    assert solution.result["inverse"]["noise_estimated"]
    assert solution.result["inverse"]["noise"][0] == pytest.approx(0.003, rel=0.3)
    loud.values[::10] += 0.2
    with pytest.warns(pc.PcpinnWarning, match="given noise"):  # by squares alone: Huber's loss expects outliers
        found = {
            loss: pc.infer(
                bar, loud, {"k": pc.Parameter(1.5)}, noise_level=0.01, misfit=loss, **{**SMALL, "iterations": 24}
            )
            for loss in ("huber", "squares")
        }
    assert abs(found["huber"].parameters["k"] - 2) < 0.15
    assert abs(found["squares"].parameters["k"] - 2) > 0.3


def test_noise_that_is_too_small_to_be_true_is_raised_and_announced():
    data = bar_data(2)
    right = pc.infer(bar, data, {"k": pc.Parameter(1.0)}, **SMALL)
    with pytest.warns(pc.PcpinnWarning, match="times as far from the data as the given noise"):
        wrong = pc.infer(bar, pc.Observations(data.points, data.values, 0.0003), {"k": pc.Parameter(1.0)}, **SMALL)
    assert right.result["inverse"]["noise"][0] == pytest.approx(0.003)  # within chance: as given
    assert right.result["inverse"]["noise_raised"] is None
    assert wrong.result["inverse"]["noise_raised"] == pytest.approx(10, rel=0.3)
    assert wrong.result["inverse"]["noise"][0] == pytest.approx(0.003, rel=0.3)
    assert wrong.std("k") == pytest.approx(right.std("k"), rel=0.3)


def test_a_coefficient_by_its_network(tmp_path):
    x = np.linspace(0, 1, 41)
    truth = pc.Truth(x[:, None], rod_u(x)[:, None], {"a": 1 + x})
    solution = pc.infer(rod, rod_data(), UNKNOWN, truth=truth, out=tmp_path / "run", **{**SMALL, "iterations": 24})
    errors = solution.result["errors"]
    assert errors["field"]["a"]["l2re"] < 0.03
    assert errors["training"] < 5e-3
    assert solution.result["inverse"]["converged"]
    assert errors["l2re"] < 5 * solution.result["inverse"]["expected_l2re"]
    stack = np.concatenate([solution(x[:, None]) - rod_u(x), solution.coefficient("a")(x[:, None]) - 1 - x])
    assert errors["l2re"] == pytest.approx(np.linalg.norm(stack) / np.linalg.norm(np.r_[rod_u(x), 1 + x]))
    along = solution.result["error_history"]
    assert along[-1][2] == errors["l2re"] < 0.5 * along[0][2]
    assert solution.std("a", x[:, None])[0] < 1e-9  # known there
    assert 0 < solution.std("a", [[0.5]])[0] < 0.2
    back = pc.load(tmp_path / "run")
    assert isinstance(back, pc.InverseSolution)
    np.testing.assert_array_equal(back(x[:, None]), solution(x[:, None]))
    np.testing.assert_array_equal(back.coefficient("a")(x[:, None]), solution.coefficient("a")(x[:, None]))
    np.testing.assert_allclose(back.std("a", x[:, None]), solution.std("a", x[:, None]), atol=1e-6)
    np.testing.assert_allclose(back.std("u", x[:, None]), solution.std("u", x[:, None]), atol=1e-6)
    np.testing.assert_array_equal(back.data[0].values, rod_data().values)
    assert json.loads((tmp_path / "run" / "result.json").read_text())["method"] == "infer"
    assert solution.plot(tmp_path / "picture.png", truth).stat().st_size > 10_000


def test_networks_that_have_not_arrived_say_so():
    """Whatever their error is: the discrete answer has a lower loss."""
    notes = []

    class Listening(pc.Progress):
        def note(self, text):
            notes.append(text)

    solution = pc.infer(rod, rod_data(), UNKNOWN, progress=Listening(), **{**SMALL, "warmup": 1, "iterations": 3})
    assert solution.result["inverse"]["excess"] > 5
    assert solution.result["inverse"]["converged"] is False
    assert any("have not converged" in text for text in notes)


def test_a_discrete_answer_that_networks_beat_by_far_is_none(monkeypatch):
    """Its noise and deviations would be taken for those of the data."""
    from pcpinn.invert import record

    usual, notes = record.discrete_loss, []

    class Listening(pc.Progress):
        def note(self, text):
            notes.append(text)

    monkeypatch.setattr(record, "discrete_loss", lambda *given: usual(*given) + 100.0)
    solution = pc.infer(bar, bar_data(0), {"k": pc.Parameter(1.0, low=0.1)}, progress=Listening(), **SMALL)
    assert solution.result["inverse"]["excess"] < -25
    assert solution.result["inverse"]["converged"] is False
    assert any("ended in a poor place" in text for text in notes)
    assert "below that of the discrete answer" in solution.result.message


def plate(a):
    """-div(a grad u) = f, with f made from a = 2 + s, u = s, s = sin(pi x) sin(pi y)."""
    pi = torch.pi

    def source(x, u):
        s, c = torch.sin(pi * x), torch.cos(pi * x)
        slopes = (pi * c[0] * s[1]) ** 2 + (pi * s[0] * c[1]) ** 2
        return slopes - 2 * pi**2 * (2 + s[0] * s[1]) * s[0] * s[1]

    square = pc.Rectangle((-1, -1), (1, 1), name="sides")
    return pc.Problem(square, flux=lambda x, u: a(x) * u.grad, source=source, boundary={"sides": pc.Dirichlet(0.0)})


def test_networks_follow_the_data_not_the_source():
    """f is made from a smooth pair (u, a) that networks fit with ease; the data speak of another one."""

    from pcpinn.invert.inference import Inference
    from pcpinn.problem.family import Family

    options = {"cells": (5, 5), "degree": 4, "width": 14, "feature_count": 2, "feature_high": -1.0, "iterations": 45}
    unknown = {"a": pc.Coefficient(initial=2.0, low=0.1, known={"sides": 2.0}, width=14)}
    random = np.random.default_rng(0)
    x = random.uniform(-0.95, 0.95, size=(500, 2))
    shape = lambda p: np.sin(np.pi * p[:, 0]) * np.sin(np.pi * p[:, 1])  # noqa: E731
    data = pc.Observations(x, shape(x), 0.03)
    settings = chosen(method="infer", **{**options, "device": "cpu"})
    run = Inference(Family(plate, unknown), (data,), settings)
    nodes = run.equations.coefficient_nodes
    c = (2 + 0.5 * shape(nodes))[:, None]
    _, u = run.discrete._linearise(np.zeros(run.equations.size), c, 1.0)
    values = run.discrete.observe(u)[0] + 0.03 * random.normal(size=500)
    solution = pc.infer(plate, pc.Observations(x, values, 0.03), unknown, settings)
    found = solution.coefficient("a")(nodes) - 2
    assert found @ shape(nodes) / (shape(nodes) @ shape(nodes)) == pytest.approx(0.5, abs=0.05)
    assert solution.result["inverse"]["converged"]
    assert solution.result["errors"]["training"] < 0.01


def test_between_the_nodes_networks_do_not_follow_noise():
    """More weights than nodes: without a term that holds them there, they would."""

    from pcpinn.invert.inference import Inference
    from pcpinn.problem.family import Family

    settings = chosen(method="infer", **{**SMALL, "cells": (4,), "degree": 2, "width": 16})
    run = Inference(Family(rod, UNKNOWN), (rod_data(),), settings)
    (term,) = run.loss.between
    theta = run.loss.theta[run.model.parts[0]]
    nodal = run.loss.unknowns()
    x = rod_data().points
    at_nodes = run.equations.discretisation.unknown_nodes[:, 0]
    values = nodal.detach().numpy()
    expected = []
    for p in x[:, 0]:  # the parabola through the three nodes of a cell
        left = min(int(p / 0.25), 3) * 0.25
        own = [int(np.abs(at_nodes - q).argmin()) for q in (left, left + 0.125, left + 0.25)]
        expected.append(np.polyval(np.polyfit(at_nodes[own], values[own], 2), p))
    with torch.no_grad():
        here = run.model.u(torch.from_numpy(x))[:, 0].numpy()
    found = term.residual(theta, nodal)
    np.testing.assert_allclose(found.detach().numpy(), here - expected, atol=1e-10)
    J = term.jacobian(run.loss._nodal_jacobian())
    v = torch.randn(len(theta), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    (slope,) = torch.autograd.grad(found.sum(), run.loss.theta)
    assert float(slope[run.model.parts[0]] @ v) == pytest.approx(float((J @ v).sum()), rel=1e-8)


@pytest.mark.parametrize(
    ("a", "kernel"),
    [(lambda x: 1.5 + 0.5 * np.sin(5 * x), "se"), (lambda x: 1.5 + 0.5 * np.abs((6 * x) % 2 - 1), "matern")],
    ids=["smooth", "kinks"],
)
def test_auto_takes_the_kernel_that_explains_the_data(a, kernel):
    """-(a u')' = 1, u = 0 at the ends: u' = (C - x) / a. One that is given is kept."""
    from pcpinn.invert.inference import Inference
    from pcpinn.problem.family import Family

    grid = np.linspace(0, 1, 20_001)
    middle = (grid[1:] + grid[:-1]) / 2
    slopes = [np.r_[0, np.cumsum(grid[1] * w / a(middle))] for w in (1.0, middle)]
    u = slopes[1][-1] / slopes[0][-1] * slopes[0] - slopes[1]
    x, noise = np.linspace(0, 1, 101), 1e-4
    values = np.interp(x, grid, u) + noise * np.random.default_rng(0).normal(size=101)

    def problem(a):
        return pc.Problem(pc.Interval(0, 1), flux=lambda x, u: a(x) * u.grad, source=lambda x, u: -1.0, boundary=ENDS)

    found = {}
    for asked in ("auto", "se", "matern"):
        known = {"left": float(a(0.0)), "right": float(a(1.0))}
        family = Family(problem, {"a": pc.Coefficient(initial=1.7, low=0.1, known=known, kernel=asked)})
        settings = chosen(method="infer", **{**SMALL, "cells": (24,), "degree": 2})
        data = (pc.Observations(x[:, None], values, noise),)
        run = Inference(family, data, settings)
        choice = run.discrete.solve(*run._first_guess(), 8, (1, 3, 5))
        found[asked] = choice.hypers[0].kernel
    assert found == {"auto": kernel, "se": "se", "matern": "matern"}


class Stopped(Exception):
    """A kill, as the tests play it."""


@pytest.mark.parametrize(("stop_at", "told"), [(3, True), (11, True), (11, False), (17, True)])
def test_a_run_taken_up_again_ends_where_it_would_have(tmp_path, monkeypatch, stop_at, told):
    """Whether it was told the noise or estimated it."""
    options = {**SMALL, "checkpoint_every": 0.0, "refresh": 2}
    data = rod_data() if told else pc.Observations(rod_data().points, rod_data().values)
    whole = pc.infer(rod, data, UNKNOWN, out=tmp_path / "whole", **options)
    write = Checkpoints.write

    def failing(self, snapshot):
        write(self, snapshot)
        if snapshot.iteration >= stop_at:
            raise Stopped

    monkeypatch.setattr(Checkpoints, "write", failing)
    with pytest.raises(Stopped):
        pc.infer(rod, data, UNKNOWN, out=tmp_path / "cut", **options)
    monkeypatch.setattr(Checkpoints, "write", write)
    again = pc.infer(rod, data, UNKNOWN, out=tmp_path / "cut", resume=True, **options)
    np.testing.assert_array_equal(again.history.losses, whole.history.losses)
    np.testing.assert_array_equal(again.uncertainty.u, whole.uncertainty.u)
    np.testing.assert_array_equal(again.uncertainty.coefficients["a"], whole.uncertainty.coefficients["a"])
    own = ("time", "memory")  # of the process
    assert {k: v for k, v in again.result.items() if k not in own} == {
        k: v for k, v in whole.result.items() if k not in own
    }


def test_time_spent_before_an_interruption_counts(tmp_path, monkeypatch):
    """In all of the run, and in all of its training."""
    write = Checkpoint.write
    monkeypatch.setattr(
        Checkpoint, "write", lambda self, t, f: write(self, t, {**f, "seconds": 100.0, "elapsed": 111.0})
    )
    pc.infer(bar, bar_data(0), {"k": pc.Parameter(1.0)}, out=tmp_path / "run", **SMALL)
    again = pc.infer(bar, bar_data(0), {"k": pc.Parameter(1.0)}, out=tmp_path / "run", resume=True, **SMALL)
    times = again.result["time"]
    assert times["train_s"] >= 100
    assert times["total_s"] > 111
    assert times["total_s"] >= times["train_s"]


def still(k):
    """No equation in it holds u."""
    return pc.Problem(pc.Interval(0, 1), flux=lambda x, u: 0 * k * u.grad, source=lambda x, u: 0 * k, boundary=ENDS)


@pytest.mark.parametrize(
    ("problem", "observable", "changes", "message"),
    [
        (bar, None, {"preconditioner": "separable"}, "cannot be used here"),
        (bar, None, {"preconditioner": "auto-ilu", "refinement": 2}, "refinement=2 is not read"),
        (still, None, {}, "singular"),
        (bar, lambda x, u: u.value.item(), {}, None),
        (bar, lambda x, u: u.grad, {}, "one number"),
    ],
)
def test_what_is_refused_leaves_no_folder(tmp_path, problem, observable, changes, message):
    data = bar_data(0)
    data = pc.Observations(data.points, data.values, 0.003, observable=observable)
    with pytest.raises(pc.PcpinnError, match=message):
        pc.infer(problem, data, {"k": pc.Parameter(1.0)}, out=tmp_path / "run", **{**SMALL, **changes})
    assert list(tmp_path.iterdir()) == []


def test_adam_with_jacobi_anew_in_every_iteration():
    options = {**SMALL, "optimiser": "adam", "preconditioner": "jacobi", "refresh": 1, "prior": "none"}
    solution = pc.infer(bar, bar_data(0), {"k": pc.Parameter(1.0)}, **{**options, "warmup": 20, "iterations": 20})
    assert solution.result["preconditioner"]["name"] == "jacobi"
    assert solution.result["preconditioner"]["refreshes"] == 20
    assert solution.uncertainty is None
    assert solution.history.losses[19] < solution.history.losses[0]
    with pytest.raises(pc.PcpinnError, match="no posterior"):
        solution.std("k")


def test_the_gradient_of_the_joint_loss_is_that_of_differences():

    from pcpinn.invert.inference import Inference
    from pcpinn.problem.family import Family

    settings = chosen(method="infer", **{**SMALL, "optimiser": "adam", "preconditioner": "jacobi"})
    run = Inference(Family(rod, UNKNOWN), (rod_data(),), settings)
    loss = run.loss
    loss.kappa, loss.refresh_every = 0.5, 10**9
    (gradient,) = torch.autograd.grad(loss.loss(), loss.theta)
    v = torch.randn(len(loss.theta), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    start, h = loss.theta.detach().clone(), 1e-6
    values = []
    for sign in (1, -1):
        with torch.no_grad():
            loss.theta.copy_(start + sign * h * v)
        values.append(loss.value())
    assert float(gradient @ v) == pytest.approx((values[0] - values[1]) / (2 * h), rel=1e-5)
    with torch.no_grad():
        loss.theta.copy_(start)
    loss.derivatives = True
    loss.refresh()
    model = loss.model_here(GaussNewton(), {})
    (gradient,) = torch.autograd.grad(loss.loss(), loss.theta)
    np.testing.assert_allclose(
        model.gradient.numpy(), gradient.numpy(), rtol=1e-6, atol=1e-6 * float(gradient.abs().max())
    )


def test_the_curvature_of_the_joint_loss_is_that_of_differences():
    """With P = A: x^T H x = ||J x||^2 for the x that a damped solve gives, J x by differences of the residuals."""
    from pcpinn.invert.inference import Inference
    from pcpinn.problem.family import Family

    settings = chosen(method="infer", **SMALL)
    run = Inference(Family(rod, UNKNOWN), (rod_data(),), settings)
    loss = run.loss
    loss.kappa = 0.5
    model = loss.model_here(GaussNewton(), {})
    damping, start, h = 0.2, loss.theta.detach().clone(), 1e-5
    x = model.curvature.solve(model.gradient, damping)
    ends = []
    for sign in (1, -1):
        with torch.no_grad():
            loss.theta.copy_(start + sign * h * x)
        ends.append(torch.cat(loss.residuals()))
    with torch.no_grad():
        loss.theta.copy_(start)
    along = (ends[0] - ends[1]) / (2 * h)
    assert float(x @ (model.gradient - damping * model.curvature.scale * x)) == pytest.approx(
        float(along @ along), rel=1e-5
    )
    for wrong in (GaussNewton("exact"), GaussNewton("matrix-free"), GaussNewton(sample=5), GaussNewton(even=0.5)):
        with pytest.raises(pc.PcpinnError, match="not for joint losses"):
            wrong.start(loss, 0)


@pytest.mark.parametrize(
    ("unknowns", "message"),
    [
        ({"a": pc.Coefficient(known={"top": 1.0})}, "which is no boundary"),
        ({"a": pc.Coefficient(known={"left": lambda x: x[0] / 0})}, "not finite"),
        ({"a": pc.Coefficient(initial=2.0, low=1.0, known={"left": 0.5})}, "below its bound"),
        ({"b": pc.Coefficient()}, "cannot be built from b"),
    ],
)
def test_unknowns_that_do_not_fit_are_refused_and_nothing_is_written(tmp_path, unknowns, message):
    with pytest.raises(pc.PcpinnError, match=message):
        pc.infer(rod, rod_data(), unknowns, out=tmp_path / "run", **SMALL)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"warmup": -1}, "warmup=-1"),
        ({"equation_weight": 0.0}, "equation_weight=0"),
        ({"noise_level": -1.0}, "noise_level=-1"),
        ({"time": "march"}, "does not depend on time"),
        ({"optimiser": "lbfgs"}, "optimiser=lbfgs cannot be used here: the joint loss changes with P"),
        ({"optimiser": "soap"}, "optimiser=soap cannot be used here"),
        ({"certify": True}, "certify has no effect here"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes, message):
    with pytest.raises(pc.PcpinnError, match=message):
        pc.infer(rod, rod_data(), UNKNOWN, **{**SMALL, **changes})
