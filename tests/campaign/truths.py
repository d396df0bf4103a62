"""Hard problems with answers that are known apart from the library: in closed form, manufactured, by sums, or by scipy."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from scipy.integrate import solve_bvp

import pcpinn as pc

LINE = pc.Interval(0, 1)
SQUARE = pc.Rectangle((0, 0), (1, 1))
SIDES = ("left", "right", "bottom", "top")
_GRID = np.linspace(0, 1, 2001)[:, None]
_PLANE = np.stack(np.meshgrid(np.linspace(0, 1, 61), np.linspace(0, 1, 61), indexing="ij"), -1).reshape(-1, 2)


@dataclass(frozen=True)
class Hard:
    """A problem and its answer.

    Attributes:
        what: in words.
        problem: the PDE.
        exact: (n, d) points -> (n,) values.
        points: where they are compared.
        sizes: numbers of cells along each axis to be tried.
        more: settings beside the cells.
    """

    what: str
    problem: pc.Problem
    exact: Callable[[np.ndarray], np.ndarray]
    points: np.ndarray = field(default_factory=lambda: _GRID)
    sizes: tuple[int, ...] = (8, 16, 32)
    more: dict[str, Any] = field(default_factory=dict)

    def on(self, size):
        """Settings for so many cells."""
        return {"cells": (size,) * self.problem.dimension, **self.more}


def rough_coefficient(random):
    """-(a u')' = f with a that is a strip, a jump, waves or a layer; u by sums over a grid far finer than anything in a."""
    place, width = random.uniform(0.1, 0.9), 10 ** random.uniform(-3, -0.5)
    contrast, waves = 10 ** random.uniform(-3, 3), random.choice((3, 17, 100))
    scale = 10 ** random.uniform(-4, 4)
    kinds = {
        "strip": lambda x, m: 1 + (contrast - 1) * (abs(x - place) < width / 2),
        "jump": lambda x, m: 1 + (contrast - 1) * (x > place),
        "waves": lambda x, m: 1 + 0.9 * m.sin(2 * np.pi * waves * x),
        "steep": lambda x, m: m.exp(3 * m.tanh((x - place) / width)),
    }
    name = random.choice(list(kinds))
    a = kinds[name]
    problem = pc.Problem(
        LINE,
        flux=lambda x, u: a(x[0], torch) * u.grad,
        source=lambda x, u: -scale * (1 + x[0]),
        boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)},
    )
    facts = f"place {place:.3f}, width {width:.1e}, contrast {contrast:.1e}, waves {waves}, source {scale:.1e}"
    return Hard(f"{name}: {facts}", problem, lambda x: _summed(a, scale, x[:, 0]))


def _summed(a, scale, x, count=400_001):
    """a u' = C - scale (x + x^2 / 2)."""
    grid = np.linspace(0, 1, count)
    middle = (grid[1:] + grid[:-1]) / 2
    load = scale * (middle + middle**2 / 2)
    steps = [np.r_[0, np.cumsum(w / a(middle, np)) / (count - 1)] for w in (1.0 + 0 * middle, load)]
    return np.interp(x, grid, steps[1][-1] / steps[0][-1] * steps[0] - steps[1])


def layer(random):
    """-eps u'' + b u' + c u = 1 with small eps: layers at the ends, in closed form."""
    eps, b, c = 10 ** random.uniform(-3.5, 0), random.choice((0.0, 1.0, -1.0)), random.choice((0.0, 1.0))
    if not b and not c:
        c = 1.0
    problem = pc.Problem(
        LINE,
        flux=lambda x, u: eps * u.grad,
        source=lambda x, u: b * u.grad[0] + c * u.value - 1.0,
        boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)},
    )

    def exact(x):
        x = x[:, 0]
        root = np.sqrt(b**2 + 4 * eps * c)
        up, down = (b + root) / (2 * eps), (b - root) / (2 * eps)  # each power with its own end as its unit
        P = np.stack([np.exp(up * (x - (up > 0))), np.exp(down * (x - (down > 0)))])
        at = [[np.exp(r * (e - (r > 0))) for r in (up, down)] for e in (0.0, 1.0)]
        special = x / b if not c else 1 / c + 0 * x
        A = np.linalg.solve(at, [0.0 if not c else -1 / c, -1 / b if not c else -1 / c])
        return special + A @ P

    return Hard(f"layer: eps {eps:.1e}, b {b:g}, c {c:g}", problem, exact)


