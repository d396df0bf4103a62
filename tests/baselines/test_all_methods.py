"""Every method on the strong form: on all problems of the catalog, on a user's file, interrupted and resumed."""

import numpy as np
import pytest
import torch

from pcpinn import load
from pcpinn.catalog import CATALOG
from pcpinn.catalog.task import catalog_task, find_task
from pcpinn.discretize.discrete_equation import DiscreteEquation
from pcpinn.solve.method import METHODS
from pcpinn.solve.without_system import mesh_for_points

STRONG = (
    *("pinn", "pinn-w", "lra", "ntk", "rar", "multiadam", "gpinn", "vpinn", "laaf", "gaaf", "fbpinn", "pinn-lbfgs"),
    "random-features",
)
# Small sizes, and every piece has its turn within the few iterations.
OWN = {
    "lra": {"every": 2},
    "ntk": {"every": 2, "probes": 2},
    "rar": {"every": 2, "candidates": 10, "added": 3},
    "vpinn": {"tests": 2},
    "random-features": {"waves": 6},
}


def changes_for(method, **more):
    size = {} if method == "random-features" else {"width": 4, "depth": 1}
    return (
        {"iterations": 2, "collocation": 24, "boundary_points": 12, "device": "cpu"} | size | OWN.get(method, {}) | more
    )


@pytest.mark.parametrize("problem", [entry.name for entry in CATALOG])
def test_all_problems_of_the_catalog(problem, monkeypatch):
    monkeypatch.setattr(DiscreteEquation, "__init__", None)  # no system is assembled
    mesh = None
    for method in STRONG:
        task = catalog_task(problem, "pinnacle-quick", changes_for(method), reference=False, method=method)
        mesh = mesh or mesh_for_points(task.problem, task.settings)
        solution = METHODS.find(method).solver(task.problem, task.settings, on=mesh)
        assert np.isfinite(solution.history.losses).all()
        assert torch.isfinite(solution.network.theta).all()
        assert solution.result["preconditioner"]["name"] == method


@pytest.mark.parametrize("problem", ["ks", "gs", "wave2d-cg", "burgers2d-c"])
def test_presets_that_march_are_solved_at_once(problem):
    task = catalog_task(problem, "quick", changes_for("pinn"), reference=False, method="pinn")
    assert task.settings.time.name == "simplex"
    assert task.settings.network.features == "log"
    assert np.isfinite(task.run().history.losses).all()


FILE = """
import torch, pcpinn as pc
problem = pc.Problem(pc.Disk((0, 0), 1.0, name="rim"), flux=lambda x, u: u.grad,
                     source=lambda x, u: u.value**3 - 4.0, boundary={"rim": pc.Dirichlet(0.0)})
"""


@pytest.mark.parametrize("method", STRONG)
def test_a_users_file(method, tmp_path):
    (tmp_path / "mine.py").write_text(FILE)
    solution = find_task(str(tmp_path / "mine.py"), "pinnacle-quick", changes_for(method, size=0.5), method).run()
    assert np.isfinite(solution.history.losses).all()


@pytest.mark.parametrize("method", STRONG)
def test_resumed_is_uninterrupted(method, tmp_path):
    """Stopped after an odd number of iterations, and after one at which weights and points change."""
    for first in (3, 4):
        changes = changes_for(method, cells=6, patience=0, precision="float64")
        task = catalog_task("wave1d", "pinnacle-quick", changes, reference=False, method=method)
        mesh = mesh_for_points(task.problem, task.settings)
        solve = METHODS.find(method).solver
        whole = solve(task.problem, task.settings.updated({"iterations": 7}), on=mesh)
        folder = tmp_path / f"after{first}"
        solve(task.problem, task.settings.updated({"iterations": first}), on=mesh, out=folder)
        resumed = solve(task.problem, task.settings.updated({"iterations": 7}), out=folder, resume=True)
        assert torch.equal(resumed.network.theta, whole.network.theta)
        assert resumed.history.losses.tolist() == whole.history.losses.tolist()
        assert resumed.result["preconditioner"] == whole.result["preconditioner"]
        assert torch.equal(load(folder).network.theta, whole.network.theta)


def test_the_published_settings():
    settings = catalog_task("poisson2d-c", "pinnacle", {}, reference=False, method="lra").settings
    network, adam, loss = settings.network, settings.optimiser, settings.loss
    assert (network.width, network.depth, network.activation, network.features) == (100, 5, "tanh", "none")
    assert (adam.name, adam.learning_rate, adam.iterations) == ("adam", 1e-3, 20_000)
    assert (loss.collocation, loss.boundary_points) == (8192, 2048)
    assert (
        catalog_task("poisson2d-c", "pinnacle", {}, reference=False, method="pinn-w").settings.loss.boundary_weight
        == 100
    )
