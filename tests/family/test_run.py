"""Families from training to queries, against direct solves that the training has not seen."""

import copy

import numpy as np
import pytest
import torch
from families import QUICK, SIDES, direct, line_family, true_error

import pcpinn as pc
from pcpinn.discretize.finite_elements import FiniteElements
from pcpinn.discretize.system import linear_system
from pcpinn.errors import AccuracyWarning
from pcpinn.family.estimate import QueryError
from pcpinn.family.judge import Judge
from pcpinn.family.run import FamilyRun, family_settings
from pcpinn.mesh.generate import generate_mesh
from pcpinn.solve.settings import resolve
from pcpinn.train import Snapshot
from pcpinn.train.history import History


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    family, folder = line_family(), tmp_path_factory.mktemp("runs") / "line"
    return family, pc.solve(family, accuracy=3e-2, out=folder, **QUICK), folder


def test_errors_are_as_estimated(trained):
    family, surrogate, _ = trained
    assert surrogate.verdict.reached
    mu = family.sample(20, seed=99)
    estimates = surrogate.estimate(mu)
    true = np.array([true_error(surrogate, family, m, (40,)) for m in mu])
    assert np.quantile(true, 0.9) < 3e-2
    assert ((estimates.total / true > 0.5) & (estimates.total / true < 2)).mean() >= 0.95
    parts = np.hypot(estimates.training, estimates.discretisation)
    assert (np.abs(parts - estimates.total) <= 0.5 * estimates.total).all()
    one = surrogate.estimate(mu[3])
    assert float(one) == pytest.approx(estimates.total[3], rel=1e-6)


def test_corrected_answers_are_discrete_solutions(trained, tmp_path):
    """Against a direct solve on the same mesh, and their estimate against one on a fine mesh."""
    family, surrogate, _ = trained
    for mu in family.sample(3, seed=8):
        solution = surrogate.corrected(mu)
        equation, u = direct(family.at(mu), QUICK["cells"], QUICK["degree"])
        v = np.reshape(solution(equation.nodes.points), (-1, 1))[equation.nodes.point_of, 0]
        assert equation.norm(v - u) < 1e-7 * equation.norm(u)
        fine, w = direct(family.at(mu), (40,))
        v = np.reshape(solution(fine.nodes.points), (-1, 1))[fine.nodes.point_of, 0]
        assert solution.errors["estimate"] == pytest.approx(fine.norm(v - w) / fine.norm(w), rel=0.3)
        assert solution.errors["training"] < 1e-7
        assert float(surrogate.estimate(mu)) > 10 * solution.errors["estimate"]
    with pytest.raises(pc.PcpinnError, match="rounds"):
        surrogate.corrected(mu, rounds=0)
    with pytest.raises(pc.PcpinnError, match=r"no network.*\n.*to_npz, to_vtu"):
        solution.save(tmp_path / "corrected")
    assert not (tmp_path / "corrected").exists()
    assert solution.to_npz(tmp_path / "values.npz").exists()


def test_one_set_of_parameters(trained):
    family, surrogate, _ = trained
    x = np.linspace(0, 1, 7)[:, None]
    mu = {"a": 0.3, "k": 2.0}
    solution = surrogate.at(mu)
    assert np.allclose(solution(x), surrogate(x, mu), atol=1e-13)
    assert solution.errors["estimate"] == pytest.approx(float(surrogate.estimate(mu)))
    mean = solution.integrate(lambda x, u: u.value)
    exact = surrogate.refine(mu, 1e-4)
    assert exact.verdict.reached
    assert exact.result["dofs"] == surrogate.result["dofs"]  # on the surrogate's own mesh
    assert float(mean) == pytest.approx(float(exact.integrate(lambda x, u: u.value)), rel=1e-3)
    assert true_error(lambda x, m: exact(x), family, family.vector(mu), (40,)) < 1e-4


def test_derivatives_by_place_and_parameters(trained):
    _, surrogate, _ = trained
    x = torch.tensor([[0.3], [0.8]], dtype=torch.float64, requires_grad=True)
    mu = torch.tensor([0.2, 1.5], dtype=torch.float64, requires_grad=True)
    by_x, by_mu = torch.autograd.grad(surrogate(x, mu).sum(), (x, mu))
    step = 1e-6
    for k in range(2):
        moved = torch.zeros(2, dtype=torch.float64)
        moved[k] = step
        with torch.no_grad():
            difference = (surrogate(x, mu + moved) - surrogate(x, mu - moved)).sum() / (2 * step)
        assert float(by_mu[k]) == pytest.approx(float(difference), rel=1e-6)
    with torch.no_grad():
        difference = (surrogate(x + step, mu) - surrogate(x - step, mu)) / (2 * step)
    assert torch.allclose(by_x[:, 0], difference, rtol=1e-6)


