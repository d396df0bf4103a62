"""Problems on slabs of time, from solve to saved, drawn, packed and resumed."""

import json

import numpy as np
import pytest
import torch
from cases import chosen

import pcpinn
from pcpinn import Dirichlet, Initial, Interval, PcpinnError, Problem, Rectangle, Reference, solve
from pcpinn.mesh.slab_mesh import SlabMesh
from pcpinn.solve.build import make_mesh
from pcpinn.solve.method import METHODS

SMALL = {"cells": (4,), "steps": 2, "time": "slabs", "scheme": "radau", "order": 3, "degree": 3, "width": 10, "depth": 2,
         "features": "none", "device": "cpu"}  # fmt: skip


def problem():
    """u = sin(pi x) exp(-t)."""
    return Problem(
        Interval(0.0, 1.0).over(0.0, 1.0),
        density=lambda x, u: u.value,
        flux=lambda x, u: u.grad / torch.pi**2,
        boundary={
            "left": Dirichlet(0.0),
            "right": Dirichlet(0.0),
            "initial": Initial(lambda x: torch.sin(torch.pi * x[0])),
        },
        name="decay",
    )


@pytest.fixture(scope="module")
def reference():
    x = np.random.default_rng(0).uniform(size=(200, 2))
    return Reference(x, np.sin(np.pi * x[:, 0]) * np.exp(-x[:, 1]))


def test_solve_save_load_draw_export(tmp_path, reference):
    solution = solve(problem(), dict(**SMALL, iterations=30), out=tmp_path / "run", reference=reference)
    result = json.loads((tmp_path / "run/result.json").read_text())
    assert result["errors"]["l2re"] < 5e-3
    assert 0.5 < result["errors"]["estimate"] / result["errors"]["l2re"] < 2
    assert (result["discretisation"]["name"], result["preconditioner"]["name"]) == ("slabs", "time-order")
    assert result["discretisation"]["cells"] == 8
    again = pcpinn.load(tmp_path / "run")
    assert isinstance(again.mesh, SlabMesh)
    np.testing.assert_array_equal(again.mesh.times, [0, 0.5, 1])
    np.testing.assert_array_equal(again(reference.points), solution(reference.points))
    again.plot(tmp_path / "u.png")
    again.to_vtu(tmp_path / "u.vtu")
    assert (tmp_path / "u.png").stat().st_size > 5000
    assert (tmp_path / "u.vtu").exists()


@pytest.mark.parametrize("method", ["fem-fit", "pinn"])
def test_baselines_run_on_slabs(method, reference):
    optimiser = (
        {"optimiser": "adam", "iterations": 300, "learning_rate": 5e-3} if method == "pinn" else {"iterations": 15}
    )
    result = (
        METHODS.find(method).solver(problem(), {**SMALL, **optimiser, "certify": False}, reference=reference).result
    )
    assert result["errors"]["l2re"] < 0.3


def test_resumed_run_ends_where_an_uninterrupted_one_does(tmp_path, reference):
    settings = dict(**SMALL, iterations=6, certify=False, checkpoint_every=0.0)
    whole = solve(problem(), settings, out=tmp_path / "whole")
    solve(problem(), settings, out=tmp_path / "part", iterations=3)
    for name in ("result.json", "network.safetensors"):
        (tmp_path / "part" / name).unlink()
    resumed = solve(problem(), settings, out=tmp_path / "part", resume=True)
    np.testing.assert_array_equal(resumed(reference.points), whole(reference.points))


def test_settings_that_do_not_fit():
    flat = Problem(Rectangle((0, 0), (1, 1)), flux=lambda x, u: u.grad, boundary={"left": Dirichlet(0.0)})
    with pytest.raises(PcpinnError, match="shape over time"):
        make_mesh(flat, chosen(True, time="slabs"))
    with pytest.raises(PcpinnError, match="slabs"):
        solve(problem(), {"cells": (4,), "steps": 2}, on=make_mesh(problem(), chosen(True, **SMALL)))
    simplices = make_mesh(problem(), chosen(True, **SMALL)).simplices
    with pytest.raises(PcpinnError, match="slabs"):
        solve(problem(), SMALL, on=simplices)