def standing_wave(random):
    """-u'' - k^2 u = 1: near resonance now and then."""
    k = (
        random.uniform(1, 25)
        if random.random() < 0.6
        else np.pi * random.randint(1, 6) * (1 + 10 ** random.uniform(-3, -1))
    )
    problem = pc.Problem(
        LINE,
        flux=lambda x, u: u.grad,
        source=lambda x, u: -(k**2) * u.value - 1.0,
        boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)},
    )
    exact = lambda x: (np.cos(k * (x[:, 0] - 0.5)) / np.cos(k / 2) - 1) / k**2  # noqa: E731
    return Hard(f"standing wave: k {k:.5g}", problem, exact)


def manufactured(random):
    """-((1 + c u^2) u')' + q u^3 = f, f such that u = s (sin(m pi x) + a narrow peak)."""
    s, m, c, q = 10 ** random.uniform(-2, 2), random.randint(1, 9), random.choice((0.0, 1.0)), random.choice((0.0, 1.0))
    place, width, peak = random.uniform(0.2, 0.8), 10 ** random.uniform(-2.5, -0.5), random.choice((0.0, 1.0, 3.0))
    c, q = c / s**2, q / s**2

    def u_of(x, lib):
        return s * (lib.sin(m * np.pi * x) + peak * lib.exp(-(((x - place) / width) ** 2)) * x * (1 - x))

    def source(x, u):
        def flux(y):
            value, slope = torch.func.jvp(lambda z: u_of(z, torch), (y,), (torch.ones_like(y),))
            return (1 + c * value**2) * slope

        _, change = torch.func.jvp(flux, (x[0],), (torch.ones_like(x[0]),))
        return q * (u.value**3 - u_of(x[0], torch) ** 3) + change

    problem = pc.Problem(
        LINE,
        flux=lambda x, u: (1 + c * u.value**2) * u.grad,
        source=source,
        boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)},
    )
    facts = f"size {s:.1e}, {m} half waves, peak {peak:g} of width {width:.1e}, c {c:.1e}, q {q:.1e}"
    return Hard(f"manufactured: {facts}", problem, lambda x: u_of(x[:, 0], np))


def late_nonlinearity(random):
    """-u'' = f - k max(u - limit, 0): acts at large values alone; by scipy."""
    load, part, k = 10 ** random.uniform(0, 5), random.uniform(0.2, 1.2), 10 ** random.uniform(0, 3)
    limit = part * load / 8  # the largest value that u would have

    def rates(x, y):
        return np.stack([y[1], k * np.maximum(y[0] * load - limit, 0) / load - 1])

    found = solve_bvp(
        rates,
        lambda a, b: np.array([a[0], b[0]]),
        np.linspace(0, 1, 201),
        np.stack([np.linspace(0, 1, 201) * (1 - np.linspace(0, 1, 201)) / 2, 0.5 - np.linspace(0, 1, 201)]),
        tol=1e-8,
        max_nodes=50_000,
    )
    problem = pc.Problem(
        LINE,
        flux=lambda x, u: u.grad,
        source=lambda x, u: k * torch.clamp(u.value - limit, min=0) - load,
        boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)},
    )
    what = f"late nonlinearity: load {load:.1e}, from {part:.2f} of the largest value, k {k:.1e}"
    return Hard(what, problem, lambda x: load * found.sol(x[:, 0])[0])


def wall_spike(random):
    """A harmonic function, Im 1 / (z - z0) with z0 just outside: narrow on the wall, smooth inside."""
    place, off = random.uniform(0.1, 0.9), 10 ** random.uniform(-2.5, -0.3)
    natural = random.random() < 0.3

    def u_of(x, y):
        return (y + off) / ((x - place) ** 2 + (y + off) ** 2) * off

    def slope(x):  # du/dn on the bottom: -du/dy
        r2 = (x - place) ** 2 + off**2
        return -off * (1 / r2 - 2 * off**2 / r2**2)

    sides = {side: pc.Dirichlet(lambda x: u_of(x[0], x[1])) for side in SIDES}
    if natural:
        sides["bottom"] = pc.Neumann(lambda x: slope(x[0]))
    problem = pc.Problem(SQUARE, flux=lambda x, u: u.grad, source=lambda x, u: 0.0, boundary=sides)
    what = f"wall spike: place {place:.3f}, width {off:.1e}{', its flux' if natural else ''}"
    return Hard(what, problem, lambda x: u_of(x[:, 0], x[:, 1]), _PLANE, (4, 8))