def test_points_and_parameters_go_together(trained):
    family, surrogate, _ = trained
    x, mu = np.array([[0.2], [0.7]]), family.sample(2).numpy()
    pairs = surrogate(x, mu)
    assert np.allclose(pairs, [surrogate(x[[i]], mu[i])[0] for i in range(2)])
    assert surrogate(x[:1], family.sample(5).numpy()).shape == (5,)
    for wrong in ((x, family.sample(3)), ([[0.1, 0.2]], mu[0]), (x, None), (x, {"a": 5.0, "k": 1.0})):
        with pytest.raises(pc.PcpinnError):
            surrogate(*wrong)


def test_what_is_wrong_between_nodes_is_refined_on_other_meshes(trained, monkeypatch):
    _, surrogate, _ = trained
    asked = []
    monkeypatch.setattr("pcpinn.family.surrogate.solve", lambda *args, **choices: asked.append(choices))
    for total in (1e-2, 5e-2):
        monkeypatch.setattr(type(surrogate), "estimate", lambda *_, total=total: QueryError(total, 1e-2, 1e-6, ""))
        surrogate.refine([0.0, 1.0], 1e-4)
    assert ["on" in choices for choices in asked] == [True, False]


def test_points_outside_are_told_once(trained):
    _, surrogate, _ = trained
    again = copy.copy(surrogate)
    again._warned = False
    with pytest.warns(pc.PcpinnWarning, match="1 of 2 points lie outside the domain"):
        again([[0.5], [1.5]], [0.0, 1.0])
    again([[1.5]], [0.0, 1.0])
    torch.func.vmap(lambda x: surrogate(x[None], torch.tensor([0.0, 1.0]))[0])(torch.rand(3, 1))


def test_queries_in_single_precision(trained):
    family, surrogate, _ = trained
    x, mu = np.linspace(0, 1, 50)[:, None], family.sample(2).numpy()
    values = surrogate(x, mu[0])
    by_torch = surrogate(torch.from_numpy(x), mu[0]).detach().numpy()
    assert np.allclose(values, by_torch, rtol=0, atol=1e-14 * abs(values).max())
    single = surrogate(x, mu[0], precision="float32")
    assert 0 < abs(single - values).max() < 1e-4 * abs(values).max()
    assert np.array_equal(surrogate(x, mu[0], precision="float64"), values)
    for wrong, words in (
        ((x, mu[0], None, "half"), "not a choice"),
        ((torch.from_numpy(x), mu[0], None, "float32"), "values alone"),
        ((x[:2], mu, None, "float32"), "one set of parameters"),
    ):
        with pytest.raises(pc.PcpinnError, match=words):
            surrogate(*wrong)


def test_back_from_disk(trained, tmp_path):
    family, surrogate, folder = trained
    for place in (folder, surrogate.save(tmp_path / "again")):
        loaded = pc.load(place)
        x, mu = np.array([[0.2], [0.7]]), [0.5, 3.0]
        assert np.array_equal(loaded(x, mu), surrogate(x, mu))
        assert np.allclose(loaded.at(mu)(x), surrogate(x, mu), atol=1e-13)
        with pytest.raises(pc.PcpinnError, match="does not know its equations"):
            loaded.estimate(mu)
        assert float(loaded.estimate(mu, family)) == pytest.approx(float(surrogate.estimate(mu)), rel=1e-6)
        with pytest.raises(pc.PcpinnError, match="other parameters"):
            loaded.estimate(mu, pc.Family(family.make, a=pc.Range(-2, 1), k=pc.Range(0.1, 10, log=True)))
        with pytest.raises(pc.PcpinnError, match="outside of"):
            loaded(x, [0.5, 30.0])


def cubic(a):
    return pc.Problem(
        pc.Interval(0, 1),
        flux=lambda x, u: (1 + a * u.value**2) * u.grad,
        source=lambda x, u: a * u.value**3 - 10.0,
        boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)},
    )


