"""u_tt from three time levels: the paper's step for waves, which is backward Euler without a field for u_t."""

import numpy as np
import pytest
import skfem
import torch
from scipy.sparse.linalg import spsolve
from skfem.helpers import dot, grad

from pcpinn import Initial, Interval, Neumann, PcpinnError, Problem, solve
from pcpinn.discretize.newton import newton
from pcpinn.discretize.step_scheme import SECOND, Layers, step_scheme
from pcpinn.discretize.window import MarchSpace, Window
from pcpinn.mesh.generate import generate_mesh
from pcpinn.precondition.stages import Stages
from pcpinn.problem.field import Field
from pcpinn.problem.second_order import by_second_differences


def start(x):
    return torch.exp(-20 * (x[0] - 0.3) ** 2)


def wave(density=lambda x, u: u.dt / (1 + x[0]), **rest):
    """u_tt / (1 + x) = u_xx, no flux through the ends, at rest at first."""
    conditions = {"left": Neumann(0.0), "right": Neumann(0.0), "initial": Initial(start, rate=0.0)}
    given = {"flux": lambda x, u: u.grad, "boundary": conditions} | rest
    return Problem(Interval(0, 1).over(0, 1), density=density, **given)


def two_fields():
    """The same as u_t = v, v_t / (1 + x) = u_xx."""
    return Problem(
        Interval(0, 1).over(0, 1),
        density=lambda x, u, v: (u.value, v.value / (1 + x[0])),
        flux=lambda x, u, v: (None, u.grad),
        source=lambda x, u, v: (-v.value, None),
        fields=[Field("u"), Field("v")],
        boundary={
            "left": {"u": Neumann(0.0), "v": Neumann(0.0)},
            "right": {"u": Neumann(0.0), "v": Neumann(0.0)},
            "initial": {"u": Initial(start), "v": Initial(0.0)},
        },
    )


def marched(problem, scheme, steps, per_window):
    """u at the nodes after all steps."""
    space = MarchSpace(problem, generate_mesh(Interval(0, 1), cells=(12,)), (0.0, 1.0), 1)
    tables, times = step_scheme(scheme), np.linspace(0, 1, steps + 1)
    known = space.initial_values()[None].repeat(tables.history, 1)
    for k in range(0, steps, per_window):
        window = Window(space, Layers(tables, times[k : k + per_window + 1], k == 0), known)
        U = known[-1].repeat(per_window, 1)
        found = newton(window, U, lambda A: Stages().build(A).on(A).apply, 1e-12, 10)
        known = torch.cat([known, found.u])[-tables.history :]
    n = len(space.mesh.nodes)
    order = np.argsort(space.form.space.unknown_nodes[:n, 0])
    return known[-1].numpy()[:n][order]


@pytest.mark.parametrize("per_window", [1, 4])
def test_it_is_the_three_level_step(per_window):
    """(M + h^2 K) u_1 = M (2 u_0 - u_-1) with matrices of another library, M with 1 / (1 + x) in it."""
    steps, h = 8, 1 / 8
    basis = skfem.Basis(skfem.MeshLine(np.linspace(0, 1, 13)), skfem.ElementLineP1(), intorder=4)
    M = skfem.BilinearForm(lambda u, v, w: u * v / (1 + w.x[0])).assemble(basis)
    K = skfem.BilinearForm(lambda u, v, w: dot(grad(u), grad(v))).assemble(basis)
    u = before = np.exp(-20 * (basis.doflocs[0] - 0.3) ** 2)
    for _ in range(steps):
        u, before = spsolve((M + h**2 * K).tocsc(), M @ (2 * u - before)), u
    found = marched(by_second_differences(wave()), SECOND, steps, per_window)
    np.testing.assert_allclose(found, u[np.argsort(basis.doflocs[0])], rtol=0, atol=1e-4)  # other points of quadrature


@pytest.mark.parametrize("per_window", [1, 4])
def test_it_is_backward_euler_without_the_rate(per_window):
    found = marched(by_second_differences(wave()), SECOND, 8, per_window)
    np.testing.assert_allclose(found, marched(two_fields(), "euler", 8, per_window), rtol=0, atol=1e-10)


MARCH = {
    "time": "march",
    "scheme": SECOND,
    "cells": (6,),
    "steps": 2,
    "width": 8,
    "depth": 1,
    "iterations": 0,
    "device": "cpu",
}


def test_solved_as_the_user_wrote_it():
    """One field, and an error estimate by a finer march of the system of first order."""
    solution = solve(wave(), **MARCH | {"steps": 16, "cells": (12,), "width": 32})
    assert [f.name for f in solution.problem.unknowns] == ["u"]
    assert solution.errors["training"] < 1e-2
    assert 0.01 < solution.errors["estimate"] < 0.6  # backward Euler damps waves


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (wave(lambda x, u: u.dt * u.value), "a density depends on u.dt alone, not on u.value"),
        (wave(lambda x, u: u.dt**3), "needs a density that is u.dt times a function of x"),
        (wave(lambda x, t, u: u.dt * (1 + t)), "needs a density that is u.dt times a function of x"),
        (wave(source=lambda x, u: u.dt), "knows u.dt in the density alone"),
        (wave(boundary={"initial": Initial(start, rate=1.0)}), "starts at rest, and 'u' does not"),
        (two_fields(), "and that of 'u' is not"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:no condition")
def test_what_is_refused(problem, message):
    with pytest.raises(PcpinnError, match=message):
        solve(problem, **MARCH)
