"""Hard conditions: exact on the boundary whatever the weights are, stored as numbers, refused where they cannot be."""

import numpy as np
import pytest
import torch
from cases import BOXES, general, grid

import pcpinn as pc
from pcpinn import Dirichlet, Disk, Initial, Interval, Neumann, PcpinnError, Pin, Polygon, Problem, Rectangle
from pcpinn.baselines import solve_pinn
from pcpinn.baselines.pinn import StrongLoss
from pcpinn.catalog import find_entry
from pcpinn.catalog.task import catalog_task
from pcpinn.discretize.finite_elements import FiniteElements
from pcpinn.discretize.pointwise import dirichlet_values
from pcpinn.discretize.system import linear_system
from pcpinn.files import read_tensors, write_tensors
from pcpinn.mesh.generate import generate_mesh
from pcpinn.mesh.mesh import Mesh
from pcpinn.mesh.points import boundary_points, interior_points
from pcpinn.network import Architecture, DenseNetwork
from pcpinn.solution.folder import read_network, write_network
from pcpinn.strong.form import strong_residual
from pcpinn.strong.hard import make_ansatz
from pcpinn.train import LeastSquares

SMALL = {"width": 12, "depth": 2, "features": "none", "optimiser": "adam", "device": "cpu", "certify": False}


def laplace(domain, boundary, **more):
    return Problem(domain, flux=lambda x, u: u.grad, source=lambda x, u: -1.0, boundary=boundary, **more)


def network_for(problem, mesh, seed=0):
    lower, upper = mesh.bounds
    generator = torch.Generator().manual_seed(seed)
    network = DenseNetwork(Architecture(8, 2), lower.tolist(), upper.tolist(), problem.components, generator)
    network.ansatz = make_ansatz(problem, mesh)
    return network


def worst(problem, mesh, evaluate):
    """Largest mismatch of the prescribed values at random boundary points of straight sides and at nodes of curved ones."""
    random, result = np.random.default_rng(1), 0.0
    for name in mesh.boundary_names:
        first = 0
        nodes = mesh.nodes[np.unique(mesh.boundaries[name])]
        x = nodes if has_disk(problem.domain) else boundary_points(mesh, name, 0.02, random).x
        for f in problem.unknowns:
            condition = problem.conditions.get(name, {}).get(f.name)
            if isinstance(condition, Dirichlet):
                for k, value in enumerate(dirichlet_values(condition, f, torch.from_numpy(x), name, problem.over_time)):
                    if value is not None:
                        result = max(result, float(np.abs(evaluate(x)[:, first + k] - value.numpy()).max()))
            first += f.components
    return result


def has_disk(domain):
    return any(isinstance(part, Disk) for part in getattr(domain, "shape", domain).primitives)


def values_of(network):
    return lambda x: network(torch.as_tensor(x)).detach().numpy()


def bump(x):
    return torch.sin(torch.pi * x[0]) * torch.exp(x[0])


PLATE = Rectangle((-1, -1), (1, 1), name="outer")
CASES = {
    "poisson1d": lambda: find_entry("poisson1d").problem(P=1.0),
    "two ends": lambda: laplace(Interval(0, 1), {"left": Dirichlet(2.0), "right": Dirichlet(-1.0)}),
    "wave1d-c": lambda: find_entry("wave1d-c").problem(closed=0.0),
    "poisson2d-c": lambda: find_entry("poisson2d-c").problem(),
    "one formula on all sides": lambda: general(2).problem(
        dict.fromkeys(BOXES[2].boundary_names, Dirichlet(general(2).exact[0]))
    ),
    "three dimensions": lambda: general(3).problem(
        {**dict.fromkeys(BOXES[3].boundary_names, Dirichlet(general(3).exact[0])), "top": Neumann(0.0)}
    ),
    "function on a hole": lambda: laplace(
        PLATE - Disk((0.2, 0.1), 0.4, name="hole"),
        {"outer": Dirichlet(lambda x: x[0] * x[1]), "hole": Dirichlet(torch.sum)},
    ),
    "heat around a hole": lambda: laplace(
        (PLATE - Disk((0.2, 0.1), 0.4, name="hole")).over(0, 1),
        {"outer": Dirichlet(lambda x, t: t), "hole": Dirichlet(lambda x, t: t), "initial": Initial(0.0)},
        density=lambda x, u: u.value,
    ),
    "convex polygon": lambda: laplace(
        Polygon([(0, 0), (2, 0), (1, 1), (0, 1)], names=["a", "b", "c", "d"]),
        {"a": Dirichlet(lambda x: x[0]), "b": Neumann(0.0), "c": Neumann(1.0), "d": Dirichlet(0.0)},
    ),
    "a vector": lambda: Problem(
        Rectangle((0, 0), (1, 1)),
        flux=lambda x, u: u.grad,
        fields=pc.Field("u", components=2),
        boundary={
            "left": Dirichlet([lambda x: bump(x[1:]), None]),
            "right": Dirichlet([0.0, None]),
            "bottom": Neumann(0.0),
            "top": Neumann(0.0),
        },
    ),
}


