"""Periodic sides have matching nodes and facets, in every kind of mesh."""

import numpy as np
import pytest

from pcpinn.errors import PcpinnError
from pcpinn.mesh.extrude import extrude
from pcpinn.mesh.generate import generate_mesh
from pcpinn.mesh.mesh import Mesh
from pcpinn.mesh.periodic import match_periodic, periodic_classes
from pcpinn.problem.shapes import Ball, Box, Disk, Interval, Rectangle

SQUARE = Rectangle((0, 0), (1, 1))
CUBE = Box((0, 0, 0), (1, 1, 1))


@pytest.mark.parametrize(
    ("domain", "pairs", "options"),
    [
        (SQUARE - Disk((0.82, 0.4), 0.12), [("left", "right"), ("top", "bottom")], {"size": 0.15}),
        (
            CUBE - Ball((0.75, 0.5, 0.6), 0.2),
            [("left", "right"), ("front", "back"), ("bottom", "top")],
            {"size": 0.25},
        ),
        ((SQUARE - Disk((0.8, 0.4), 0.1)).over(0, 3), [("left", "right"), ("initial", "final")], {"size": 0.2}),
        (SQUARE, [("left", "right")], {"cells": (3, 4)}),
        (SQUARE.over(0, 1), [("bottom", "top")], {"cells": (3, 4), "steps": 2}),
        (Interval(0, 1).over(0, 1), [("left", "right")], {"size": 0.1}),
    ],
)
def test_periodic_sides_match(domain, pairs, options):
    mesh = generate_mesh(domain, periodic=pairs, **options)
    lower, upper = mesh.bounds
    for name_a, name_b in pairs:
        a, b = match_periodic(mesh, name_a, name_b)
        shift = mesh.nodes[b] - mesh.nodes[a]
        assert len(a) == len(np.unique(b)) > 2
        np.testing.assert_allclose(shift, np.tile(shift[0], (len(a), 1)), atol=1e-10)
        assert np.abs(shift[0]).max() == pytest.approx(np.max((upper - lower) * (np.abs(shift[0]) > 0.1)))
        partner = dict(zip(a.tolist(), b.tolist(), strict=True))
        moved = {tuple(sorted(partner[v] for v in f)) for f in mesh.boundaries[name_a].tolist()}
        assert moved == {tuple(sorted(f)) for f in mesh.boundaries[name_b].tolist()}


def test_without_periodic_an_asymmetric_mesh_does_not_match():
    mesh = generate_mesh(SQUARE - Disk((0.88, 0.4), 0.1), size=0.2, curvature=8)
    with pytest.raises(PcpinnError, match="do not match"):
        match_periodic(mesh, "left", "right")


def test_corners_of_a_doubly_periodic_square_are_one_point():
    mesh = generate_mesh(SQUARE, cells=(3, 4), periodic=[("left", "right"), ("bottom", "top")])
    classes = periodic_classes(mesh, [("left", "right"), ("bottom", "top")])
    assert len(np.unique(classes)) == 3 * 4
    corner = np.all((mesh.nodes == 0) | (mesh.nodes == 1), axis=1)
    assert corner.sum() == 4
    assert len(np.unique(classes[corner])) == 1


def test_unknown_side_is_refused():
    mesh = generate_mesh(SQUARE, cells=(2, 2))
    with pytest.raises(PcpinnError, match="'hole' does not exist"):
        match_periodic(mesh, "left", "hole")


def test_ranks_make_the_cuts_of_a_pulled_mesh_match_for_any_numbering():
    flat = generate_mesh(SQUARE, cells=(4, 4))
    number = np.random.default_rng(0).permutation(len(flat.nodes))
    nodes = np.empty_like(flat.nodes)
    nodes[number] = flat.nodes
    mixed = Mesh(nodes, number[flat.cells], {name: number[rows] for name, rows in flat.boundaries.items()})
    pairs = [("left", "right"), ("bottom", "top")]
    levels = np.linspace(0, 1, 3)
    for pair in pairs:
        match_periodic(extrude(mixed, levels, ("low", "high"), rank=periodic_classes(mixed, pairs)), *pair)
        with pytest.raises(PcpinnError, match="cut into different facets"):
            match_periodic(extrude(mixed, levels, ("low", "high")), *pair)
