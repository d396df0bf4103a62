"""Functions of one space in another."""

import numpy as np
import pytest

from pcpinn import Box, Disk, Interval, Rectangle
from pcpinn.discretize.space import Space
from pcpinn.discretize.transfer import prolongation
from pcpinn.mesh.bisect import bisected
from pcpinn.mesh.generate import generate_mesh
from pcpinn.mesh.refine import refined
from pcpinn.problem.field import Field

SHAPES = {
    "interval": Interval(0, 1),
    "square": Rectangle((0, 0), (1, 1)),
    "hole": Rectangle((0, 0), (1, 1)) - Disk((0.5, 0.5), 0.2, name="hole"),
    "box": Box((0, 0, 0), (1, 1, 1)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_mesh_and_its_refinement(name):
    """Parents and children are known: the same values as by search, in both directions."""
    mesh = generate_mesh(SHAPES[name], size=0.3)
    finer = refined(mesh, SHAPES[name])
    coarse, fine = (Space(m, (Field("u"),), 2) for m in (mesh, finer))
    for source, target in ((coarse, fine), (fine, coarse)):
        u = np.random.default_rng(0).standard_normal(source.size)
        found = prolongation(source, target) @ u
        assert found == pytest.approx(source.interpolate(u, target.unknown_nodes)[:, 0], abs=1e-9)


def test_as_many_cells_that_are_no_children():
    mesh = generate_mesh(SHAPES["square"], cells=(4, 4))
    other = generate_mesh(SHAPES["square"], cells=(8, 8))
    other = bisected(other, np.zeros(len(other.cells), dtype=bool))[0]
    source, target = (Space(m, (Field("u"),), 1) for m in (mesh, other))
    x = source.unknown_nodes[:, 0]
    assert prolongation(source, target) @ x == pytest.approx(target.unknown_nodes[:, 0])