def mesh_for(problem):
    d, timed = problem.domain.dimension, hasattr(problem.domain, "shape")
    if has_disk(problem.domain):
        return generate_mesh(problem.domain, size=0.3, curved=d == 2, steps=2 if timed else None)
    if isinstance(problem.domain, Polygon):
        return generate_mesh(problem.domain, size=0.4)
    return generate_mesh(problem.domain, cells=(4,) * (d - timed), steps=5 if timed else None)


@pytest.mark.parametrize("name", CASES)
def test_values_are_exact_for_any_weights(name):
    problem = CASES[name]()
    mesh = mesh_for(problem)
    for seed in (0, 1):
        assert worst(problem, mesh, values_of(network_for(problem, mesh, seed))) < 1e-8


@pytest.mark.parametrize("name", CASES)
def test_inside_the_network_is_free(name):
    """Two networks differ by an amount of order one wherever nothing is prescribed."""
    problem = CASES[name]()
    mesh = mesh_for(problem)
    centres = torch.from_numpy(mesh.nodes[mesh.vertices].mean(axis=1))
    with torch.no_grad():
        bare, held = (network_for(problem, mesh), network_for(problem, mesh))
        bare.ansatz = None
        change = held.theta + 0.3 * torch.randn(len(held.theta), generator=torch.Generator().manual_seed(3)).double()
        moved = held.evaluate(change, centres) - held(centres)
        free = bare.evaluate(change, centres) - bare(centres)
    ratio = (moved / free).abs()
    assert ratio.max() < 5
    assert ratio.median() > 0.02
    assert (ratio > 1e-4).all()


def test_a_true_circle_not_its_mesh():
    problem = CASES["poisson2d-c"]()
    mesh = generate_mesh(problem.domain, size=0.2, curved=False)
    angle = np.linspace(0, 2 * np.pi, 50)
    x = np.stack([0.3 + 0.1 * np.cos(angle), -0.3 + 0.1 * np.sin(angle)], axis=1)
    assert np.abs(values_of(network_for(problem, mesh))(x)).max() < 1e-12


def test_derivatives_of_the_ansatz_are_smooth():
    """Second derivatives against finite differences, near a corner too."""
    for name in ("wave1d-c", "poisson2d-c"):
        problem = CASES[name]()
        mesh = mesh_for(problem)
        network = network_for(problem, mesh)
        x = torch.from_numpy(mesh.nodes[mesh.vertices].mean(axis=1))[:20]
        corner = torch.from_numpy(mesh.bounds[0]) + 1e-3
        x = torch.cat([x, corner[None]])
        hessian = torch.func.vmap(torch.func.hessian(lambda p, n=network: n(p)[0]))(x).detach()
        h = 1e-4
        for i, e in enumerate(torch.eye(2, dtype=torch.float64)):
            second = (network(x + h * e) - 2 * network(x) + network(x - h * e))[:, 0].detach() / h**2
            torch.testing.assert_close(hessian[:, i, i], second, rtol=1e-3, atol=1e-3 * float(hessian.abs().max()))


