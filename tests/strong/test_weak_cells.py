import numpy as np
import pytest
import torch
from numpy.polynomial import legendre

from pcpinn import Dirichlet, Initial, Interval, Problem, Rectangle
from pcpinn.discretize.pointwise import Pointwise
from pcpinn.strong.form import strong_residual
from pcpinn.strong.weak_cells import WeakCells


def cells(lower, sides, tests=3, nodes=8):
    return WeakCells(torch.tensor(lower, dtype=torch.float64), torch.tensor(sides, dtype=torch.float64), tests, nodes)


def residual(problem, u, grid):
    return grid.residual(Pointwise(problem, strong=True), u).detach()


def test_exact_weak_residual_in_one_dimension():
    """-u'' - f with u = x^2, f = x on [a, a + h]: (-2 - x, v_k) by hand, v_1 ~ P_2 - P_0, v_2 ~ P_3 - P_1."""
    problem = Problem(
        Interval(0, 3),
        flux=lambda x, u: u.grad,
        source=lambda x, u: -x[0],
        boundary={"left": Dirichlet(0.0), "right": Dirichlet(0.0)},
    )
    a, h = 0.5, 2.0
    found = residual(problem, lambda x: x**2, cells([[a]], [h], tests=2))[0, :, 0]
    # with s in [-1, 1], x = a + h (s + 1) / 2: of P_2 - P_0 only the mean, of P_3 - P_1 only the slope meets 2 + x
    mean, slope = 2 + a + h / 2, h / 2
    first = -(mean * -2) * (h / 2) / np.sqrt(2 / 5 + 2) / np.sqrt(h / 2)
    second = -(slope * -2 / 3) * (h / 2) / np.sqrt(2 / 7 + 2 / 3) / np.sqrt(h / 2)
    np.testing.assert_allclose(found, [first, second], rtol=1e-12)


def heat(domain):
    return Problem(
        domain,
        density=lambda x, u: u.value,
        flux=lambda x, u: (1 + x[0]) * u.grad,
        source=lambda x, t, u: u.value**2 - t,
        boundary={"left": Dirichlet(0.0), "right": Dirichlet(0.0), "initial": Initial(0.0)},
    )


def anisotropic(domain):
    return Problem(
        domain,
        flux=lambda x, u: torch.stack([u.grad[0] + u.grad[1], 2 * x[0] * u.grad[1]]),
        source=lambda x, u: u.value * u.grad[0],
        boundary=dict.fromkeys(domain.boundary_names, Dirichlet(0.0)),
    )


@pytest.mark.parametrize("problem", [heat(Interval(0, 1).over(0, 2)), anisotropic(Rectangle((0, 0), (1, 2)))])
def test_equals_the_strong_residual_tested(problem):
    """Integration by parts: the same integrals of the strong residual of a polynomial, by quadrature of their own."""

    def u(x):
        return (x[:, :1] ** 2 * x[:, 1:] + x[:, 1:] ** 3 - x[:, :1]) / 2

    lower, sides = [[0.1, 0.3], [0.5, 1.0]], [0.4, 0.7]
    found = residual(problem, u, cells(lower, sides, tests=2, nodes=9))
    s, w = legendre.leggauss(14)
    functions = []
    for k in (1, 2):
        v = np.zeros(k + 2)
        v[[k + 1, k - 1]] = 1, -1
        values = legendre.legval(s, v)
        functions.append(values / np.sqrt((w * values**2).sum()))
    for e, corner in enumerate(lower):
        x = [c + (s + 1) / 2 * side for c, side in zip(corner, sides, strict=True)]
        grid = torch.as_tensor(np.stack(np.meshgrid(*x, indexing="ij"), axis=-1).reshape(-1, 2))
        r = strong_residual(Pointwise(problem, strong=True), u, grid).detach().numpy()[:, 0].reshape(14, 14)
        scale = np.sqrt(np.prod(sides) / 4)
        expected = [np.einsum("i,j,ij,i,j", f, g, r, w, w) * scale for f in functions for g in functions]
        np.testing.assert_allclose(found[e, :, 0], expected, rtol=1e-10, atol=1e-12)
