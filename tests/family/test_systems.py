"""Batches of systems against each of their members, assembled by itself; Krylov steps against dense solves."""

import numpy as np
import pytest
import torch

import pcpinn as pc
from pcpinn.discretize.finite_elements import FiniteElements
from pcpinn.discretize.slabs import TimeSlabs
from pcpinn.discretize.system import linear_system
from pcpinn.family.direct import direct_solutions
from pcpinn.family.discretise import make_system
from pcpinn.family.krylov import conjugate_gradients, gmres
from pcpinn.family.run import family_settings
from pcpinn.solve.build import make_mesh

CPU = torch.device("cpu")


def system_of(family, **choices):
    settings = family_settings(family, None, choices)
    mesh = make_mesh(family.base, settings)
    return make_system(family, mesh, settings, CPU), mesh


def general(a, g, k):
    """Diffusion, convection and reaction, with periodic, Dirichlet and Robin conditions, all of them with parameters."""
    return pc.Problem(
        pc.Rectangle((0, 0), (1, 1)),
        flux=lambda x, u: torch.exp(a[0] * torch.sin(x[0]) + a[1] * x[1]) * u.grad,
        source=lambda x, u: k * u.value + torch.stack([k, a[0]]) @ u.grad - g,
        boundary={"left": pc.Dirichlet(lambda x: g * x[1]), "right": pc.Robin(k, g), "bottom": pc.Periodic("top")},
    )


def elasticity(m):
    """Two components that are coupled."""

    def flux(x, u):
        return m * (u.grad + u.grad.T) + torch.trace(u.grad) * torch.eye(2, dtype=x.dtype)

    return pc.Problem(
        pc.Rectangle((0, 0), (1, 1)),
        flux=flux,
        fields=pc.Field("u", 2),
        boundary={
            "left": pc.Dirichlet((0.0, 0.0)),
            "right": pc.Neumann(lambda x: torch.stack([m, 0 * m])),
            "bottom": pc.Neumann(0.0),
            "top": pc.Neumann(0.0),
        },
    )


@pytest.mark.parametrize(
    "family",
    [
        pc.Family(general, a=pc.Range(-1, 1, count=2), g=pc.Range(0.0, 2.0), k=pc.Range(0.1, 10, log=True)),
        pc.Family(elasticity, m=pc.Range(0.5, 2)),
    ],
)
def test_matrices_and_right_sides_are_those_of_each_problem(family):
    system, mesh = system_of(family, cells=(5, 5), degree=2)
    mu = family.sample(3, seed=1)
    A, b = system.linearise(None, mu), system.right_side(mu)
    v = torch.randn(3, system.size, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    products = A.apply(v)
    for s in range(3):
        alone = linear_system(FiniteElements(family.at(mu[s]), mesh, 2))
        assert abs(alone.A - A.to_scipy(s)).max() < 1e-12
        assert np.abs(alone.b - b[s].numpy()).max() < 1e-12
        assert np.abs(alone.A @ v[s].numpy() - products[s].numpy()).max() < 1e-11
        assert np.abs(alone.equation.residual(v[s].numpy()) - system.residual(v, mu)[s].numpy()).max() < 1e-11
    assert A.symmetric == (len(family.named) == 1)
    assert system.linear
    for at in (None, v):
        matrices, F = system.linearise_with(at, mu)
        assert torch.equal(matrices.entries, system.linearise(at, mu).entries)
        assert torch.equal(F, -b if at is None else system.residual(v, mu))
    solutions = direct_solutions(system, mu)
    for s in range(3):
        alone = linear_system(FiniteElements(family.at(mu[s]), mesh, 2))
        assert np.abs(alone.solution - solutions[s]).max() < 1e-10 * np.abs(alone.solution).max()


def test_a_matrix_that_does_not_change_is_factorised_once(monkeypatch):
    from pcpinn.family import direct

    made = []

    class Counted(direct.Factors):
        def __init__(self, A):
            made.append(A)
            super().__init__(A)

    monkeypatch.setattr(direct, "Factors", Counted)
    monkeypatch.setattr(direct, "_AT_ONCE", 1)  # and assembled once, if equations agree with it
    for factor, count in ((lambda a: 1.0, 1), (lambda a: 2 + a, 4), (lambda a: torch.where(a > 0.0, 3.0, 1.0), 3)):
        family = pc.Family(
            lambda a, factor=factor: pc.Problem(
                pc.Interval(0, 1),
                flux=lambda x, u: factor(a) * u.grad,
                source=lambda x, u: -a,
                boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)},
            ),
            a=pc.Range(-1, 1),
        )
        system, _ = system_of(family, cells=(4,), degree=2)
        made.clear()
        mu = family.sample(4, seed=0)
        solutions = direct_solutions(system, mu)
        assert len(made) == count
        assert solutions.max(axis=1) == pytest.approx([max(0.0, float(a / 8 / factor(a))) for a in mu[:, 0]])


