"""Least squares for the last layer, three ways: the same answers, and little of the table at a time."""

import pytest
import torch

from pcpinn.train.head_factors import Normal, Orthogonal, SemiNormal, orthogonal_bytes
from pcpinn.train.panels import Panels


class Table:
    """Features that are made anew whenever they are asked for; the most that were asked for at once."""

    def __init__(self, table, rows):
        self._table, self.rows, self.most = table, rows, 0

    @property
    def width(self):
        return self._table.shape[1]

    def at(self, points):
        self.most = max(self.most, len(points))
        return self._table[points].clone()


def table(condition, points=300, width=20):
    """Features in [0, 1] whose singular values fall to 1 / condition."""
    generator = torch.Generator().manual_seed(0)
    U, V = (
        torch.linalg.qr(torch.randn(n, width, generator=generator, dtype=torch.float64))[0] for n in (points, width)
    )
    return (U * torch.logspace(0, -torch.tensor(condition).log10(), width, dtype=torch.float64)) @ V.T


def fitted(kind, features, wanted, weights, rows=37):
    points = torch.arange(len(features)).flip(0)  # in an order of their own
    at = Table(features, rows)
    own = kind(at, points, weights[points])
    constant = torch.ones(len(features), 1, dtype=torch.float64)
    return torch.cat([features, constant], 1) @ own.solve(wanted[points]), at.most


@pytest.mark.parametrize(
    ("condition", "kind"), [(1e1, Normal), (1e1, SemiNormal), (1e6, SemiNormal), (1e10, SemiNormal)]
)
def test_a_part_at_a_time_as_all_at_once(condition, kind):
    """Values, which are what a march goes on with; weights of nearly dependent features are not unique."""
    features, generator = table(condition), torch.Generator().manual_seed(1)
    weights = torch.rand(300, generator=generator, dtype=torch.float64) + 0.1
    wanted = torch.randn(300, 2, generator=generator, dtype=torch.float64)
    u, _ = fitted(Orthogonal, features, wanted, weights)
    v, most = fitted(kind, features, wanted, weights)
    assert float((u - v).norm()) < 1e-10 * float(u.norm()) * max(1.0, condition / 1e6)
    assert most <= 37


def test_normal_equations_of_these_features_would_not_do():
    """What the triangle is for: squared, a condition number of 1e10 is beyond double precision."""
    features, generator = table(1e10), torch.Generator().manual_seed(1)
    weights = torch.ones(300, dtype=torch.float64)
    wanted = torch.randn(300, 2, generator=generator, dtype=torch.float64)
    u, v, w = (fitted(kind, features, wanted, weights)[0] for kind in (Orthogonal, SemiNormal, Normal))
    assert float((u - v).norm()) < 1e-3 * float((u - w).norm())


@pytest.mark.parametrize("columns", [5, 64])
def test_half_a_matrix_is_factorised_where_it_stands(columns):
    T = torch.randn(50, 23, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    H = Panels(23, T, columns)
    for part in T.split(7):
        H.add_gram(part)
    H.add_diagonal(0.5)
    whole = T.T @ T + 0.5 * torch.eye(23, dtype=torch.float64)
    assert abs(H.trace - float(whole.trace())) < 1e-9
    assert H.finite
    assert H.factorise()
    right = torch.randn(23, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    torch.testing.assert_close(H.solve(right), torch.linalg.solve(whole, right))


def test_a_matrix_that_is_not_positive_is_told():
    H = Panels(3, torch.zeros(1, dtype=torch.float64), 2)
    H.add_diagonal(-1.0)
    assert not H.factorise()


def test_orthogonal_factors_take_what_is_said():
    """Tensors alone, as torch counts them: within what the plan of a march sets aside."""
    from memory_of_tensors import most_held

    features, weights = table(1e2, 2000, 60), torch.ones(2000, dtype=torch.float64)
    held = most_held(lambda: Orthogonal(Table(features, 100), torch.arange(2000), weights))
    assert 0.5 * orthogonal_bytes(2000, 60) < held <= orthogonal_bytes(2000, 60)
