"""Many digits: elements of high degree, sines, the last layer by least squares of the preconditioned residual."""

import numpy as np
import pytest
import torch

import pcpinn as pc
from pcpinn.catalog import CATALOG
from pcpinn.catalog.entry import PRECISE
from pcpinn.catalog.task import catalog_task

SINES = {"network": "random-features", "optimiser": "last-layer", "ridge": 1e-14, "preconditioner": "lu"}


def test_which_problems_have_it():
    named = [entry.name for entry in CATALOG if PRECISE in entry.presets]
    assert set(named) == {"poisson2d-smooth", "poisson2d-c", "wave1d-c", "burgers1d-c", "ks"}


def test_a_smooth_square_in_less_than_a_second():
    solution = catalog_task("poisson2d-smooth", PRECISE, {"device": "cpu"}).run()
    errors = solution.errors
    assert errors["l2re"] < 1e-11
    assert errors["discretisation"] < 1e-11
    assert 0.2 < errors["estimate"] / errors["l2re"] < 5
    hidden = catalog_task("poisson2d-smooth", PRECISE, {"waves": 20, "device": "cpu"}).run()
    assert hidden.errors["training"] > 1e-9  # few sines: that part says so
    assert 0.5 < hidden.errors["estimate"] / hidden.errors["l2re"] < 2


def test_a_wave_all_at_once():
    """A tenth of the preset's size."""
    small = {"cells": 6, "steps": 12, "degree": 8, "waves": 250, "spread": 9.0, "device": "cpu"}
    errors = catalog_task("wave1d-c", PRECISE, small).run().errors
    assert errors["l2re"] < 5e-6
    assert 0.2 < errors["estimate"] / errors["l2re"] < 5


def test_newton_steps_of_a_nonlinear_problem():
    """-Laplace u + u^3 = f: each step is one least-squares problem, and corrections fall quadratically."""

    def u(x):
        return torch.sin(2 * x[0]) * torch.exp(-x[1])

    problem = pc.Problem(
        pc.Rectangle((0, 0), (1, 1), name="sides"),
        flux=lambda x, v: v.grad,
        source=lambda x, v: v.value**3 - 3 * u(x) - u(x) ** 3,
        boundary={"sides": pc.Dirichlet(u)},
    )
    points = np.random.default_rng(0).uniform(size=(200, 2))
    values = np.sin(2 * points[:, :1]) * np.exp(-points[:, 1:])
    solution = pc.solve(
        problem,
        {"accuracy": None, "device": "cpu", **SINES},
        mesh=pc.Meshing(cells=(3, 3), degree=8, element="lobatto"),
        waves=80,
        spread=3.0,
        tolerance=1e-11,
        reference=pc.Reference(points, values),
    )
    assert solution.errors["l2re"] < 1e-10
    assert solution.result["newton"]["iterations"] < 7


def test_a_march_with_a_series():
    """Heat that flows through an end whose value is not periodic: u = exp(-t) sin(x) on an interval of length 2."""
    problem = pc.Problem(
        pc.Interval(0, 2).over(0, 1),
        density=lambda x, u: u.value,
        flux=lambda x, u: u.grad,
        boundary={
            "left": pc.Dirichlet(0.0),
            "right": pc.Dirichlet(lambda x, t: torch.exp(-t) * torch.sin(x[0])),
            "initial": pc.Initial(lambda x: torch.sin(x[0])),
        },
    )
    x, t = np.random.default_rng(0).uniform(size=(2, 100)) * [[2], [1]]
    reference = pc.Reference(np.stack([x, t], 1), (np.exp(-t) * np.sin(x))[:, None])
    settings = {"time": "march", "steps": 4, "order": 5, "iterations": 0, "start_iterations": 0, "tolerance": 1e-11}
    network = {"depth": 0, "features": "series", "feature_count": 30}
    mesh = {"element": "lobatto", "degree": 8, "cells": 12}
    solution = pc.solve(
        problem, {"accuracy": None, "device": "cpu", **settings, **network, **mesh}, reference=reference
    )
    assert solution.errors["l2re"] < 1e-9


def test_settings_that_no_element_has():
    with pytest.raises(pc.PcpinnError, match="lobatto"):
        catalog_task("poisson2d-smooth", PRECISE, {"degree": 14}).run()
