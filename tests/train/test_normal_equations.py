"""Normal equations of Jacobians in blocks, against the whole matrix."""

import torch

from pcpinn.train.normal_equations import diagonal_of, gram_of, pulled, pushed, units_of

CPU = torch.device("cpu")


def random(*shape, seed):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def blocks():
    """Two kinds of residuals for six weights: one of the first and third part, one of the second alone."""
    a, b, c = slice(0, 2), slice(2, 5), slice(5, 6)
    rows = [[(random(4, 2, seed=0), a), (random(4, 1, seed=1), c)], [(random(7, 3, seed=2), b)]]
    whole = torch.zeros(11, 6, dtype=torch.float64)
    whole[:4, a], whole[:4, c], whole[4:, b] = rows[0][0][0], rows[0][1][0], rows[1][0][0]
    return rows, whole, [a, b, c]


def test_products():
    rows, J, _ = blocks()
    r, d = random(11, seed=3), random(6, seed=4)
    torch.testing.assert_close(gram_of(rows, 6, CPU), J.T @ J)
    torch.testing.assert_close(diagonal_of(rows, 6, CPU), (J.T @ J).diagonal())
    torch.testing.assert_close(pulled(rows, [r[:4], r[4:]], 6), J.T @ r)
    torch.testing.assert_close(torch.cat(pushed(rows, d)), J @ d)


def test_units():
    """Each part of the weights has the mean curvature of its own; where that is zero, the mean of the matrix."""
    _, J, parts = blocks()
    H, curvature = J.T @ J, (J.T @ J).diagonal().clone()
    curvature[5] = 0.0
    units = units_of(parts, curvature, H)
    floor = 1e-8 * curvature.mean()
    torch.testing.assert_close(units[:2], (H.diagonal()[:2].mean() + floor).expand(2))
    torch.testing.assert_close(units[2:5], (H.diagonal()[2:5].mean() + floor).expand(3))
    torch.testing.assert_close(units[5], H[5, 5] + floor)
