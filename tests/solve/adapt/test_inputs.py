"""Inputs of a network to an accuracy."""

import numpy as np
import pytest
import torch

import pcpinn as pc
from pcpinn.mesh.generate import generate_mesh
from pcpinn.solve.adapt.inputs import resolved
from pcpinn.solve.method import METHODS
from pcpinn.solve.settings import resolve


def settings(**more):
    return resolve(
        METHODS.find("pcpinn"), False, {"features": "log", "feature_count": 6, "feature_high": 3.0, "degree": 2} | more
    )


@pytest.mark.parametrize(
    ("cells", "high", "count"), [((2, 2), -2, 1), ((4, 4), -1, 2), ((4, 40), -1, 2), ((20, 20), 2, 5), ((64, 64), 3, 6)]
)
def test_waves_that_nodes_cannot_tell_are_left_out(cells, high, count):
    mesh = generate_mesh(pc.Rectangle((0, 0), (1, 3)), cells=cells)
    found = resolved(settings(), mesh).network
    assert (found.feature_high, found.feature_count) == (high, count)
    shortest = 2 / 2.0 ** (found.feature_high + 2)  # of waves, in coordinates from -1 to 1, with 2 for all
    assert shortest >= min(2.5 * 2 / (2 * min(cells)), 1 / 16)


def test_other_features_stay():
    mesh = generate_mesh(pc.Rectangle((0, 0), (1, 1)), cells=(2, 2))
    own = resolve(METHODS.find("pcpinn"), False, {"features": "none"})
    assert resolved(own, mesh) is own


def test_a_bar_under_its_weight_is_right_between_nodes_too():
    """Features with one wave from node to node let it be wrong by 0.2 between nodes that were right to 2e-4."""
    E, nu, length = 200e9, 0.3, 2.0
    lam, mu, weight = E * nu / (1 + nu) / (1 - 2 * nu), E / 2 / (1 + nu), 7850 * 9.81

    def exact(x):
        across = -nu * x[:2] * x[2]
        along = (x[2] ** 2 - length**2) / 2 + nu * (x[0] ** 2 + x[1] ** 2) / 2
        return weight / E * torch.cat([across, along[None]])

    sides = ("left", "right", "front", "back", "bottom")
    problem = pc.Problem(
        pc.Box((-0.25, -0.25, 0), (0.25, 0.25, length)),
        fields={"u": 3},
        flux=lambda x, u: mu * (u.grad + u.grad.T) + lam * u.grad.trace() * torch.eye(3),
        source=lambda x, u: torch.stack([0 * x[0], 0 * x[0], 0 * x[0] + weight]),
        boundary={"top": pc.Dirichlet(exact), **{s: pc.Neumann(0.0) for s in sides}},
    )
    solution = pc.solve(problem, accuracy=3e-3)
    x = np.random.default_rng(0).uniform([-0.25, -0.25, 0], [0.25, 0.25, length], (500, 3))
    truth = exact(torch.from_numpy(x).T).numpy().T
    assert np.linalg.norm(solution(x) - truth) < 3e-3 * np.linalg.norm(truth)
    assert solution.verdict.reached
