"""Data that are there for a moment, somewhere, are found; the same of coefficients tells that a matrix is not constant."""

import numpy as np
import pytest
import torch

import pcpinn as pc
from pcpinn.discretize.bursts import burst_moments, timed
from pcpinn.discretize.window import MarchSpace
from pcpinn.mesh.generate import generate_mesh

SQUARE = pc.Rectangle((0, 0), (1, 1), name="walls")
MESH = generate_mesh(SQUARE, cells=[4, 4])
PLACE, MOMENT = (0.71, 0.23), 0.5772


def shot(x, t, size=0.04, duration=2e-3):
    """One in a hundred thousand of space and time."""
    away = ((x[0] - PLACE[0]) / size) ** 2 + ((x[1] - PLACE[1]) / size) ** 2 + ((t - MOMENT) / duration) ** 2
    return torch.exp(-away)


def plate(source=None, walls=None, flux=lambda x, u: u.grad):
    return pc.Problem(
        SQUARE.over(0, 1),
        density=lambda x, u: u.value,
        flux=flux,
        source=source,
        boundary={"walls": walls or pc.Dirichlet(0.0), "initial": pc.Initial(1.0)},
    )


def test_a_shot_is_found_with_its_place_height_and_duration():
    (found,) = timed(plate(source=lambda x, t, u: -1.0 - 3 * shot(x, t)), MESH)
    burst = found.bursts[0]
    assert np.allclose(burst.place, PLACE, atol=1e-3)
    assert abs(burst.moment - MOMENT) < 1e-4
    assert np.isclose(burst.height, 3, rtol=1e-3)
    assert 4e-4 < burst.width(1.0) < 2e-3  # half of it is over after 1.7e-3


def test_what_is_small_beside_a_steady_source_is_found():
    steady = 1e3
    problem = plate(source=lambda x, t, u: -steady * torch.exp(-1e3 * (x[0] - 0.2) ** 2) - shot(x, t))
    assert abs(burst_moments(problem, MESH)[0] - MOMENT) < 1e-4


@pytest.mark.parametrize("kind", [pc.Dirichlet, pc.Neumann, lambda g: pc.Robin(g, 1.0)])
def test_a_patch_of_a_wall(kind):
    problem = plate(walls=kind(lambda x, t: torch.exp(-(((x[1] - 0.3) / 0.05) ** 2) - ((t - MOMENT) / 2e-3) ** 2)))
    assert abs(burst_moments(problem, MESH)[0] - MOMENT) < 1e-3


def test_without_time_there_is_nothing():
    assert timed(plate(source=lambda x, u: -x[0]), MESH) == ()


def test_rounding_is_no_burst():
    assert burst_moments(plate(source=lambda x, t, u: -(x[0] + t) + t), MESH) == []


def test_a_matrix_that_changes_for_a_moment_is_not_constant():
    """At a few moments it is: marches of networks took its first P for all steps, and grew to 1e84."""

    def constant(factor):
        flux = lambda x, t, u: (0.02 + factor * torch.exp(-(((t - MOMENT) / 2e-3) ** 2))) * u.grad  # noqa: E731
        return MarchSpace(plate(flux=flux), MESH, (0.0, 1.0), 1).form.constant

    assert not constant(4.0)
    assert constant(0.0)
