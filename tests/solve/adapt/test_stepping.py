"""Steps whose matrices differ from stage to stage."""

import numpy as np
import pytest
import torch

import pcpinn as pc
from pcpinn.discretize.window import MarchSpace
from pcpinn.mesh.generate import generate_mesh
from pcpinn.solve.adapt.stepping import StepFailed, march_discrete


def front(t):
    return 0.3 + 0.4 * t


def exact(x, t):
    """The flux is one on both sides of the front."""
    return torch.where(x[0] < front(t), 1.0, 0.1) * (x[0] - front(t)) + torch.sin(3 * t)


def melting():
    """A material that conducts ten times less takes the place of another."""
    return pc.Problem(
        pc.Interval(0, 1).over(0, 1),
        density=lambda x, u: u.value,
        flux=lambda x, t, u: torch.where(x[0] < front(t), 1.0, 10.0) * u.grad,
        source=lambda x, t, u: torch.where(x[0] < front(t), 0.4, 0.04) - 3 * torch.cos(3 * t),
        boundary={
            "left": pc.Dirichlet(exact),
            "right": pc.Dirichlet(exact),
            "initial": pc.Initial(lambda x: exact(x, 0 * x[0])),
        },
    )


def test_a_jump_of_the_conductivity_that_moves():
    """The inverse of a mean over the stages is none there: steps of any length were said not to be solvable."""
    mesh = generate_mesh(pc.Interval(0, 1), cells=[20])
    found = march_discrete(MarchSpace(melting(), mesh, (0.0, 1.0), 3), "radau", 3, np.linspace(0, 1, 11))
    x = torch.from_numpy(found.space.form.space.unknown_nodes).T
    known = exact(x, torch.ones(x.shape[1], dtype=x.dtype)).numpy()
    assert np.linalg.norm(found.values[-1] - known) < 5e-3 * np.linalg.norm(known)


def test_steps_that_cannot_be_solved_are_halved_where_they_are():
    """A flame, u_t = u^2 - u^3: nothing for long, then all at once, and at different moments along the rod."""
    problem = pc.Problem(
        pc.Interval(0, 1).over(0, 4000),
        density=lambda x, u: u.value,
        source=lambda x, u: u.value**3 - u.value**2,
        boundary={
            "left": pc.Neumann(0.0),
            "right": pc.Neumann(0.0),
            "initial": pc.Initial(lambda x: 5e-4 * (1 + 0.2 * x[0])),
        },
    )
    space = MarchSpace(problem, generate_mesh(pc.Interval(0, 1), cells=[8]), (0.0, 4000.0), 2)
    times = np.linspace(0, 4000, 9)
    with pytest.raises(StepFailed):
        march_discrete(space, "radau", 3, times)
    found = march_discrete(space, "radau", 3, times, halving=True)
    lengths = np.diff(found.times)
    assert np.isin(times, found.times).all()
    assert lengths.min() < 50
    assert lengths[:2].min() == 500
    assert np.allclose(found.values[-1], 1.0)


def test_steps_that_run_off_are_not_said_to_be_solved():
    """Water in dry soil: content and flow flatten out where suction is large, and there is a solution far away, too."""

    def content(h):
        return 0.1 + 0.27 / (1 + (0.0335 * h) ** 2) ** 0.5

    def flow(h):
        full = 1 / (1 + (0.0335 * h) ** 2)
        return 0.0092 * full**0.25 * (1 - (1 - full) ** 0.5) ** 2

    problem = pc.Problem(
        pc.Interval(0, 40).over(0, 225),
        density=lambda x, h: content(h.value),
        flux=lambda x, h: flow(h.value) * (h.grad + 1),
        boundary={
            "left": pc.Dirichlet(-1000.0),
            "right": pc.Dirichlet(lambda x, t: -1000 + 925 * (1 - torch.exp(-t / 60))),
            "initial": pc.Initial(-1000.0),
        },
    )
    space = MarchSpace(problem, generate_mesh(pc.Interval(0, 40), cells=[20]), (0.0, 225.0), 1)
    found = march_discrete(space, "radau", 3, np.linspace(0, 225, 3), halving=True)
    assert -2000 < found.lowest[0] < -999


def test_rates_are_those_of_the_polynomials():
    """Compared with differences, inside of steps and at the start."""
    mesh = generate_mesh(pc.Interval(0, 1), cells=[6])
    march = march_discrete(MarchSpace(melting(), mesh, (0.0, 1.0), 3), "radau", 3, np.array([0.0, 0.05, 0.15]))
    for low, high in ((0.03 - 1e-6, 0.03 + 1e-6), (0.1 - 1e-6, 0.1 + 1e-6), (0.0, 1e-7)):
        before, after = march.at(np.array([low, high]))
        assert march.rates_at((low + high) / 2) == pytest.approx((after - before) / (high - low), rel=1e-4, abs=1e-4)
