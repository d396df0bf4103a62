import numpy as np
import pytest
import torch

from pcpinn import Box, Field, Rectangle, Reference, Solution
from pcpinn.bench.graphics import style, thinned, write_figure
from pcpinn.bench.maps import _as_grid, _slices, error_maps
from pcpinn.mesh.generate import generate_mesh
from pcpinn.network import Architecture, DenseNetwork

BOX = generate_mesh(Box((0, 0, 0), (1, 1, 1)), cells=(2, 2, 2))
FLOW = generate_mesh(Rectangle((0, 0), (1, 1)).over(0, 2), cells=(2, 2), steps=2)


def solution(mesh, components=1):
    lower, upper = mesh.bounds
    network = DenseNetwork(
        Architecture(4, 1), lower.tolist(), upper.tolist(), components, torch.Generator().manual_seed(0), torch.float64
    )
    return Solution(network, (Field("u", components=components),), mesh, {})


def layers(levels, n=8):
    x, y = np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, n))
    return np.concatenate([np.stack([x.ravel(), y.ravel(), np.full(n * n, t)], axis=1) for t in levels])


@pytest.mark.parametrize("mesh", [BOX, FLOW], ids=["solid", "time"])
@pytest.mark.parametrize("scattered", [False, True])
def test_three_slices_of_three_dimensions(mesh, scattered):
    x = layers(np.linspace(0, mesh.bounds[1][2], 9), n=20)
    if scattered:
        x = x + np.random.default_rng(0).uniform(-0.01, 0.01, x.shape)
    slices = _slices(x, mesh)
    assert len(slices) == 3
    assert all(keep.sum() >= 50 for _, keep in slices)
    assert all((" at t" in name) == mesh.has_time for name, _ in slices)
    reference = Reference(x, np.zeros((len(x), 1)))
    with style():
        figure = error_maps([("pcpinn", "a", solution(mesh)), ("pinn", "b", solution(mesh))], reference)
        assert len(figure.axes) == 12  # three columns, solution above error, each with its colours


def test_figures_are_written_in_both_forms(tmp_path):
    x = layers([0.0])[:, :2]
    mesh = generate_mesh(Rectangle((0, 0), (1, 1)), cells=(2, 2))
    with style():
        figure = error_maps([("pcpinn", "costs $5", solution(mesh))], Reference(x, np.zeros((len(x), 1))))
        address, written = write_figure(figure, tmp_path, "a/../$b$ c")
    assert address.startswith("data:image/png;base64,")
    assert [p.name for p in written] == ["a-..-b-c.png", "a-..-b-c.pdf"]


def test_components_stand_side_by_side():
    mesh = generate_mesh(Rectangle((0, 0), (1, 1)), cells=(2, 2))
    x = layers([0.0])[:, :2]
    with style():
        figure = error_maps(
            [("pcpinn", "a", solution(mesh, 2))], Reference(x, np.zeros((len(x), 2)), components=(0, 1))
        )
    assert [ax.get_title() for ax in figure.axes if ax.get_title()] == ["u1", "u2", "|error|, a", "|error|, a"]


def test_points_on_a_grid_with_holes_are_found_and_others_not():
    x = layers([0.0])[:, :2]
    keep = np.hypot(x[:, 0] - 0.5, x[:, 1] - 0.5) > 0.3
    a, b, values = _as_grid(x[keep], x[keep, 0])
    assert values.shape == (8, 8)
    assert values.mask.sum() == (~keep).sum()
    np.testing.assert_allclose(values[0], np.linspace(0, 1, 8), atol=1e-8)
    np.testing.assert_allclose(a, b)
    assert _as_grid(np.random.default_rng(0).uniform(size=(50, 2)), np.zeros(50)) is None


def test_long_histories_are_thinned():
    kept = thinned(20_000)
    assert len(kept) <= 400
    assert (kept[0], kept[-1]) == (0, 19_999)
    assert (np.diff(kept) > 0).all()
    assert list(thinned(3)) == [0, 1, 2]
