"""The initial velocity of burgers2d-c: the published draw, the same in NumPy and torch."""

import numpy as np
import torch
from torch.func import vmap

from pcpinn.catalog.burgers2d_start import burgers2d_start


def test_the_draw():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    start = burgers2d_start.__wrapped__()
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    np.testing.assert_allclose(start.scale, 8.151189, atol=5e-7)
    np.testing.assert_allclose(start.shift, [0.656054, 0.489384], atol=5e-7)


def test_is_the_sum_of_its_waves():
    start = burgers2d_start()
    rng = np.random.RandomState(20220722)
    expected = []
    x, y = 0.37, 1.81
    for _ in range(2):
        A, B = rng.randn(4, 4), rng.randn(4, 4)
        angle = [[2 * np.pi * (i * x + j * y) for j in range(4)] for i in range(4)]
        expected.append((A * np.sin(angle) + B * np.cos(angle)).sum())
    expected = 2 * np.array(expected) / start.scale + start.shift
    np.testing.assert_allclose(start.on_grid(np.array([x]), np.array([y]))[:, 0, 0], expected, atol=1e-13)
    np.testing.assert_allclose(start.at(torch.tensor([x, y, 0.0], dtype=torch.float64)), expected, atol=1e-13)


def test_at_works_under_vmap_and_is_periodic():
    start, axis = burgers2d_start(), np.linspace(0, 1, 9)
    x = torch.from_numpy(np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2))
    u = vmap(start.at)(x).T.reshape(2, 9, 9).numpy()
    np.testing.assert_allclose(u, start.on_grid(axis, axis), atol=1e-13)
    np.testing.assert_allclose(u[:, 0], u[:, -1], atol=1e-13)
    np.testing.assert_allclose(u[:, :, 0], u[:, :, -1], atol=1e-13)
    assert start.at(x[3].float()).dtype == torch.float32
