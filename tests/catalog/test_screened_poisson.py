"""The certified series solver: equation, boundary values, bound, and agreement with exact solutions."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import special

from pcpinn.catalog.screened_poisson import (
    RectangleWithHoles,
    _Multipoles,
    polynomial_trigonometric_particular,
    solve_screened_poisson,
)
from pcpinn.errors import PcpinnError

SQUARE = RectangleWithHoles((-0.5, -0.5), (0.5, 0.5), tuple((x, y, 0.1) for x in (-0.3, 0.3) for y in (-0.3, 0.3)))
BOX = RectangleWithHoles(
    (-1.0, -1.0), (1.0, 1.0), ((0.5, 0.5, 0.2), (0.4, -0.4, 0.4), (-0.2, -0.7, 0.1), (-0.6, 0.5, 0.3))
)
OBLONG = RectangleWithHoles((0.0, 0.0), (2.0, 1.0), ((0.5, 0.4, 0.2), (1.4, 0.6, 0.15)))
SOURCE = 10.0 * np.array([[17.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])


def box_source(points):
    x, y = points.T
    return 10 * (17 + x**2 + y**2) * np.sin(np.pi * x) * np.sin(4 * np.pi * y)


def solve_box(level):
    particular = polynomial_trigonometric_particular(8.0, SOURCE, np.pi, 4 * np.pi)
    return solve_screened_poisson(BOX, 8.0, 0.2, 1.0, particular, level)


@pytest.fixture(scope="module")
def box_solution():
    return solve_box(5)


@pytest.fixture(scope="module")
def square_solution():
    return solve_screened_poisson(SQUARE, 0.0, 1.0, 0.0, level=5)


def interior(domain, margin=0.0, count=400):
    rng = np.random.default_rng(0)
    points = rng.uniform(np.add(domain.lower, margin), np.subtract(domain.upper, margin), (count, 2))
    return points[np.all([np.hypot(*(points - (x, y)).T) > r + margin for x, y, r in domain.disks], axis=0)]


def boundary(domain):
    """Random points on the sides, also extremely close to the corners, and on the circles."""
    rng = np.random.default_rng(1)
    t = np.concatenate([rng.random(1000), 10.0 ** rng.uniform(-14, 0, 500), 1 - 10.0 ** rng.uniform(-14, 0, 500)])
    corners = domain.corners
    sides = np.concatenate([a + t * (b - a) for a, b in zip(corners, np.roll(corners, -1), strict=True)])
    turn = np.exp(2j * np.pi * rng.random(2000))
    circles = np.concatenate([complex(x, y) + r * turn for x, y, r in domain.disks])
    return np.stack([sides.real, sides.imag], axis=1), np.stack([circles.real, circles.imag], axis=1)


def negative_laplacian(u, points, h):
    """Eighth-order central differences."""
    weights = np.array([-1 / 560, 8 / 315, -1 / 5, 8 / 5, -205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560])
    shifts = np.arange(-4, 5) * h
    second = sum(w * u(points + s * e) for w, s in zip(weights, shifts, strict=True) for e in np.eye(2))
    return -second / h**2


def test_multipoles_are_normalised_bessel_functions():
    z = np.array([0.3 + 0.1j, -1.0 + 2.0j, 0.01 + 0.02j])
    rho, theta = np.abs(z), np.angle(z)
    values = _Multipoles(np.array([0j]), np.array([0.05]), 12).values(z, 8.0)
    assert values.shape == (3, 25)
    for n in range(13):
        radial = special.kv(n, 8.0 * rho) / special.kv(n, 8.0 * 0.05)
        np.testing.assert_allclose(values[:, max(2 * n - 1, 0)], radial * np.cos(n * theta), rtol=1e-11)
        if n > 0:
            np.testing.assert_allclose(values[:, 2 * n], radial * np.sin(n * theta), rtol=1e-11)


def test_multipoles_neither_overflow_nor_jump_for_tiny_k():
    z = np.array([0.3 + 0.1j, -1.0 + 2.0j])
    family = _Multipoles(np.array([0j]), np.array([0.1]), 40)
    np.testing.assert_allclose(family.values(z, 1e-9)[:, 1:], family.values(z, 0.0)[:, 1:], rtol=1e-12)


def test_particular_solution_satisfies_the_equation():
    particular = polynomial_trigonometric_particular(8.0, SOURCE, np.pi, 4 * np.pi)
    points = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    residual = negative_laplacian(particular, points, 5e-3) + 64 * particular(points) - box_source(points)
    assert np.abs(residual).max() < 1e-8


def test_particular_solution_of_unequal_degrees():
    coefficients = np.array([[1.0, -2.0, 0.0, 0.5], [0.0, 3.0, 1.0, 0.0]])  # degree 1 in x, 3 in y
    particular = polynomial_trigonometric_particular(0.0, coefficients, 2.0, 3.0)
    points = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    x, y = points.T
    source = np.polynomial.polynomial.polyval2d(x, y, coefficients) * np.sin(2 * x) * np.sin(3 * y)
    assert np.abs(negative_laplacian(particular, points, 1e-2) - source).max() < 1e-9


@pytest.mark.parametrize("problem", ["square", "box"])
def test_bound_falls_with_the_level(problem):
    solve = solve_box if problem == "box" else lambda level: solve_screened_poisson(SQUARE, 0.0, 1.0, 0.0, level=level)
    bounds = [solve(level).bound for level in (1, 2, 3, 4)]
    assert all(b < a / 5 for a, b in pairwise(bounds)), bounds


def test_bounds_reached(square_solution, box_solution):
    assert square_solution.bound < 1e-9
    assert box_solution.bound < 1e-6


@pytest.mark.parametrize(("name", "outer", "hole"), [("square_solution", 1.0, 0.0), ("box_solution", 0.2, 1.0)])
def test_bound_holds_and_is_sharp_on_an_independent_sample(request, name, outer, hole):
    solution = request.getfixturevalue(name)
    sides, circles = boundary(solution.domain)
    worst = max(np.abs(solution(sides) - outer).max(), np.abs(solution(circles) - hole).max())
    assert 0.5 * solution.bound < worst <= solution.bound


def test_bound_covers_narrow_mismatches():
    # a hole almost at the side: at a low level the mismatch is a narrow peak between them
    domain = RectangleWithHoles((0.0, 0.0), (1.0, 1.0), ((0.3, 0.5, 0.28),))
    solution = solve_screened_poisson(domain, 0.0, 1.0, 0.0, level=2)
    sides, circles = boundary(domain)
    worst = max(np.abs(solution(sides) - 1.0).max(), np.abs(solution(circles)).max())
    assert 1e-4 < worst <= solution.bound


def test_square_solution_is_harmonic(square_solution):
    points = interior(SQUARE, margin=0.03)
    assert len(points) > 200
    assert np.abs(negative_laplacian(square_solution, points, 3e-3)).max() < 1e-5


def test_box_solution_satisfies_the_equation(box_solution):
    points = interior(BOX, margin=0.05)
    assert len(points) > 150
    residual = negative_laplacian(box_solution, points, 5e-3) + 64 * box_solution(points) - box_source(points)
    assert np.abs(residual).max() < 1e-5  # the source reaches 190


def test_levels_agree_within_their_bounds(box_solution, square_solution):
    for coarse, fine in [
        (solve_box(2), box_solution),
        (solve_screened_poisson(SQUARE, 0.0, 1.0, 0.0, level=2), square_solution),
    ]:
        points = interior(fine.domain)
        difference = np.abs(coarse(points) - fine(points)).max()
        assert 0.0 < difference <= coarse.bound + fine.bound


def test_square_solution_has_the_symmetries_and_the_range_of_the_problem(square_solution):
    points = interior(SQUARE)
    values = square_solution(points)
    for image in (points[:, ::-1], points * [-1, 1], -points):
        np.testing.assert_allclose(square_solution(image), values, atol=2 * square_solution.bound)
    assert values.min() > 0
    assert values.max() < 1


@pytest.mark.parametrize("k", [0.0, 3.0])
def test_manufactured_solution(k):
    # sources inside both holes and outside, and a particular solution that has nothing to do with the answer
    sources = ((0.55, 0.4, 1.0), (1.4, 0.55, -0.5), (2.7, 1.5, 2.0))

    bulk = polynomial_trigonometric_particular(k, np.array([[1.0, 2.0], [3.0, -1.0]]), 2.0, 1.0)

    def exact(points):
        distances = [np.hypot(*(points - (x, y)).T) for x, y, _ in sources]
        kernel = [np.log(r) if k == 0.0 else special.k0(k * r) for r in distances]
        return bulk(points) + sum(s[2] * g for s, g in zip(sources, kernel, strict=True))

    def particular(points):
        x, y = points.T
        return bulk(points) + (x**2 - y**2 if k == 0.0 else np.exp(k * (0.6 * x + 0.8 * y - 1.0)))

    solution = solve_screened_poisson(OBLONG, k, exact, exact, particular, level=5)
    points = interior(OBLONG)
    error = np.abs(solution(points) - exact(points)).max()
    assert error <= solution.bound < 1e-7


def test_corner_singularity_against_the_double_sine_series():
    # -Δu + k²u = 0, u = 1 on the unit square's sides: 1 - u has the source k² and the classical series
    k = 4.0
    solution = solve_screened_poisson(RectangleWithHoles((0.0, 0.0), (1.0, 1.0)), k, 1.0, 0.0, level=5)
    points = np.array([[0.5, 0.5], [0.1, 0.2], [0.03, 0.04], [0.9, 0.3]])
    x, y = points.T
    odd = np.arange(1, 4001, 2) * np.pi
    rate = np.sqrt(odd**2 + k**2)
    # the inner sum over y in closed form: (1 - cosh(rate (y - 1/2)) / cosh(rate / 2)) / rate²
    profile = (np.exp(-rate * y[:, None]) + np.exp(-rate * (1 - y[:, None]))) / (1 + np.exp(-rate))
    deficit = (4 * k**2 / odd / rate**2 * np.sin(odd * x[:, None]) * (1 - profile)).sum(axis=1)
    # the tail of the truncated series is below its first omitted factor, 3e-11, over sin(πx) >= 0.09
    np.testing.assert_allclose(solution(points), 1 - deficit, atol=1e-8)
    assert solution.bound < 1e-8


def test_values_do_not_depend_on_the_chunks(square_solution):
    points = np.tile(interior(SQUARE, count=60), (150, 1))
    assert len(points) > 4096
    np.testing.assert_allclose(square_solution(points)[-20:], square_solution(points[-20:]), rtol=1e-12)
    assert square_solution(np.zeros((0, 2))).shape == (0,)


@pytest.mark.parametrize(
    ("lower", "upper", "disks"),
    [
        ((0.0, 0.0), (1.0, 0.0), ()),
        ((0.0, 0.0), (1.0, 1.0), ((0.2, 0.5, 0.2),)),
        ((0.0, 0.0), (1.0, 1.0), ((0.5, 0.5, -0.1),)),
        ((0.0, 0.0), (1.0, 1.0), ((0.3, 0.5, 0.2), (0.6, 0.5, 0.2))),
    ],
)
def test_impossible_domains_are_refused(lower, upper, disks):
    with pytest.raises(PcpinnError):
        RectangleWithHoles(lower, upper, disks)


@pytest.mark.parametrize(("k", "level"), [(-1.0, 3), (np.nan, 3), (1.0, 0)])
def test_impossible_parameters_are_refused(k, level):
    with pytest.raises(PcpinnError):
        solve_screened_poisson(SQUARE, k, 1.0, 0.0, level=level)
