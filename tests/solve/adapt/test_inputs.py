"""Inputs of a network to an accuracy."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import pcpinn as pc
from pcpinn.mesh.generate import generate_mesh
from pcpinn.solve.adapt.inputs import inputs_of, resolved
from pcpinn.solve.adapt.inverses import Inverses
from pcpinn.solve.adapt.level import Elements, Level
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


def test_listed_waves_that_nodes_cannot_tell_are_left_out():
    mesh = generate_mesh(pc.Rectangle((0, 0), (1, 3)), cells=(4, 40))
    own = resolve(METHODS.find("pcpinn"), False, {"features": "list", "frequencies": ((3.1, 19.0, 21.0), (40.0, 70.0))})
    found = resolved(own.with_recipe("mesh", replace(own.mesh, degree=2)), mesh).network
    assert found.frequencies == ((3.1, 19.0), (40.0,))  # 2.5 nodes for each wave, of 8 and 80


def level_of(problem, u):
    """A level whose solutions interpolate u (n, d) -> (n, C)."""
    mesh = generate_mesh(problem.domain, cells=(8, 8))
    coarse, fine = Elements(2).on(problem, mesh), Elements(3).on(problem, mesh)
    at = [u(f.unknown_nodes)[np.arange(f.size), f.unknown_components] for f in (coarse, fine)]
    return Level(coarse, at[0], fine, at[1], Inverses(fine))


def test_components_that_are_rounding_give_no_features():
    """Seepage along a channel: the velocity across it is zero, and its noise was taken for waves, which nodes could not tell."""
    sides = {name: pc.Dirichlet(0.0) for name in ("left", "right", "bottom", "top")}
    problem = pc.Problem(pc.Rectangle((0, 0), (1, 1)), fields={"u": 2}, flux=lambda x, u: u.grad, boundary=sides)

    def flow(noise):
        return lambda x: np.column_stack([np.sin(3 * x[:, 1]), noise * np.random.default_rng(0).normal(size=len(x))])

    without, rounding, much = (inputs_of(problem, level_of(problem, flow(s)), 1e-3) for s in (0.0, 1e-9, 1e-2))
    assert rounding == without
    assert much != without


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
