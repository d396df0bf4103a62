"""Heat and waves as a user writes them, u.grad in space alone, by every way through time; against exact solutions."""

import numpy as np
import pytest
import torch

import pcpinn as pc
from pcpinn.discretize.finite_elements import FiniteElements
from pcpinn.discretize.system import linear_system
from pcpinn.mesh.generate import generate_mesh

SMALL = {"degree": 3, "width": 12, "depth": 2, "features": "none", "iterations": 40, "device": "cpu"}
MARCH = {"time": "march", "width": 24, "depth": 1, "iterations": 0, "start_iterations": 0}
WAYS = {
    "simplex": {"cells": (6,), "steps": 8, "degree": 2},
    "fdm": {"cells": (24,), "steps": 48, "mesh": "fdm"},
    "radau": {"cells": (5,), "steps": 3, "time": "slabs", "scheme": "radau", "order": 3},
    "gauss": {"cells": (5,), "steps": 3, "time": "slabs", "scheme": "gauss", "order": 2},
    "galerkin": {"cells": (5,), "steps": 4, "time": "slabs", "scheme": "galerkin", "order": 2, "preconditioner": "ilu"},
    "march": {"cells": (5,), "steps": 8, "time": "slabs", "scheme": "radau", "order": 2, **MARCH},
}
SIDES = {"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)}


def small(way):
    """Finite differences have no degree."""
    return {k: v for k, v in SMALL.items() if way != "fdm" or k != "degree"} | WAYS[way]


def sine(x):
    return torch.sin(torch.pi * x[0])


def reference(amplitude):
    x = np.stack(np.meshgrid(np.linspace(0, 1, 21), np.linspace(0, 1, 21), indexing="ij"), -1).reshape(-1, 2)
    return pc.Reference(x, np.sin(np.pi * x[:, 0]) * amplitude(x[:, 1]))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("way", WAYS)
def test_heat(way):
    """u_t = 0.1 u_xx: sin(pi x) decays by exp(-0.1 pi^2 t). Nothing need be said of the end."""
    problem = pc.Problem(
        pc.Interval(0, 1).over(0, 1),
        density=lambda x, u: u.value,
        flux=lambda x, u: 0.1 * u.grad,
        boundary=SIDES | {"initial": pc.Initial(sine)},
    )
    exact = reference(lambda t: np.exp(-0.1 * np.pi**2 * t))
    assert pc.solve(problem, small(way), reference=exact, accuracy=None).errors["l2re"] < 4e-3


@pytest.mark.parametrize("way", ["simplex", "fdm"])
def test_standing_wave(way):
    """u_tt = u_xx from sin(pi x) at rest: sin(pi x) cos(pi t)."""
    problem = pc.Problem(
        pc.Interval(0, 1).over(0, 1),
        density=lambda x, u: u.dt,
        flux=lambda x, u: u.grad,
        boundary=SIDES | {"initial": pc.Initial(sine, rate=0.0)},
    )
    settings = small(way) | {"steps": 60 if way == "fdm" else 16}
    assert pc.solve(problem, **settings, reference=reference(lambda t: np.cos(np.pi * t))).errors["l2re"] < 5e-3


def test_a_pulse_by_d_alembert():
    """Without walls in reach a pulse at rest parts in two halves that run apart."""

    def pulse(x):
        return torch.exp(-30 * x[0] ** 2)

    problem = pc.Problem(
        pc.Interval(-2, 2).over(0, 1),
        density=lambda x, u: u.dt,
        flux=lambda x, u: u.grad,
        boundary=SIDES | {"initial": pc.Initial(pulse, rate=0.0)},
    )
    x = np.stack(np.meshgrid(np.linspace(-2, 2, 81), np.linspace(0, 1, 11), indexing="ij"), -1).reshape(-1, 2)
    halves = [0.5 * np.exp(-30 * (x[:, 0] + s * x[:, 1]) ** 2) for s in (-1, 1)]
    system = linear_system(FiniteElements(problem, generate_mesh(problem.domain, cells=40, steps=40), 2))
    found = system.discretisation.interpolate(system.solution, x)[:, 0]
    assert np.linalg.norm(found - sum(halves)) < 0.02 * np.linalg.norm(sum(halves))
