"""Pulses between the moments of the first steps are found, wherever they stand; what is smooth, or too fast, is left alone."""

import numpy as np
import pytest
import torch

import pcpinn as pc
from pcpinn.discretize.window import MarchSpace
from pcpinn.mesh.generate import generate_mesh
from pcpinn.solve.adapt.marches import Steps
from pcpinn.solve.adapt.moments import steps_that_see
from pcpinn.solve.adapt.stepping import march_discrete

AT, WIDTH = 0.4637, 4e-4
EIGHT = Steps("radau", 3, np.linspace(0, 1, 9))
MESH = generate_mesh(pc.Interval(0, 1), cells=[6])


def pulse(x, t):
    return torch.exp(-(((t - AT) / WIDTH) ** 2)) + 0 * x[0]


def rod(source=None, left=None, flux=lambda x, u: 0.1 * u.grad):
    return pc.Problem(
        pc.Interval(0, 1).over(0, 1),
        density=lambda x, u: u.value,
        flux=flux,
        source=source,
        boundary={"left": left or pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0), "initial": pc.Initial(0.0)},
    )


@pytest.mark.parametrize(
    "problem",
    [
        rod(source=lambda x, t, u: -pulse(x, t)),
        rod(left=pc.Dirichlet(pulse)),
        rod(left=pc.Neumann(pulse)),
        rod(left=pc.Robin(pulse, 1.0)),
        rod(left=pc.Natural(lambda x, t, n, u: pulse(x, t) - u.value)),
        rod(flux=lambda x, t, u: (1 + 9 * pulse(x, t)) * u.grad),
    ],
    ids=["source", "value", "flux", "coefficient of Robin", "natural", "conductivity"],
)
def test_a_pulse_is_found(problem):
    times = steps_that_see(problem, MESH, EIGHT).times
    step = np.searchsorted(times, AT)
    assert times[step] - times[step - 1] < 4 * WIDTH
    assert 8 < len(times) - 1 < 40


@pytest.mark.parametrize(
    "problem",
    [
        rod(),
        rod(source=lambda x, t, u: -torch.exp(-t), left=pc.Dirichlet(lambda x, t: torch.sin(2 * t))),
        rod(source=lambda x, t, u: -torch.sin(40_000 * t)),  # more steps than there is time for
    ],
    ids=["steady", "smooth", "too fast"],
)
def test_other_steps_stay(problem):
    assert steps_that_see(problem, MESH, EIGHT) is EIGHT or len(steps_that_see(problem, MESH, EIGHT).times) == 9


@pytest.mark.parametrize("problem", [rod(source=lambda x, t, u: -pulse(x, t)), rod(left=pc.Dirichlet(pulse))])
def test_what_is_nothing_at_most_moments_is_not_taken_for_steady(problem):
    times = np.array([0.0, AT - WIDTH, AT, AT + WIDTH, 1.0])
    found = march_discrete(MarchSpace(problem, MESH, (0.0, 1.0), 3), "radau", 3, times)
    assert np.abs(found.values[4:]).max() > 1e-4


def switch(x, t, at=0.37):
    return torch.where(t >= at, 1.0, 0.0) + 0 * x[0]


@pytest.mark.parametrize(
    "problem",
    [
        rod(source=lambda x, t, u: -switch(x, t)),
        rod(left=pc.Dirichlet(switch)),
        rod(flux=lambda x, t, u: (1 + 9 * switch(x, t)) * u.grad),
    ],
    ids=["source", "value", "conductivity"],
)
def test_steps_begin_at_jumps(problem):
    times = steps_that_see(problem, MESH, EIGHT).times
    near = times[np.argmin(np.abs(times - 0.37))]
    assert 0.37 - 1e-11 < near < 0.37  # the step before sees the time before it alone
    assert len(times) == 10


def test_a_step_that_ends_at_a_jump_is_moved_and_no_other_is_made():
    times = steps_that_see(rod(source=lambda x, t, u: -switch(x, t, 0.5)), MESH, EIGHT).times
    assert len(times) == 9
    assert 0 < 0.5 - times[4] < 1e-11


def test_a_hundred_jumps_are_steps():
    """With steps across them the estimate was a quarter of the error."""
    problem = rod(source=lambda x, t, u: -torch.where(torch.remainder(60 * t + 0.13, 1.0) < 0.5, 1.0, 0.0))
    times, jumps = steps_that_see(problem, MESH, EIGHT).times, (np.arange(1, 120) / 2 - 0.13) / 60
    assert np.abs(times[:, None] - jumps).min(axis=0).max() < 1e-11


def test_so_many_jumps_are_no_steps():
    problem = rod(source=lambda x, t, u: -torch.where(torch.remainder(150 * t, 1.0) < 0.5, 1.0, 0.0))
    assert np.abs(steps_that_see(problem, MESH, EIGHT).times[:, None] - EIGHT.times).min(axis=0).max() == 0


@pytest.mark.filterwarnings("ignore::pcpinn.errors.AccuracyWarning")
def test_the_estimate_knows_of_a_source_that_is_switched_on():
    """It was 77 times too small: with any number of time levels the step with the jump was wrong in the same way."""
    rate = np.pi**2 * 0.1
    problem = rod(source=lambda x, t, u: -switch(x, t) * torch.sin(torch.pi * x[0]))
    solution = pc.solve(problem, accuracy=1e-2, device="cpu")
    points = np.random.default_rng(0).random((2000, 2))
    grown = -np.expm1(-rate * np.maximum(points[:, 1] - 0.37, 0)) / rate
    off = solution(points) - np.sin(np.pi * points[:, 0]) * grown
    true = np.linalg.norm(off) / np.linalg.norm(np.sin(np.pi * points[:, 0]) * grown)
    assert 0.5 * true < solution.verdict.estimate < 2 * true


def spot(x, t, on=0.01):
    """On a tenth of the rod for a hundredth of the time."""
    return torch.where((x[0] > 0.66) & (x[0] < 0.76) & (t > AT) & (t < AT + on), 1.0, 0.0)


def test_a_heater_somewhere_is_switched_on_and_off():
    times = steps_that_see(rod(source=lambda x, t, u: -spot(x, t)), MESH, EIGHT).times
    assert np.abs(times[:, None] - np.array([AT, AT + 0.01])).min(axis=0).max() < 1e-11


def test_steps_beside_short_ones_are_not_far_longer():
    """The end of a pulse would fall into a long step, which does not see it."""
    length = np.diff(steps_that_see(rod(source=lambda x, t, u: -pulse(x, t)), MESH, EIGHT).times)
    assert (length[1:] / length[:-1]).max() <= 4.0001
    assert (length[:-1] / length[1:]).max() <= 4.0001
