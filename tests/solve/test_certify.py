"""The error estimate without a reference, against the error that a reference shows."""

from dataclasses import replace
from functools import cache
from importlib import import_module

import numpy as np
import pytest
import torch
from small import line, quick, two_fields

from pcpinn import Dirichlet, Disk, Interval, Meshing, Problem, Progress, Reference, certify, load, solve
from pcpinn.catalog.task import catalog_task
from pcpinn.errors import PcpinnError
from pcpinn.mesh.generate import generate_mesh
from pcpinn.solve.afford import AFFORDABLE


@cache
def reference(name):
    return catalog_task(name, "quick", {}).reference


def solved(name, **changes):
    task = catalog_task(name, "quick", {"device": "cpu", **changes}, reference=False)
    return replace(task, reference=reference(name)).run()


def ratio(solution):
    """Estimate over error. A bound is not said to be known: nobody has proven one."""
    errors, certificate = solution.errors, solution.result["certificate"]
    assert errors["estimate"] == certificate["estimate"]
    assert "bound" not in errors
    assert "bound" not in certificate
    return errors["estimate"] / errors["l2re"]


SMALL = {
    "poisson1d": {"width": 8, "cells": 12},
    "poisson2d-c": {"size": 0.1, "width": 10},
    "poisson2d-cg": {"degree": 2, "width": 12},
    "wave1d-c": {"width": 12, "steps": 30},
}


@pytest.mark.parametrize("name", SMALL)
def test_a_badly_trained_network(name):
    """Two iterations: nearly all of the error is the network's."""
    solution = solved(name, **SMALL[name], iterations=2)
    assert solution.errors["training"] > 10 * solution.errors["discretisation"]
    assert 0.5 < ratio(solution) < 2


@pytest.mark.parametrize("name", SMALL)
def test_a_well_trained_network(name):
    """Training and discretisation are of one size, or nearly."""
    solution = solved(name, **SMALL[name], iterations=20)
    assert solution.errors["l2re"] < 0.05
    assert solution.errors["training"] < 20 * solution.errors["discretisation"]
    assert 0.5 < ratio(solution) < 2


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("poisson1d", {"degree": 1, "cells": 10}),
        ("poisson1d", {"degree": 2, "cells": 6}),
        ("poisson1d", {"degree": 4, "cells": 4}),  # the highest degree: compared with cells of half the size
        ("poisson2d-c", {"degree": 1}),
        ("poisson2d-c", {"degree": 1, "curved": "false"}),
        ("poisson2d-cg", {"degree": 1, "width": 20}),
        ("wave1d-c", {"degree": 2, "steps": 20}),
    ],
)
def test_a_coarse_mesh(name, changes):
    """The network meets the discrete equations well; what is wrong with them, the finer ones show."""
    solution = solved(name, **{**SMALL[name], **changes, "iterations": 30})
    assert solution.errors["l2re"] > 5 * solution.errors["training"]
    assert 0.5 < ratio(solution) < 2


@pytest.mark.parametrize("iterations", [2, 40])
@pytest.mark.parametrize("cells", [12, 40])
def test_finite_differences(cells, iterations):
    solution = solved("poisson1d", mesh="fdm", cells=cells, width=6, depth=1, iterations=iterations)
    assert solution.result["certificate"]["how"] == "finite elements of degree 2 on the same grid"
    assert solution.result["certificate"]["unknowns"] == 2 * cells + 1
    assert 0.5 < ratio(solution) < 2


def test_other_methods_are_certified_too():
    changes = {"iterations": 3, "width": 6, "depth": 1}
    for method, own in (("fem-fit", {}), ("pinn", {"collocation": 50})):
        assert 0.5 < ratio(catalog_task("poisson1d", "quick", {**changes, **own}, method=method).run()) < 2


BOWL = {"flux": lambda x, u: u.grad, "source": lambda x, u: -4.0}


