"""Pictures of inverse problems: one scale for truth and reconstruction, boundaries as lines."""

import numpy as np
import pytest

import pcpinn as pc
from pcpinn.invert.picture import _chain
from pcpinn.solution.picture import empty_figure


def inflow(q):
    """A flux q(y) through the left side of a square."""
    left = pc.Neumann(lambda x: q(x))
    others = {"right": pc.Dirichlet(0.0), "bottom": pc.Neumann(0.0), "top": pc.Neumann(0.0)}
    square = pc.Rectangle((0, 0), (1, 1))
    return pc.Problem(square, flux=lambda x, u: u.grad, source=lambda x, u: 0.0, boundary={"left": left, **others})


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, (40, 2))
    data = pc.Observations(x, 1 - x[:, 0], noise=0.01)
    return pc.infer(
        inflow, data, {"q": pc.Coefficient(width=4)}, cells=(3, 3), degree=1, width=6, depth=1, iterations=3
    )


def test_a_coefficient_of_a_boundary_is_drawn_along_it(found):
    assert found.result["inverse"]["boundaries"] == {"q": ["left"]}
    rng = np.random.default_rng(1)
    at = rng.uniform(0, 1, (200, 2))
    truth = pc.Truth(at, 1 - at[:, :1], {"q": np.ones(len(at))})
    axes = found.draw_into(empty_figure(), truth)
    titles = [ax.get_title() for ax in axes]
    expected = ["40 data", "u: reconstruction", "u: truth", "u: reconstruction - truth", "u: standard deviation"]
    expected += ["q: reconstruction on left", "q: truth on left", "q: reconstruction - truth", "q: standard deviation"]
    assert titles == expected
    one, two = (axes[k].collections[0].get_clim() for k in (1, 2))
    assert one == two
    assert [ax.get_xlabel() for ax in axes] == ["x"] * 5 + ["way along left"] * 4
    assert axes[1].lines[0].get_xdata().size == 40  # where the data lie
    way = axes[5].lines[0].get_xdata()
    assert (way.min(), way.max()) == (0, pytest.approx(1))


def test_edges_in_the_order_of_the_way():
    assert _chain(np.array([[3, 4], [1, 2], [2, 3]])) in ([1, 2, 3, 4], [4, 3, 2, 1])
    round_ = _chain(np.array([[0, 1], [1, 2], [2, 0]]))
    assert sorted(round_) == [0, 1, 2]
