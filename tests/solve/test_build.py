"""From settings to objects: which optimiser is taken, and why."""

import pytest
import torch
from cases import general, grid
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
from pcpinn.solve.linear import preconditioned_loss
from pcpinn.solve.settings import Settings
from pcpinn.train import LBFGS, SOAP, Adam, GaussNewton


def loss_of(settings, make=preconditioned_loss, problem=None):
    problem = problem or line()
    mesh = make_mesh(problem, settings)
    return make(
        linear_system(make_discretisation(problem, mesh, settings)), make_network(problem, mesh, settings), settings
    )


def settings(**changes):
    return Settings(**{"cells": (8,), "width": 6, "depth": 1, "device": "cpu", "collocation": 20, **changes})


@pytest.mark.parametrize("preconditioner", ["ilu", "lu", "amg"])
def test_auto_takes_gauss_newton_where_p_is_near_a(preconditioner):
    chosen = settings(preconditioner=preconditioner)
    loss = loss_of(chosen)
    optimiser, why = make_optimiser(chosen, loss)
    assert isinstance(optimiser, GaussNewton)
    assert why == f"P^-1 A is near the identity; form gram on {loss.size} of {loss.size} unknowns"


@pytest.mark.parametrize("preconditioner", ["jacobi", "row-balancing", "none"])
def test_auto_takes_adam_where_p_is_far_from_a(preconditioner):
    chosen = settings(preconditioner=preconditioner, learning_rate=0.05, beta1=0.8)
    optimiser, why = make_optimiser(chosen, loss_of(chosen))
    assert optimiser == Adam(0.05, 0.8, 0.99)
    assert f"preconditioner={preconditioner}" in why
    exact = settings(preconditioner=preconditioner, form="exact")  # has P in its matrix, whatever P is
    assert isinstance(make_optimiser(exact, loss_of(exact))[0], GaussNewton)


def test_auto_takes_adam_for_a_strong_form():
    chosen = settings()
    optimiser, why = make_optimiser(chosen, loss_of(chosen, strong_loss))
    assert isinstance(optimiser, Adam)
    assert "no residual on nodes" in why


def test_auto_says_which_form_memory_allows():
    chosen = settings(sample=5)
    assert make_optimiser(chosen, loss_of(chosen))[1].endswith("form gram on 5 of 17 unknowns")
    loss = loss_of(settings())
    assert "form matrix-free" in make_optimiser(settings(memory_gib=1e-9), loss)[1]
    with pytest.raises(PcpinnError, match=r"needs .* GiB"):
        make_optimiser(settings(memory_gib=1e-9, form="gram"), loss)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gauss-newton", GaussNewton("exact", 7, 0.1, False, 2.0)),
        ("adam", Adam(0.01, 0.5, 0.6)),
        ("lbfgs", LBFGS()),
        ("soap", SOAP(0.01, 0.5, 0.6)),
    ],
)
def test_by_name(name, expected):
    more = {"form": "exact", "sample": 7, "damping": 0.1, "accelerate": False, "memory_gib": 2.0}
    chosen = settings(optimiser=name, preconditioner="none", learning_rate=0.01, beta1=0.5, beta2=0.6, **more)
    assert make_optimiser(chosen, loss_of(chosen)) == (expected, "asked for")


def test_preconditioners():
    made = {
        name: make_preconditioner(settings(preconditioner=name, drop_tolerance=1e-4))
        for name in ("ilu", "lu", "amg", "jacobi", "row-balancing", "none")
    }
    kinds = dict(zip(made, (ILU, LU, AMG, Jacobi, RowBalancing, Identity), strict=True))
    assert all(type(p) is kinds[name] for name, p in made.items())
    assert isinstance(make_preconditioner(settings(preconditioner="jacobi", refinement=3)), Refined)
    assert isinstance(make_preconditioner(settings(drop_tolerance="auto")), AutoILU)
    with pytest.raises(PcpinnError, match="exclude each other"):
        make_preconditioner(settings(drop_tolerance="auto", refinement=2))


def test_the_users_mesh_is_taken_as_it_is():
    mesh = grid(plane().domain, 3)
    problem = Problem(mesh, general(2).flux, boundary=plane().boundary)
    assert make_mesh(problem, Settings(mesh_size=0.01)) is mesh


def test_devices():
    assert make_device("cpu").type == "cpu"
    assert make_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")


def test_kinks_reach_network_and_mesh():
    chosen = settings(kinks="0.3", layers=2)
    problem = line()
    mesh = make_mesh(problem, chosen)
    assert len(mesh.cells) == 8 + 2 * 2
    assert 0.3 in mesh.nodes[:, 0]
    network = make_network(problem, mesh, chosen)
    assert network.architecture.features.kinks == ((0.3,),)
    assert network.layer_shapes[0][1] == make_network(problem, mesh, settings()).layer_shapes[0][1] + 1


@pytest.mark.parametrize("kinks", ["1.5", "0", "0.5;0.5"])
def test_kinks_that_do_not_fit_the_domain(kinks):
    chosen = settings(kinks=kinks, mesh_size=0.2, cells=None)
    with pytest.raises(PcpinnError, match=r"outside the domain|2 axes, but there are 1"):
        make_network(line(), make_mesh(line(), settings()), chosen)