@pytest.mark.parametrize("name", ["wave1d-c", "poisson2d-c", "three dimensions", "a vector"])
def test_taylor_polynomials_give_the_same_strong_residual(name):
    problem = CASES[name]()
    mesh = mesh_for(problem)
    network = network_for(problem, mesh)
    x = torch.from_numpy(interior_points(mesh, 30, np.random.default_rng(2)))
    loss = StrongLoss(network, problem, x, [], 1.0)
    expected = strong_residual(loss.pointwise, network, x) * 30**-0.5
    torch.testing.assert_close(loss.residual(), expected.reshape(-1), rtol=1e-9, atol=1e-10)


LSHAPE = Polygon(
    [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)], names=["bottom", "right", "step", "step", "top", "left"]
)
REFUSED = {
    "continued, cuts through": laplace(LSHAPE, dict.fromkeys(LSHAPE.boundary_names, Dirichlet(0.0))),
    "neither one's values continue": laplace(
        Rectangle((0, 0), (1, 1)), {"left": Dirichlet(1.0), "bottom": Dirichlet(0.0), "top": Neumann(), "right": Neumann()}
    ),
    "cannot stand for": laplace(Interval(0, 1).over(0, 1), {
        "left": Neumann(), "right": Neumann(), "initial": Initial(lambda x: (x[0] - 0.4).abs())
    }),
    "inside the domain's box, too": laplace(Interval(0, 1).over(0, 1), {
        "left": Neumann(), "right": Neumann(), "initial": Initial(lambda x, t: torch.sqrt(-t + 1e-9))
    }),
    "lie on one line or plane": laplace(
        Polygon([(0, 0), (1, 0), (2, 0), (2, 1), (0, 1)], names=["a", "b", "c", "d", "e"]),
        {**dict.fromkeys("bcde", Neumann()), "a": Dirichlet(0.0)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("message", REFUSED)
def test_what_cannot_be_held_is_refused(message):
    problem = REFUSED[message]
    mesh = mesh_for(problem)
    with pytest.raises(PcpinnError, match=message) as refused:
        make_ansatz(problem, mesh)
    assert "hard=false" in refused.value.remedy


def test_a_mesh_without_shapes_is_refused_before_anything_is_written(tmp_path):
    mesh = grid(BOXES[2], 3)
    problem = laplace(mesh, dict.fromkeys(mesh.boundary_names, Dirichlet(0.0)))
    assert isinstance(problem.domain, Mesh)
    with pytest.raises(PcpinnError, match="made of shapes"):
        solve_pinn(problem, hard=True, out=tmp_path / "run", **SMALL)
    assert not (tmp_path / "run").exists()


def test_nothing_to_hold():
    problem = laplace(BOXES[2], dict.fromkeys(BOXES[2].boundary_names, Neumann(0.0)), pins=[Pin((0.0, 0.0))])
    assert make_ansatz(problem, grid(BOXES[2], 2)) is None


def test_only_values_on_boundaries_leave_the_loss():
    """Pins, rates and fluxes stay penalties."""
    problem = Problem(
        Interval(0, 1).over(0, 1),
        density=lambda x, u: u.dt,
        flux=lambda x, u: u.grad,
        boundary={"left": Dirichlet(0.0), "right": Neumann(1.0), "initial": Initial(bump, rate=1.0)},
        pins=[Pin((1,))],
    )
    counts = {}
    for conditions in ("soft", "hard"):
        choices = {"cells": (4,), "steps": 8, "degree": 1, "iterations": 1, "collocation": 100, **SMALL}
        solution = solve_pinn(problem, hard=conditions == "hard", **choices)
        counts[conditions] = solution.result["preconditioner"]["conditions"]
    assert counts == {"soft": 10 + 10 + 10 + 10 + 11, "hard": 10 + 10 + 11}


@pytest.fixture(scope="module")
def poisson1d():
    changes = {**SMALL, "collocation": 60, "iterations": 250, "learning_rate": 0.01}
    return catalog_task("poisson1d", "quick", changes, method="pinn")


@pytest.fixture(scope="module")
def errors(poisson1d):
    """By optimiser and conditions."""
    budgets = {"lbfgs": {"iterations": 60}, "soap": {"iterations": 120, "beta1": 0.9, "beta2": 0.99}}
    return {
        (optimiser, conditions): solve_pinn(
            poisson1d.problem,
            poisson1d.settings,
            reference=poisson1d.reference,
            optimiser=optimiser,
            **own,
            hard=conditions == "hard",
        ).errors["l2re"]
        for optimiser, own in budgets.items()
        for conditions in ("soft", "hard")
    }


@pytest.mark.parametrize(("optimiser", "bound"), [("lbfgs", 8e-2), ("soap", 6e-2)])
@pytest.mark.parametrize("conditions", ["soft", "hard"])
def test_other_optimisers_train_a_pinn(errors, optimiser, bound, conditions):
    assert errors[optimiser, conditions] < bound


def test_hard_beats_soft_with_the_same_budget(errors):
    assert errors["lbfgs", "hard"] < 0.2 * errors["lbfgs", "soft"]


def test_record_load_and_resume(tmp_path):
    changes = {**SMALL, "collocation": 40, "hard": True, "degree": 1, "iterations": 9}
    task = catalog_task("wave1d-c", "quick", changes, method="pinn")
    whole = task.run()
    short = task.settings.updated({"iterations": 4})
    solve_pinn(task.problem, short, out=tmp_path / "run")
    resumed = solve_pinn(task.problem, task.settings, out=tmp_path / "run", resume=True)
    x = task.reference.points[::7]
    np.testing.assert_array_equal(resumed(x), whole(x))
    loaded = pc.load(tmp_path / "run")
    np.testing.assert_array_equal(loaded(x), whole(x))
    assert loaded.network.ansatz is not None
    edge = np.stack([np.linspace(0, 1, 33), np.zeros(33)], axis=1)
    np.testing.assert_allclose(
        loaded(edge), np.sin(np.pi * edge[:, 0]) + 0.5 * np.sin(4 * np.pi * edge[:, 0]), atol=1e-8
    )
    assert loaded.to_npz(tmp_path / "s.npz").exists()


@pytest.fixture
def stored(tmp_path):
    problem = CASES["poisson2d-c"]()
    network = network_for(problem, mesh_for(problem))
    write_network(tmp_path / "n.safetensors", network)
    return network, tmp_path / "n.safetensors"


def test_single_precision_is_stored_as_it_is(stored, tmp_path):
    network, path = stored
    write_network(path, network.float())
    again = read_network(path)
    x = torch.rand(10, 2) - 0.5
    assert again(x).dtype == torch.float32
    assert torch.equal(again(x), network(x))


BROKEN = {
    "ansatz.members": lambda a: a[:, :-1],
    "ansatz.component": lambda a: a + 5,
    "ansatz.linear": lambda a: a[:1],
    "ansatz.width": lambda a: a * 0,
    "ansatz.upper": lambda a: a * np.nan,
    "ansatz.coefficients0": lambda a: a[0],
    "ansatz.quadratic": None,
}


@pytest.mark.parametrize("key", BROKEN)
def test_broken_files_are_refused(stored, key):
    _, path = stored
    tensors, metadata = read_tensors(path)
    tensors = {k: np.array(v) for k, v in tensors.items()}
    if BROKEN[key] is None:
        del tensors[key]
    else:
        tensors[key] = BROKEN[key](tensors[key])
    write_tensors(path, tensors, metadata)
    with pytest.raises(PcpinnError, match="does not hold a network"):
        read_network(path)


def test_the_preconditioned_loss_refuses_an_ansatz():
    case = general(2)
    problem = case.problem(dict.fromkeys(BOXES[2].boundary_names, Dirichlet(case.exact[0])))
    system = linear_system(FiniteElements(problem, grid(BOXES[2], 3)))
    with pytest.raises(PcpinnError, match="hard conditions"):
        LeastSquares(network_for(problem, grid(BOXES[2], 3)), system.nodes, None)