@pytest.mark.parametrize("family", [line_family(), pc.Family(cubic, a=pc.Range(0, 4))], ids=["linear", "nonlinear"])
def test_resumed_training_is_the_same(family, tmp_path):
    choices = {**QUICK, "accuracy": None}
    whole = pc.solve(family, **choices, iterations=24)
    begun = 13 if len(family.named) == 2 else 20  # of the nonlinear one after its anchors were chosen anew
    pc.solve(family, **choices, iterations=begun, out=tmp_path / "run")
    resumed = pc.solve(family, **choices, iterations=24, out=tmp_path / "run", resume=True)
    assert torch.equal(whole.network.theta, resumed.network.theta)
    assert whole.result["family"]["fresh_errors"] == resumed.result["family"]["fresh_errors"]


def test_anchors_of_a_nonlinear_family_are_chosen_where_it_is_linearised():
    """The linear part is the same for all parameters, so that one anchor serves it; the derivative at solutions is not."""

    def make(a):
        return pc.Problem(
            pc.Interval(0, 1),
            flux=lambda x, u: (1 + torch.exp(a) * u.value**2) * u.grad,
            source=lambda x, u: -8.0,
            boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)},
        )

    family = pc.Family(make, a=pc.Range(-2, 6))
    choices = {**QUICK, "accuracy": None, "krylov_steps": 2, "anchor_target": 1e-2}
    before, after = (len(pc.solve(family, **choices, iterations=n).anchors) for n in (10, 20))
    assert before == 1
    assert after > 1


def test_outputs_have_the_size_of_solutions_away_from_the_middle():
    """In the middle of the ranges the source is zero, and says nothing of the size of solutions."""
    family = pc.Family(
        lambda f: pc.Problem(
            pc.Interval(0, 1),
            flux=lambda x, u: u.grad,
            source=lambda x, u: -1e-4 * f,
            boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)},
        ),
        f=pc.Range(-1, 1),
    )
    surrogate = pc.solve(family, **QUICK, accuracy=None, iterations=1)
    assert 1e-7 < float(surrogate.network.output_scale) < 1e-4


def test_a_wave_has_its_rate_beside_it():
    """Initial(rate=) in a family: u = cos(pi c t) sin(pi x)."""
    family = pc.Family(
        lambda c: pc.Problem(
            pc.Interval(0, 1).over(0, 0.5),
            density=lambda x, u: u.dt,
            flux=lambda x, u: c**2 * u.grad,
            boundary={
                "left": pc.Dirichlet(0.0),
                "right": pc.Dirichlet(0.0),
                "initial": pc.Initial(lambda x: torch.sin(torch.pi * x[0]), rate=0.0),
            },
        ),
        c=pc.Range(1, 2),
    )
    sizes = {**QUICK, "cells": (5,), "steps": 5, "order": 2, "samples": 8}
    surrogate = pc.solve(family, **sizes, accuracy=0.1, iterations=60)
    assert surrogate.verdict.reached
    x = np.random.default_rng(0).random((50, 2)) * [1, 0.5]
    for c in (1.1, 1.8):
        exact = np.cos(np.pi * c * x[:, 1]) * np.sin(np.pi * x[:, 0])
        assert np.linalg.norm(surrogate(x, [c], field="u") - exact) < 0.15 * np.linalg.norm(exact)
    assert [f.name for f in surrogate.fields] == ["u", "u_rate"]


def test_accuracy_that_is_not_reached_is_said():
    with pytest.warns(AccuracyWarning, match="NOT REACHED"):
        surrogate = pc.solve(line_family(), accuracy=1e-5, **QUICK, iterations=5)
    assert surrogate.verdict.limited_by == "iterations"
    assert (
        surrogate.verdict.advice == "allow more iterations (iterations=10)"
    )  # more than there were, whatever takes them
    assert surrogate.verdict.estimate > 1e-5


def test_the_time_limit_is_that_of_set_up_training_and_judgement():
    """What is not training counts: set-up, looks between rounds, and what the judgement is going to take."""
    run = FamilyRun(line_family(), family_settings(line_family(), {**QUICK, "validation": 30, "time_limit": 100.0}, {}))

    class Slow:
        calls = 0

        def errors(self, z):
            self.calls += 1
            run.own.clock.add(7.0 if self.calls == 1 else 0.5)

    judge = Judge(run)
    judge.estimator = Slow()
    assert judge.predicted() == pytest.approx(0.5 / 2 * 30, abs=0.1)
    run.own.clock.add(30.0)
    before = run.own.clock.seconds
    assert run._time_limit(None, 10.0) == pytest.approx(90 - before, abs=0.1)
    trained = Snapshot(1, 20.0, torch.zeros(0), {}, History())
    assert run._time_limit(trained, 10.0) == pytest.approx(110 - before, abs=0.1)
    endless = FamilyRun(line_family(), family_settings(line_family(), {**QUICK, "accuracy": None}, {}))
    assert (Judge(endless).predicted(), endless._time_limit(None, 0.0)) == (0.0, np.inf)