def bowl(domain):
    """-Laplace u = 4 in the unit disk, u = 0 on its rim: u = 1 - r^2."""
    return Problem(domain, boundary={"rim": Dirichlet(0.0)}, name="bowl", **BOWL)


def test_elements_of_high_degree_see_what_parabolas_leave_of_a_disk():
    """Cells along the rim are cut for the estimate: more degrees on the same ones would find nothing wrong."""
    r = 0.98 * np.sqrt(np.linspace(0, 1, 40))
    x = np.stack([r * np.cos(9 * r), r * np.sin(9 * r)], axis=1)
    reference = Reference(x, (1 - r**2)[:, None])
    choices = {
        "network": "random-features",
        "waves": 60,
        "spread": 2.0,
        "optimiser": "last-layer",
        "preconditioner": "lu",
    }
    mesh = Meshing(size=0.6, curvature=1.0, degree=5, element="lobatto")
    solution = solve(
        bowl(Disk((0, 0), 1.0, name="rim")), {"mesh": mesh, **choices, "accuracy": None}, reference=reference
    )
    assert "cells along curved walls cut" in solution.result["certificate"]["how"]
    assert solution.errors["l2re"] > 5 * solution.errors["training"]
    assert 0.5 < ratio(solution) < 2


@pytest.mark.parametrize("degree", [1, 3])
def test_straight_cells_on_a_disk_show_the_error_of_the_geometry(degree):
    """The shape knows that its mesh is a polygon. A user's own mesh does not: with cubics, where the polygon is nearly all
    that is wrong, its estimate is of the error on the polygon."""
    disk = Disk((0, 0), 1.0, name="rim")
    r = 0.98 * np.sqrt(np.linspace(0, 1, 40))
    x = np.stack([r * np.cos(9 * r), r * np.sin(9 * r)], axis=1)
    common = {"width": 8, "depth": 1, "feature_count": 2, "iterations": 30, "device": "cpu", "degree": degree}
    common["reference"] = Reference(x, 1 - (x**2).sum(axis=1))
    shape = solve(bowl(disk), size=0.5, curved=False, **common)
    own = solve(bowl(generate_mesh(disk, size=0.5, curved=False)), **common, accuracy=None)
    assert torch.equal(shape.network.theta, own.network.theta)  # the same polygon
    assert 0.5 < shape.errors["estimate"] / shape.errors["l2re"] < 2
    if degree == 3:
        assert own.errors["estimate"] < 0.3 * own.errors["l2re"]
        curved = solve(bowl(disk), size=0.5, **common)
        assert curved.errors["l2re"] < 0.2 * shape.errors["l2re"]
        assert 0.5 < curved.errors["estimate"] / curved.errors["l2re"] < 2


def test_a_loaded_solution_gives_the_same(tmp_path):
    solution = quick()
    again = load(solution.save(tmp_path / "run"))
    assert certify(again, line()) == certify(solution)
    assert certify(again, line()).to_dict() == solution.result["certificate"]
    with pytest.raises(PcpinnError, match="does not know its equations") as caught:
        certify(again)
    assert "certify(solution, problem)" in caught.value.remedy


def test_fields_of_their_own_degree_are_raised_too():
    certificate = quick(two_fields()).result["certificate"]
    assert certificate["unknowns"] == (2 * 8 + 1) + (3 * 8 + 1)
    assert certificate["how"] == "degree 3 on the same mesh"


def test_can_be_left_out():
    solution = quick(certify=False)
    assert solution.result["certificate"] is None
    assert solution.errors["estimate"] is None
    assert certify(solution).estimate > 0


class Notes(Progress):
    def __init__(self):
        self.lines = []

    def note(self, text):
        self.lines.append(text)


