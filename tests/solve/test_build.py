"""From settings to objects: which optimiser is taken, and why."""

import pytest
import torch
from cases import chosen, general, grid
from small import line, plane

from pcpinn.baselines.pinn import strong_loss
from pcpinn.discretize.system import linear_system
from pcpinn.errors import PcpinnError
from pcpinn.precondition import AMG, ILU, LU, AutoILU, Identity, Jacobi, Refined, RowBalancing
from pcpinn.problem.problem import Problem
from pcpinn.solve.build import (
    make_device,
    make_discretisation,
    make_mesh,
    make_network,
    make_optimiser,
    make_preconditioner,
)
from pcpinn.solve.loss import preconditioned_loss
from pcpinn.train import LBFGS, SOAP, Adam, GaussNewton


def loss_of(settings, make=preconditioned_loss, problem=None):
    problem = problem or line()
    mesh = make_mesh(problem, settings)
    return make(
        linear_system(make_discretisation(problem, mesh, settings)), make_network(problem, mesh, settings), settings
    )


def optimiser_of(settings, loss):
    return make_optimiser(settings, loss.network, getattr(loss, "size", None))


def settings(**changes):
    return chosen(**{"cells": (8,), "width": 6, "depth": 1, "device": "cpu", **changes})


@pytest.mark.parametrize("preconditioner", ["ilu", "lu", "amg", "auto-ilu"])
def test_gauss_newton_where_p_is_near_a(preconditioner):
    own = settings(preconditioner=preconditioner)
    loss = loss_of(own)
    optimiser, why = optimiser_of(own, loss)
    assert isinstance(optimiser, GaussNewton)
    assert why == f"P^-1 A is near the identity; matrix gram on {loss.size} of {loss.size} degrees of freedom"


@pytest.mark.parametrize("preconditioner", ["jacobi", "row-balancing", "none"])
def test_adam_where_p_is_far_from_a(preconditioner):
    own = settings(preconditioner=preconditioner, learning_rate=0.05, beta1=0.8)
    optimiser, why = optimiser_of(own, loss_of(own))
    assert optimiser == Adam(0.05, 0.8, 0.99)
    assert optimiser.iterations == 20_000
    assert f"preconditioner={preconditioner}" in why
    exact = settings(preconditioner=preconditioner, optimiser="gauss-newton", matrix="exact")  # has P in its matrix
    assert isinstance(optimiser_of(exact, loss_of(exact))[0], GaussNewton)


def test_adam_for_a_strong_form():
    own = settings(method="pinn", collocation=20)
    optimiser, _ = optimiser_of(own, loss_of(own, strong_loss))
    assert optimiser == Adam()


def test_the_matrix_that_memory_allows():
    own = settings(sample=5)
    assert optimiser_of(own, loss_of(own))[1].endswith("matrix gram on 5 of 17 degrees of freedom")
    loss = loss_of(settings())
    assert "matrix matrix-free" in optimiser_of(settings(memory=1e-9), loss)[1]
    with pytest.raises(PcpinnError, match=r"needs .* GiB"):
        optimiser_of(settings(memory=1e-9, matrix="gram"), loss)


@pytest.mark.parametrize(
    ("name", "keys", "expected"),
    [
        (
            "gauss-newton",
            {"matrix": "gram", "sample": 7, "damping": 0.1, "accelerate": False, "memory": 2.0},
            GaussNewton("gram", 7, 0.1, False, 0.75),
        ),
        ("adam", {"learning_rate": 0.01, "beta1": 0.5, "beta2": 0.6}, Adam(0.01, 0.5, 0.6)),
        ("lbfgs", {"pairs": 9}, LBFGS(9)),
        ("soap", {"beta1": 0.5}, SOAP(beta1=0.5)),
        ("soap", {}, SOAP()),  # its own defaults, not Adam's
    ],
)
def test_by_name(name, keys, expected):
    own = settings(optimiser=name, preconditioner="none", **keys)
    assert optimiser_of(own, loss_of(own)) == (expected, "asked for")


def test_preconditioners():
    problem = line()
    mesh = make_mesh(problem, settings())
    discretisation = make_discretisation(problem, mesh, settings())
    made = {
        name: make_preconditioner(settings(preconditioner=name), discretisation)
        for name in ("ilu", "lu", "amg", "jacobi", "row-balancing", "none", "auto-ilu", "auto-lu")
    }
    kinds = dict(zip(made, (ILU, LU, AMG, Jacobi, RowBalancing, Identity, AutoILU, LU), strict=True))
    assert all(type(p) is kinds[name] for name, p in made.items())
    refined = make_preconditioner(settings(preconditioner="jacobi", refinement=3), discretisation)
    assert isinstance(refined, Refined)
    assert refined.steps == 3
    half = make_preconditioner(settings(quality_target=0.1, memory=2), discretisation)
    assert half == AutoILU(0.1, memory=1.0)
    with pytest.raises(PcpinnError, match="refinement=2 is not read"):
        settings(refinement=2)


def test_the_users_mesh_is_taken_as_it_is():
    mesh = grid(plane().domain, 3)
    problem = Problem(mesh, general(2).flux, boundary=plane().boundary)
    assert make_mesh(problem, chosen(size=0.01)) is mesh


def test_devices():
    assert make_device("cpu").type == "cpu"
    assert make_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")


def test_kinks_reach_network_and_mesh():
    own = settings(kinks="0.3", lines=2)
    problem = line()
    mesh = make_mesh(problem, own)
    assert len(mesh.cells) == 8 + 2 * 2
    assert 0.3 in mesh.nodes[:, 0]
    network = make_network(problem, mesh, own)
    assert network.architecture.features.kinks == ((0.3,),)
    assert network.layer_shapes[0][1] == make_network(problem, mesh, settings()).layer_shapes[0][1] + 1


@pytest.mark.parametrize("kinks", ["1.5", "0", "0.5;0.5"])
def test_kinks_that_do_not_fit_the_domain(kinks):
    own = settings(kinks=kinks, size=0.2, cells=None)
    with pytest.raises(PcpinnError, match=r"outside the domain|2 axes, but there are 1"):
        make_network(line(), make_mesh(line(), settings()), own)
