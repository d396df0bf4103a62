"""Waves of one length are found in a discrete solution, and given to the network."""

import numpy as np
import pytest
import torch

import pcpinn as pc
from pcpinn.mesh.generate import generate_mesh
from pcpinn.solve.adapt.inputs import inputs_of
from pcpinn.solve.adapt.inverses import Inverses
from pcpinn.solve.adapt.level import Elements, Level
from pcpinn.solve.adapt.spectrum import standing_out
from pcpinn.solve.adapt.wish import first_mesh
from pcpinn.solve.linear import settings_of

HOLE = pc.Rectangle((0, 0), (2, 1)) - [pc.Disk((1.0, 0.5), 0.2)]


def found(u, domain):
    """What stands out in a function (n, d) -> (n,), as interpolated on a mesh."""
    problem = pc.Problem(
        domain, flux=lambda x, u: u.grad, boundary={n: pc.Dirichlet(0.0) for n in domain.boundary_names}
    )
    mesh = generate_mesh(domain, size=domain.extent / 30)
    coarse, fine = Elements(2).on(problem, mesh), Elements(3).on(problem, mesh)
    level = Level(coarse, u(coarse.space.scalar[0].nodes), fine, u(fine.space.scalar[0].nodes), Inverses(fine))
    return standing_out(problem, level, np.ones(1, dtype=bool)), inputs_of(problem, level, 1e-3)


@pytest.mark.parametrize("domain", [pc.Rectangle((0, 0), (2, 1)), HOLE], ids=["box", "hole"])
def test_frequencies_of_ripples(domain):
    """Of waves that decay, along both axes; few lines through a hole are long enough along x, but all are along y."""
    own, settings = found(lambda x: np.exp(-x[:, 0]) * np.sin(17.3 * x[:, 0]) * np.cos(31.1 * x[:, 1]), domain)
    assert own[0] == pytest.approx([17.3], rel=5e-3)
    assert own[1] == pytest.approx([31.1], rel=5e-3)
    assert settings["network.features"] == "list"
    assert all(set(mine) < set(listed) for mine, listed in zip(own, settings["network.frequencies"], strict=True))


@pytest.mark.parametrize(
    "u",
    [
        lambda x: np.sin(3 * x[:, 0]),
        lambda x: np.exp(-((x[:, 0] - 0.7) ** 2) / 0.01),
        lambda x: np.tanh(30 * (x[:, 0] - 1)),
    ],
    ids=["slow", "bump", "front"],
)
def test_slow_waves_bumps_and_fronts_have_none(u):
    own, settings = found(u, pc.Rectangle((0, 0), (2, 1)))
    assert own == ()
    assert "network.features" not in settings


def test_a_first_mesh_that_is_long_in_time_has_long_time_resolved():
    """Where time is a coordinate of second order, cells are as long as they are wide, in the lengths of the equation."""

    def of(speed):
        problem = pc.Problem(
            pc.Interval(0, 1).over(0, 50, coordinate=True),
            flux=lambda x, u: torch.stack([u.grad[0], speed * u.grad[1]]),
            boundary={name: pc.Dirichlet(0.0) for name in ("left", "right", "initial", "final")},
        )
        return first_mesh(problem, settings_of("pcpinn", problem, None, {}))

    for speed, steps in ((1.0, 390), (100.0, 100), (0.0, 8)):
        times = np.unique(of(speed).nodes[:, 1])
        assert len(times) - 1 == pytest.approx(steps, rel=0.1)