def test_nonlinear_derivatives():
    def make(a):
        return pc.Problem(
            pc.Interval(0, 1),
            flux=lambda x, u: (1 + a * u.value**2) * u.grad,
            source=lambda x, u: -1.0,
            boundary={"left": pc.Dirichlet(a), "right": pc.Natural(lambda x, n, u: -(u.value**2))},
        )

    family = pc.Family(make, a=pc.Range(0.5, 2))
    system, _ = system_of(family, cells=(6,), degree=2)
    assert not system.linear
    mu, generator = family.sample(2), torch.Generator().manual_seed(0)
    u, v = (torch.randn(2, system.size, dtype=torch.float64, generator=generator) for _ in range(2))
    step = 1e-6
    difference = (system.residual(u + step * v, mu) - system.residual(u - step * v, mu)) / (2 * step)
    assert torch.allclose(system.linearise(u, mu).apply(v), difference, atol=1e-6)


def heat(k, c):
    return pc.Problem(
        pc.Interval(0, 1).over(0, 0.5),
        density=lambda x, u: u.value,
        flux=lambda x, u: k * u.grad,
        source=lambda x, t, u: c * u.grad[0] - t,
        boundary={
            "left": pc.Dirichlet(0.0),
            "right": pc.Dirichlet(lambda x, t: t * c),
            "initial": pc.Initial(lambda x: torch.sin(torch.pi * x[0]) * (1 + c)),
        },
    )


def test_slabs_are_those_of_each_problem():
    family = pc.Family(heat, k=pc.Range(0.05, 0.5, log=True), c=pc.Range(-1, 1))
    system, mesh = system_of(family, size=0.2, steps=3)
    mu = family.sample(2)
    A, b = system.linearise(None, mu), system.right_side(mu)
    v = torch.randn(2, system.size, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    for s in range(2):
        alone = linear_system(TimeSlabs(family.at(mu[s]), mesh, "radau", 3, 2))
        assert np.abs(alone.b - b[s].numpy()).max() < 1e-12
        assert np.abs(alone.A @ v[s].numpy() - A.apply(v)[s].numpy()).max() < 1e-11
        assert abs(alone.A - A.to_scipy(s)).max() < 1e-12


class Dense:
    def __init__(self, A):
        self.A = A

    def apply(self, v):
        return torch.einsum("sij,sj->si", self.A, v)


def test_krylov_steps_against_dense_solves():
    generator = torch.Generator().manual_seed(0)
    n = 12
    M = torch.randn(3, n, n, dtype=torch.float64, generator=generator)
    r = torch.randn(3, n, dtype=torch.float64, generator=generator)
    positive = M @ M.mT + n * torch.eye(n, dtype=torch.float64)
    diagonal = positive.diagonal(dim1=1, dim2=2)
    x, bad = conjugate_gradients(Dense(positive), lambda v: v / diagonal, r, n)
    assert torch.allclose(x, torch.linalg.solve(positive, r))
    assert not bad.any()
    assert conjugate_gradients(Dense(-positive), lambda v: v, r, 2)[1].all()
    general_ = M + 6 * torch.eye(n, dtype=torch.float64)
    weights = torch.rand(n, dtype=torch.float64, generator=generator) + 0.5
    exact = torch.linalg.solve(general_, r)
    assert torch.allclose(gmres(Dense(general_), lambda v: v, r, n, weights), exact, atol=1e-8)
    assert torch.allclose(
        gmres(Dense(general_), lambda v: v, r, n + 4, weights), exact, atol=1e-8
    )  # more than it needs
    few = [
        float((general_ @ gmres(Dense(general_), lambda v: v, r, k, weights)[..., None] - r[..., None]).norm())
        for k in (2, 6)
    ]
    assert few[1] < few[0] < float(r.norm())