def plane_peak(random):
    """-div grad u = f, u a product of sines plus a narrow peak inside a square."""
    m, n = random.randint(1, 4), random.randint(1, 4)
    cx, cy, width = random.uniform(0.3, 0.7), random.uniform(0.3, 0.7), 10 ** random.uniform(-1.7, -0.5)
    height = random.choice((0.0, 1.0, 5.0))

    def waves(x, y, lib):
        return lib.sin(m * np.pi * x) * lib.sin(n * np.pi * y)

    def bump(x, y, lib):
        return height * lib.exp(-((x - cx) ** 2 + (y - cy) ** 2) / width**2)

    def source(x, u):
        r2 = ((x[0] - cx) ** 2 + (x[1] - cy) ** 2) / width**2
        curved = (
            -(m**2 + n**2) * np.pi**2 * waves(x[0], x[1], torch) + bump(x[0], x[1], torch) * 4 * (r2 - 1) / width**2
        )
        return curved

    edge = pc.Dirichlet(lambda x: waves(x[0], x[1], torch) + bump(x[0], x[1], torch))
    problem = pc.Problem(SQUARE, flux=lambda x, u: u.grad, source=source, boundary=dict.fromkeys(SIDES, edge))
    exact = lambda x: waves(x[:, 0], x[:, 1], np) + bump(x[:, 0], x[:, 1], np)  # noqa: E731
    return Hard(f"plane: waves {m}, {n}, peak {height:g} of width {width:.1e}", problem, exact, _PLANE, (4, 8))


def laminate(random):
    """Layers across a square: u depends on x alone, by sums."""
    period, low = 10 ** random.uniform(-2, -0.5), 10 ** random.uniform(-2, 0)
    a = lambda x, m: 1 - (1 - low) * ((x / period) % 1 < 0.5)  # noqa: E731
    problem = pc.Problem(
        SQUARE,
        flux=lambda x, u: a(x[0], torch) * u.grad,
        source=lambda x, u: -(1 + x[0]),
        boundary={
            "left": pc.Dirichlet(0.0),
            "right": pc.Dirichlet(0.0),
            "bottom": pc.Neumann(0.0),
            "top": pc.Neumann(0.0),
        },
    )
    what = f"laminate: period {period:.1e}, {low:.1e} and 1"
    return Hard(what, problem, lambda x: _summed(a, 1.0, x[:, 0]), _PLANE, (4, 8))


def decay(random):
    """Heat that begins as two sines, one of which may be gone at once: in closed form, by slabs of time."""
    m, part, k = random.randint(2, 7), random.choice((0.0, 0.3, 1.0)), 10 ** random.uniform(-2, 0)

    def u_of(x, t, lib):
        return lib.sin(np.pi * x) * lib.exp(-k * np.pi**2 * t) + part * lib.sin(m * np.pi * x) * lib.exp(
            -k * (m * np.pi) ** 2 * t
        )

    problem = pc.Problem(
        LINE.over(0, 1),
        density=lambda x, u: u.value,
        flux=lambda x, u: k * u.grad,
        boundary={
            "left": pc.Dirichlet(0.0),
            "right": pc.Dirichlet(0.0),
            "initial": pc.Initial(lambda x: torch.sin(np.pi * x[0]) + part * torch.sin(m * np.pi * x[0])),
        },
    )
    exact = lambda x: u_of(x[:, 0], x[:, 1], np)  # noqa: E731
    more = {"time": "slabs", "steps": random.choice((2, 4, 8))}
    what = f"decay: {m} half waves of size {part:g}, k {k:.1e}, {more['steps']} slabs"
    return Hard(what, problem, exact, _PLANE, (8, 16), more)


TRUTHS = (
    rough_coefficient,
    rough_coefficient,
    layer,
    standing_wave,
    manufactured,
    late_nonlinearity,
    wall_spike,
    wall_spike,
    plane_peak,
    laminate,
    decay,
)
