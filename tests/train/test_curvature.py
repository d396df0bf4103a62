"""Solves with J^T J + damping I, in every form, against dense algebra."""

import pytest
import torch

from pcpinn.train.curvature import Dual, MatrixFree, Primal, gram, gram_by_blocks


def random(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).to(dtype)


FORMS = {
    "primal": lambda J: Primal.of_parts(J.split(7)),
    "dual": Dual,
    "free": lambda J: MatrixFree(lambda v: J.T @ (J @ v), float((J**2).sum()) / J.shape[1], steps=200, tolerance=1e-12),
}


@pytest.mark.parametrize("damping", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("shape", [(30, 12), (12, 30), (12, 12), (1, 5)])
@pytest.mark.parametrize("form", FORMS)
def test_equals_a_dense_solve(form, shape, damping):
    J, g = random(*shape), random(shape[1], seed=1)
    curvature = FORMS[form](J)
    H = J.T @ J
    expected = torch.linalg.solve(H + damping * torch.eye(shape[1], dtype=H.dtype), g)
    torch.testing.assert_close(
        curvature.solve(g, damping / curvature.scale), expected, rtol=1e-8, atol=1e-8 * float(expected.abs().max())
    )
    assert curvature.scale == pytest.approx(float(H.diagonal().mean()))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("layout", ["rows", "columns", "slice"])
def test_gram(layout, dtype):
    J = random(20, 7, dtype=dtype)
    J = {"rows": J, "columns": J.T.contiguous().T, "slice": random(20, 14, dtype=dtype)[:, ::2]}[layout]
    torch.testing.assert_close(gram(J), J.T @ J, rtol=1e-5 if dtype == torch.float32 else 1e-12, atol=1e-5)
    torch.testing.assert_close(gram(J.T), J @ J.T, rtol=1e-5 if dtype == torch.float32 else 1e-12, atol=1e-5)


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_single_precision_rows(form):
    J, g = random(30, 12), random(12, seed=1)
    curvature = FORMS[form](J.float())
    x = curvature.solve(g, 0.5 / curvature.scale)
    expected = torch.linalg.solve(J.T @ J + 0.5 * torch.eye(12, dtype=J.dtype), g)
    assert x.dtype == torch.float64
    torch.testing.assert_close(x, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_what_is_not_finite_gives_nothing(form):
    J, g = random(8, 4), random(4, seed=1)
    J[2, 1] = torch.nan
    assert FORMS[form](J).solve(g, 1.0) is None


def test_loose_products_still_descend():
    """A few steps of conjugate gradients give a direction along which the model falls."""
    J, g = random(40, 25), random(25, seed=1)
    x = MatrixFree(lambda v: J.T @ (J @ v), 1.0, steps=3).solve(g, 1e-3)
    model = lambda d: float(0.5 * (J @ d) @ (J @ d) - g @ d)  # noqa: E731
    assert model(x) < model(0 * x) == 0
    assert float(g @ x) > 0


def test_each_weight_in_its_own_unit():
    J, g, units = random(30, 12), random(12, seed=1), random(12, seed=2).abs()
    H = J.T @ J
    curvature = Primal(H, units)
    for damping in (0.3, 2.0, 0.3):
        expected = torch.linalg.solve(H + damping * torch.diag(units), g)
        torch.testing.assert_close(curvature.solve(g, damping), expected)


def test_no_gradient_no_step():
    J, g = random(8, 4), torch.zeros(4, dtype=torch.float64)
    for form in ("primal", "dual"):
        assert torch.all(FORMS[form](J).solve(g, 1.0) == 0)


def test_gram_by_blocks_is_the_product():
    J = random(40, 23)
    for block in (1, 5, 23, 100):
        assert torch.allclose(gram_by_blocks(J, block), J.T @ J, atol=1e-13)