def test_a_certificate_that_fails_does_not_cost_the_answer(monkeypatch, tmp_path):
    def fail(*arguments, **options):
        raise PcpinnError("the error estimate did not converge", "use certify=false")

    monkeypatch.setattr(import_module("pcpinn.solve.certify"), "estimate_error", fail)
    notes = Notes()
    solution = quick(out=tmp_path / "run", progress=notes)
    assert solution.result["certificate"] is None
    assert "no error estimate: the error estimate did not converge" in notes.lines
    assert load(tmp_path / "run").errors["estimate"] is None


def test_an_estimate_that_costs_too_much_is_made_only_on_request(monkeypatch):
    made, module = [], import_module("pcpinn.solve.certify")
    real = module.finer
    monkeypatch.setattr(module, "finer", lambda *a: made.append(a) or real(*a))
    monkeypatch.setitem(AFFORDABLE, 1, 5)
    notes = Notes()
    solution = quick(progress=notes)
    assert not made  # a mesh that is too large already is not made finer to find out
    assert solution.errors["estimate"] is None
    assert any("cost more than the solve" in line for line in notes.lines)
    assert certify(solution).estimate > 0


def test_an_exact_answer_has_no_error():
    """Zero right-hand side, zero network."""
    solution = quick(
        Problem(
            line().domain, lambda x, u: u.grad, boundary={"left": Dirichlet(0.0), "right": Dirichlet(0.0)}, name="zero"
        )
    )
    with torch.no_grad():
        solution.network.theta.zero_()
    assert certify(solution).estimate == 0


def test_singularities_are_resolved_by_a_finer_grading():
    """Four materials meet at a point: one degree more on the same mesh would hide half of the error."""
    solution = solved("poisson2d-ms", iterations=15)
    assert "graded further" in solution.result["certificate"]["how"]
    assert 0.6 < solution.errors["estimate"] / solution.errors["l2re"] < 1.5


def test_an_answer_far_from_that_of_a_nonlinear_problem_is_told():
    """One Newton correction of u^3, from fifty times the answer, leads a third of the way."""
    load = lambda x: torch.pi**2 * torch.sin(torch.pi * x) + 1e3 * torch.sin(torch.pi * x) ** 3  # noqa: E731
    problem = Problem(
        Interval(0, 1),
        flux=lambda x, u: u.grad,
        source=lambda x, u: 1e3 * u.value**3 - load(x[0]),
        boundary={"left": Dirichlet(0.0), "right": Dirichlet(0.0)},
    )
    solution = solve(problem, cells=8, width=6, depth=1, iterations=2, certify=False, accuracy=None, device="cpu")

    class Far(torch.nn.Module):
        theta = solution.network.theta

        def forward(self, x):
            return 50 * torch.sin(torch.pi * x)

    found = certify(replace(solution, network=Far()), problem)
    assert found.estimate == pytest.approx(49, rel=0.02)


def test_time_as_a_coordinate_is_looked_at_on_a_mesh_of_space():
    """Sources and data that take the time from the place: x[1]."""

    def u(x):
        return torch.sin(torch.pi * x[0]) * torch.cosh(torch.pi * x[1] / 2)

    problem = Problem(
        Interval(0.0, 1.0, name="ends").over(0.0, 1.0, coordinate=True),
        flux=lambda x, v: v.grad,
        source=lambda x, v: -0.75 * torch.pi**2 * u(x),
        boundary={name: Dirichlet(u) for name in ("ends", "initial", "final")},
    )
    sizes = {"cells": 6, "steps": 6, "order": 2, "degree": 2, "width": 12, "depth": 1, "iterations": 30}
    solution = solve(problem, {"accuracy": None, "time": "slabs", "scheme": "galerkin", "device": "cpu", **sizes})
    x = np.random.default_rng(0).uniform(0, 1, (300, 2))
    right = u(torch.from_numpy(x.T)).numpy()
    true = np.linalg.norm(solution(x) - right) / np.linalg.norm(right)
    assert solution.errors["estimate"] == pytest.approx(true, rel=0.3)
