"""Steps of linear problems by their matrices: the march that Newton's method makes, and no other equation's."""

import numpy as np
import pytest
import torch
from over_time import membrane, ring

import pcpinn as pc
from pcpinn.discretize.window import MarchSpace
from pcpinn.mesh.generate import generate_mesh
from pcpinn.solve.adapt import stepping

TIMES = np.array([0.0, 0.1, 0.2, 0.25])


def heated(source):
    """u_t = u_xx + f(x, t) with a side that follows time."""
    return pc.Problem(
        pc.Interval(0, 1).over(0, 1),
        density=lambda x, u: u.value,
        flux=lambda x, u: u.grad,
        source=source,
        boundary={
            "left": pc.Dirichlet(lambda x, t: torch.sin(3 * t)),
            "right": pc.Neumann(0.5),
            "initial": pc.Initial(lambda x: 2 * x[0]),
        },
    )


def loaded():
    return heated(lambda x, t, u: -torch.cos(5 * t) * x[0] + 2 * u.value)


def marched(problem):
    cells = (6,) * (problem.domain.dimension - 1)
    mesh = generate_mesh(problem.domain.shape, cells=cells, periodic=problem.periodic_pairs)
    return stepping.march_discrete(MarchSpace(problem, mesh, (0.0, 1.0), 2), "radau", 3, TIMES)


@pytest.mark.parametrize("make", [membrane, ring, loaded])
def test_linear_steps_are_those_of_newtons_method(monkeypatch, make):
    calls, usual = [], stepping._solve
    monkeypatch.setattr(stepping, "_solve", lambda *given: calls.append(1) or usual(*given))
    quick = marched(make())
    assert not calls
    monkeypatch.setattr(stepping, "LinearSteps", lambda _: None)
    slow = marched(make())
    assert len(calls) == len(TIMES) - 1
    np.testing.assert_allclose(quick.values, slow.values, rtol=0, atol=1e-9 * np.abs(slow.values).max())


def test_an_equation_that_is_linear_only_for_small_values_is_not_taken_for_linear():
    """Beyond 10 the source is another; random states are not that large, the answer is."""

    def source(x, t, u):
        return -200.0 + torch.where(u.value > 10, 40 * (u.value - 10), torch.zeros_like(u.value))

    one = marched(heated(source))
    linear = marched(heated(lambda x, t, u: -200.0 + 0 * u.value))
    assert linear.values.max() > 12
    assert one.values.max() < 0.95 * linear.values.max()