def test_networks_grow_where_they_limit(monkeypatch, tmp_path):
    """Nothing is gained with four units: the network grows, with the same function; stopped and resumed it is the same."""
    from pcpinn.family import run, set_up

    monkeypatch.setattr(set_up, "_WIDTHS", (4, 8))
    small = pc.MLP(width=4, depth=1, features="none")
    choices = {k: v for k, v in QUICK.items() if k not in ("width", "depth")} | {"accuracy": 1e-4}
    monkeypatch.setattr(Judge, "look", lambda self, done: "stagnation" if done == 20 else "iterations")
    widths = []

    def solved(iterations, **options):
        with pytest.warns(AccuracyWarning):
            found = pc.solve(line_family(), **choices, iterations=iterations, **options)
        widths.append(found.network.architecture.width)
        return found

    monkeypatch.setattr(run, "resolve", lambda *a: resolve(*a).with_recipe("network", small))
    whole = solved(40)
    solved(30, out=tmp_path / "run")
    resumed = solved(40, out=tmp_path / "run", resume=True)
    assert widths == [8, 8, 8]
    assert torch.equal(whole.network.theta, resumed.network.theta)
    fresh = whole.result["family"]["fresh_errors"]
    assert abs(np.mean(fresh[20:22]) / np.mean(fresh[18:20]) - 1) < 0.5  # no jump where it grows
    assert pc.load(tmp_path / "run").at([0.0, 1.0]).network.architecture.width == 8


def test_coarse_meshes_are_blamed():
    choices = {**QUICK, "cells": (2,), "degree": 1}
    surrogate = pc.solve(line_family(), accuracy=1e-2, **choices, iterations=40)
    assert surrogate.verdict.reached is False
    assert surrogate.verdict.limited_by == "mesh"


def test_mesh_is_chosen_for_the_accuracy():
    choices = {k: v for k, v in QUICK.items() if k not in ("cells", "degree")}
    surrogate = pc.solve(line_family(), accuracy=3e-2, **choices, iterations=5)
    assert surrogate.result["family"]["errors"]["discretisation"]["worst"] < 0.3 * 3e-2


def test_nonlinear_family():
    family = pc.Family(cubic, a=pc.Range(0, 4))
    surrogate = pc.solve(family, accuracy=2e-2, **QUICK)
    assert surrogate.verdict.reached
    for mu in family.sample(4, seed=7):
        assert true_error(surrogate, family, mu, (40,)) < 2e-2
    equation, u = direct(family.at(mu), QUICK["cells"], QUICK["degree"])
    off = []
    for rounds in (1, 2):  # steps of Newton's method
        v = surrogate.corrected(mu, rounds)(equation.nodes.points)
        off.append(equation.norm(np.reshape(v, (-1, 1))[equation.nodes.point_of, 0] - u) / equation.norm(u))
    assert off[0] < 1e-3
    assert off[1] < 0.1 * off[0]


def test_function_by_trunk_and_branch():
    def modes(x):
        return torch.stack([torch.sin((k + 1) * torch.pi * x[0]) / (k + 1) for k in range(3)])

    def make(f):
        return pc.Problem(
            pc.Interval(0, 1),
            flux=lambda x, u: u.grad,
            source=lambda x, u: -4 - f(x),
            boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)},
        )

    family = pc.Family(make, f=pc.Basis(modes, pc.Normal(0, 1, count=3)))
    sizes = {k: QUICK[k] for k in ("cells", "degree", "samples", "validation", "device")}
    surrogate = pc.solve(
        family, accuracy=5e-2, **sizes, network=pc.TrunkBranch(width=8, depth=2, features="none", branch_width=8)
    )
    assert surrogate.verdict.reached
    for mu in family.sample(4, seed=7):
        assert true_error(surrogate, family, mu, (40,)) < 5e-2
        x = np.linspace(0, 1, 5)[:, None]
        assert np.allclose(surrogate.at(mu)(x), surrogate(x, mu.numpy()), atol=1e-12)


def test_the_network_fits_the_parameters():
    def make(c):
        return pc.Problem(
            pc.Interval(0, 1),
            flux=lambda x, u: u.grad,
            source=lambda x, u: -c.sum(),
            boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)},
        )

    few = {"cells": (4,), "samples": 8, "validation": 4, "iterations": 1, "accuracy": None, "device": "cpu"}
    for count, kind in ((2, "mlp"), (12, "trunk-branch")):
        surrogate = pc.solve(pc.Family(make, c=pc.Range(1, 2, count=count)), **few)
        facts = surrogate.result["family"]["network"]
        assert facts["kind"] == kind
        assert f"{count} parameters" in facts["why"]


