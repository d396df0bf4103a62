"""Mesh lines: through the places asked for, closer near them."""

import numpy as np
import pytest

from pcpinn.errors import PcpinnError
from pcpinn.mesh.axes import mesh_lines
from pcpinn.mesh.generate import generate_mesh
from pcpinn.problem.shapes import Interval, Rectangle


def test_without_places_the_lines_are_even():
    np.testing.assert_array_equal(mesh_lines(-1.0, 3.0, 8), np.linspace(-1, 3, 9))


def test_cells_are_shared_by_length():
    np.testing.assert_allclose(mesh_lines(0.0, 1.0, 4, [0.75]), [0, 0.25, 0.5, 0.75, 1])
    np.testing.assert_allclose(mesh_lines(0.0, 1.0, 2, [0.9]), [0, 0.9, 1])


def test_places_outside_are_left_out():
    np.testing.assert_array_equal(mesh_lines(0.0, 1.0, 2, [0.0, 1.0, 7.0]), [0, 0.5, 1])


@pytest.mark.parametrize("count", [3, 6, 9])
@pytest.mark.parametrize("layers", [1, 3])
def test_layers_on_both_sides_of_each_place(count, layers):
    x = mesh_lines(0.0, 3.0, count, [1.0, 2.0], layers)
    assert len(x) == count + 1 + 4 * layers
    assert (np.diff(x) > 0).all()
    gaps = np.diff(x)
    for c in (1.0, 2.0):
        at = int(np.flatnonzero(x == c)[0])
        np.testing.assert_allclose(
            gaps[at + 1 : at + layers] / gaps[at : at + layers - 1], [4, *[5] * layers][: layers - 1]
        )
        np.testing.assert_allclose(gaps[at : at + layers], gaps[at - layers : at][::-1])


def test_too_few_cells():
    with pytest.raises(PcpinnError, match="2 cells are too few for 3 pieces"):
        mesh_lines(0.0, 1.0, 2, [0.3, 0.6])


def test_a_mesh_has_the_lines():
    mesh = generate_mesh(Rectangle((0, 0), (1, 1)), cells=(4, 2), kinks=((0.3,), ()), lines=1)
    assert len(np.unique(mesh.nodes[:, 0])) == 7
    assert 0.3 in mesh.nodes[:, 0]
    np.testing.assert_array_equal(np.unique(mesh.nodes[:, 1]), [0, 0.5, 1])


def test_time_has_lines_too():
    mesh = generate_mesh(Interval(0, 1).over(0, 1), cells=2, steps=3, kinks=((), (0.4,)))
    assert 0.4 in mesh.nodes[:, 1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"size": 0.5, "kinks": ((0.5,), ()), "lines": 1}, "no cells"),
        ({"cells": (2, 2), "lines": 1}, "no kinks"),
        ({"cells": (2, 2), "kinks": ((0.5,),)}, "1 axes, but there are 2"),
    ],
)
def test_refused(options, words):
    with pytest.raises(PcpinnError, match=words):
        generate_mesh(Rectangle((0, 0), (1, 1)), **options)
