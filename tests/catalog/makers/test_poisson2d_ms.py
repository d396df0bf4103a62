"""The computation behind the reference of poisson2d-ms: its parts, and coarse members against the shipped file."""

import numpy as np
import pytest
import skfem

from pcpinn.catalog.makers import poisson2d_ms
from pcpinn.catalog.makers.maker import distance
from pcpinn.catalog.makers.tensor_elements import Line
from pcpinn.catalog.poisson2d_ms import C0, C1, A, problem
from pcpinn.catalog.reference_file import read_shipped


def test_elements_are_graded_towards_every_interface():
    x = poisson2d_ms.graded_ends(3)
    assert len(x) == 5 * 8 + 1
    assert (x[0], x[-1]) == (-10, 10)
    for c in (-6.0, -2.0, 2.0, 6.0):
        at = int(np.argmin(np.abs(x - c)))
        assert x[at] == pytest.approx(c, abs=1e-12)
        np.testing.assert_allclose(np.diff(x)[at - 1 : at + 1], 4 * 0.5 * 0.15**3, rtol=1e-9)


def test_the_load_is_the_integral_of_f():
    line = Line(poisson2d_ms.graded_ends(1), 4)
    total = poisson2d_ms._load(line).sum()
    assert total == pytest.approx(16 * (C0.sum() + C1.sum() * (2 / np.pi) ** 2), rel=1e-6)


def test_a_quite_different_discretisation_agrees(monkeypatch):
    """Quadratic quadrilaterals of scikit-fem with the tables looked up by position."""
    monkeypatch.setattr(poisson2d_ms, "_CHOICES", ((1, 2),))
    ends = poisson2d_ms.graded_ends(1)
    mesh = skfem.MeshQuad.init_tensor(ends, ends)

    def cell(w):
        return tuple(np.clip(np.floor((w.x + 10) / 4), 0, 4).astype(int))

    def f(w):
        X = (w.x + 10) / 4
        return C0[cell(w)] + C1[cell(w)] * np.abs(np.sin(np.pi * X[0]) * np.sin(np.pi * X[1]))

    inside = skfem.Basis(mesh, skfem.ElementQuad2(), intorder=8)
    sides = skfem.FacetBasis(mesh, skfem.ElementQuad2(), intorder=8)
    K = skfem.BilinearForm(lambda u, v, w: A[cell(w)] * (u.grad[0] * v.grad[0] + u.grad[1] * v.grad[1]))
    R = skfem.BilinearForm(lambda u, v, w: A[cell(w)] * u * v)
    b = skfem.LinearForm(lambda v, w: f(w) * v).assemble(inside)
    u = skfem.solve(K.assemble(inside) + R.assemble(sides), b)
    np.testing.assert_allclose(poisson2d_ms.values(0)[:, 0], inside.probes(poisson2d_ms.points().T) @ u, atol=1e-6)


def test_coarse_members_approach_the_shipped_reference(monkeypatch):
    shipped, made = read_shipped("poisson2d-ms")
    assert shipped.error < 1e-5
    assert sorted(made["differences"], reverse=True) == made["differences"]
    monkeypatch.setattr(poisson2d_ms, "_CHOICES", ((1, 2), (2, 3)))
    coarse, fine = (distance(poisson2d_ms.values(k), shipped.values) for k in (0, 1))
    assert fine < 1e-3
    assert coarse > 5 * fine


def test_the_entry_has_the_maker_s_coefficients():
    """In the middle of cell (i, j): a, and f = c0 + c1."""
    import torch

    p = problem()
    for i, j in ((0, 3), (3, 0), (4, 4), (2, 1)):
        x = torch.tensor([-8.0 + 4 * i, -8.0 + 4 * j], dtype=torch.float64)
        unit = type("u", (), {"grad": torch.ones(2, dtype=torch.float64), "value": torch.tensor(0.0)})
        assert float(p.flux(x, unit)[0]) == A[i, j]
        assert float(p.source(x, unit)) == pytest.approx(-C0[i, j] - C1[i, j])
