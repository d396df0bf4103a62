"""Answers whose sizes vary over powers of ten are right relative to their own size."""

import numpy as np
import torch

import pcpinn as pc
from pcpinn.family.sizes import factors, sizes_of

QUERIES = 40


class Alike:
    """A system whose answers are single numbers of two fields."""

    def sizes(self, u):
        return u.abs()


def drawn(count, K=2):
    return 2 * torch.rand(count, K, generator=torch.Generator().manual_seed(0), dtype=torch.float64) - 1


def test_sizes_are_learned_where_they_vary():
    z = drawn(80)
    u = torch.stack([torch.exp(4 * z[:, 0] - z[:, 1] ** 2), 1 + 0.1 * z[:, 0]], 1)
    found = sizes_of(Alike(), z, u, torch.ones(2).double())
    at = drawn(20)
    assert torch.allclose(factors(found, at, 2)[:, 0], torch.exp(4 * at[:, 0] - at[:, 1] ** 2), rtol=1e-8)
    assert torch.equal(factors(found, at, 2)[:, 1], torch.ones(20).double())


def test_none_where_answers_pass_through_zero():
    z = drawn(80)
    assert sizes_of(Alike(), z, z, torch.ones(2).double()) is None
    assert sizes_of(Alike(), z, 0 * z, torch.ones(2).double()) is None
    assert sizes_of(Alike(), z[:10], z.exp()[:10], torch.ones(2).double()) is None  # too few to tell


def rod(k, q):
    """-k u'' + u = q, u = 0 at the ends."""
    return pc.Problem(
        pc.Interval(0, 1),
        flux=lambda x, u: k * u.grad,
        source=lambda x, u: u.value - q,
        boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)},
    )


def test_small_answers_are_as_right_as_large_ones():
    family = pc.Family(rod, k=pc.Range(0.1, 100, log=True), q=pc.Range(0.1, 10, log=True))
    surrogate = pc.solve(family, accuracy=2e-2, cells=(40,), device="cpu")
    assert surrogate.verdict.reached
    x = np.linspace(0, 1, 101)[:, None]
    errors = []
    for k, q in family.sample(QUERIES, seed=5).tolist():
        s = np.sqrt(1 / k)
        u = q * (1 - np.cosh(s * (x[:, 0] - 0.5)) / np.cosh(s / 2))
        errors.append(np.linalg.norm(surrogate(x, [k, q]) - u) / np.linalg.norm(u))
    assert np.quantile(errors, 0.95) < 2e-2
