"""The sides of cells that coefficients jump across."""

import numpy as np
import pytest

import pcpinn as pc
from pcpinn.discretize.jump_facets import jump_facets
from pcpinn.discretize.onto_jumps import OntoJumps
from pcpinn.mesh.generate import generate_mesh


def steps(x):
    """An L of 10 in a square of 1."""
    return np.where((x[:, 0] > 0.5) & (x[:, 1] > 0.25), 10.0, 1.0)[:, None]


def test_straight_pieces_are_joined():
    found = jump_facets(steps, generate_mesh(pc.Rectangle((0, 0), (1, 1)), cells=(8, 8)))
    ends = sorted(sorted(map(tuple, piece.tolist())) for piece in found)
    assert ends == [[(0.5, 0.25), (0.5, 1.0)], [(0.5, 0.25), (1.0, 0.25)]]


def test_points_on_a_line():
    found = jump_facets(lambda x: np.where(x < 0.4, 1.0, 2.0), generate_mesh(pc.Interval(0, 1), cells=(10,)))
    assert found == pytest.approx(np.array([[[0.4]]]))


def test_a_circle_by_the_curved_sides_of_a_fitted_mesh():
    """Pieces of one circle, all of its length."""

    def disk(x):
        return np.where(((x - 0.5) ** 2).sum(axis=1) < 0.09, 10.0, 1.0)[:, None]

    mesh = OntoJumps(disk).fitted(generate_mesh(pc.Rectangle((0, 0), (1, 1)), cells=(10, 10)))
    found = jump_facets(disk, mesh)
    assert np.linalg.norm(found - 0.5, axis=-1) == pytest.approx(0.3, abs=1e-5)
    assert np.linalg.norm(found[:, 0] - found[:, 1], axis=1).sum() == pytest.approx(2 * np.pi * 0.3, rel=5e-3)


def test_nothing_where_nothing_jumps():
    mesh = generate_mesh(pc.Rectangle((0, 0), (1, 1)), cells=(4, 4))
    assert jump_facets(lambda x: np.exp(x), mesh).shape == (0, 2, 2)
