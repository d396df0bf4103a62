"""Still pictures: scales that can be compared, titles that fit."""

import itertools

import numpy as np
import pytest
from formulas import Formula, plate_slabs, square_simplices

from pcpinn.mesh.generate import generate_mesh
from pcpinn.mesh.slab_mesh import SlabMesh
from pcpinn.problem.shapes import Interval, Rectangle
from pcpinn.solution.picture import compose, empty_figure, subdivided, thinned
from pcpinn.solution.reference import Reference


class Named(Formula):
    names = ("u",)


@pytest.mark.parametrize("mesh", [plate_slabs((0.0, 3.0)), square_simplices()], ids=["slabs", "simplices"])
def test_moments_share_one_scale(mesh):
    axes = compose(empty_figure(), Named(mesh, lambda x, y, t: x + 10 * t))
    limits = {ax.collections[0].get_clim() for ax in axes}
    assert len(axes) == 4
    ((low, high),) = limits
    lower, upper = mesh.bounds
    assert low == pytest.approx(lower[0] + 10 * lower[2])
    assert high == pytest.approx(upper[0] + 10 * upper[2])
    assert next(ax.get_title() for ax in axes) == f"u at t = {lower[2]:.3g}"


@pytest.mark.parametrize("shape", [(8, 1), (1, 8), (1, 1)])
def test_ticks_and_titles_have_room(shape):
    """Nothing overlaps, whatever the proportions of the domain."""
    mesh = generate_mesh(Rectangle((0, 0), shape), cells=(4, 4))
    points = np.random.default_rng(0).uniform([0, 0], shape, (200, 2))
    figure = empty_figure()
    known = Reference(points, points[:, 0] + 1e-3, kind="certified")
    axes = compose(figure, Named(mesh, lambda x, y: x), known)
    figure.canvas.draw()
    width = figure.bbox.width
    for ax in axes:
        title = ax.title.get_window_extent()
        assert title.x0 >= 0
        assert title.x1 <= width
        for axis, side in ((ax.xaxis, "x"), (ax.yaxis, "y")):
            low, high = getattr(ax, f"get_{side}lim")()
            ticks = [t.label1 for t in axis.get_major_ticks() if low <= t.get_loc() <= high]
            boxes = [t.get_window_extent() for t in ticks]
            ends = sorted((getattr(b, f"{side}0"), getattr(b, f"{side}1")) for b in boxes)
            assert len(ends) >= 2
            assert all(a[1] <= b[0] for a, b in itertools.pairwise(ends))
    first, second = (ax.title.get_window_extent() for ax in axes)
    assert first.x1 < second.x0


def test_a_long_march_is_drawn_with_the_lines_that_a_picture_shows():
    """A million triangles, each of them in sixteen, would be looked at for minutes."""
    long = SlabMesh(generate_mesh(Interval(0, 1), cells=(500,)), np.linspace(0, 3, 1001))
    drawn = thinned(long)
    assert drawn.cell_count < 50_000
    assert np.array_equal(np.concatenate(drawn.bounds), np.concatenate(long.bounds))
    assert len(subdivided(drawn.simplices)[0]) < 500_000
    short = SlabMesh(long.space, np.linspace(0, 3, 11))
    assert thinned(short) is short