@pytest.mark.parametrize("time", ["slabs", "simplex"])
def test_heat_all_at_once(time):
    def make(k):
        return pc.Problem(
            pc.Interval(0, 1).over(0, 0.2),
            density=lambda x, u: u.value,
            flux=lambda x, u: k * u.grad,
            boundary={
                "left": pc.Dirichlet(0.0),
                "right": pc.Dirichlet(0.0),
                "initial": pc.Initial(lambda x: torch.sin(torch.pi * x[0])),
            },
        )

    family = pc.Family(make, k=pc.Range(0.2, 1.0))
    sizes = {k: QUICK[k] for k in QUICK if k != "cells"}
    surrogate = pc.solve(family, accuracy=3e-2, time=time, size=0.2, steps=3, **sizes)
    assert surrogate.verdict.reached
    x = np.array([[0.5, 0.1], [0.3, 0.2]])
    exact = np.sin(np.pi * x[:, 0]) * np.exp(-0.5 * np.pi**2 * x[:, 1])
    assert surrogate(x, 0.5) == pytest.approx(exact, rel=5e-2)


def test_function_by_sensors():
    def make(c):
        return pc.Problem(
            pc.Interval(0, 1),
            flux=lambda x, u: torch.exp(c(x)) * u.grad,
            source=lambda x, u: -1.0,
            boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)},
        )

    family = pc.Family(make, c=pc.Sensors([[0.2], [0.8]], pc.Range(-1, 1, count=2)))
    surrogate = pc.solve(family, accuracy=3e-2, **QUICK)
    assert surrogate.verdict.reached
    for mu in family.sample(3, seed=7):
        assert true_error(surrogate, family, mu, (40,)) < 3e-2


def test_shape_against_the_shape_itself():
    """A square that a parameter shears: the network of reference places against a direct solve on the parallelogram."""

    def make(s):
        square = pc.Problem(
            pc.Rectangle((0, 0), (1, 1)),
            flux=lambda x, u: u.grad,
            source=lambda x, u: -1.0 - x[0],
            boundary={n: pc.Dirichlet(0.0) for n in SIDES},
        )
        return pc.mapped(square, lambda X: torch.stack([X[0] + s * X[1], X[1]]))

    family = pc.Family(make, s=pc.Range(-0.5, 0.5))
    surrogate = pc.solve(family, accuracy=5e-2, **{**QUICK, "cells": (4, 4), "samples": 12})
    assert surrogate.verdict.reached
    s, X = 0.3, np.array([[0.4, 0.5], [0.7, 0.2]])
    places = surrogate.place(X, s)
    assert np.allclose(places, X + np.array([[0.15, 0], [0.06, 0]]))
    domain = pc.Polygon([(0, 0), (1, 0), (1.3, 1), (0.3, 1)])
    mesh = generate_mesh(domain, size=0.1)
    walls = {name: pc.Dirichlet(0.0) for name in mesh.boundary_names}
    problem = pc.Problem(domain, flux=lambda x, u: u.grad, source=lambda x, u: -1.0 - x[0], boundary=walls)
    form = FiniteElements(problem, mesh, 2)
    values = form.interpolate(linear_system(form).solution, places)[:, 0]
    assert surrogate(X, s) == pytest.approx(values, rel=7e-2)


def test_fields_of_other_sizes_count_alike():
    """Two equations of one unit each, one of them a thousand times smaller: its relative error is seen and trained."""

    def make(a):
        return pc.Problem(
            pc.Interval(0, 1),
            flux=lambda x, u, w: (u.grad, w.grad),
            source=lambda x, u, w: (-a, -1e-3 * u.value - 1e-3),
            fields=["u", "w"],
            boundary={n: {f: pc.Dirichlet(0.0) for f in "uw"} for n in ("left", "right")},
        )

    family = pc.Family(make, a=pc.Range(1, 4))
    surrogate = pc.solve(family, accuracy=3e-2, **QUICK)
    assert surrogate.verdict.reached
    for mu in family.sample(3, seed=5):
        equation, u = direct(family.at(mu), (40,))
        at = equation.nodes
        v = surrogate(at.points, mu.numpy())[at.point_of, at.component_of]
        for k in range(2):
            own = at.component_of == k
            assert np.linalg.norm((v - u)[own]) < 3e-2 * np.linalg.norm(u[own])
