"""Problems that are wrong, which are to be refused, and hard ones with known answers, whose errors must not be understated."""

import random as rnd
import warnings

import numpy as np
import torch
from forked import in_fork

import pcpinn as pc

TRUSTED = 3.0  # an estimate may be this much too small
FLOOR = 1e-6  # errors below this are not held against an estimate
_SETTINGS = {"width": 16, "depth": 1, "device": "cpu", "time_limit": 12.0, "iterations": 60}


def problems(seed, folder, cache):
    """One problem: -(a u')' + c u = f with a coefficient that is rough, thin, steep or wrong."""
    random = rnd.Random(seed)
    if random.random() < 0.25:
        what, make = _wrong(random)
        return what, in_fork(lambda: _must_be_refused(make, what), folder, (pc.PcpinnError,)), ""
    what, a, scale = _coefficient(random)
    cells = random.choice((8, 16, 32))
    work = lambda: _must_not_be_sure(a, scale, cells)  # noqa: E731
    return f"{what}, {cells} cells", in_fork(work, folder, (pc.PcpinnError,)), ""


def _coefficient(random):
    """a(x) for torch and numpy alike, and the size of the source."""
    place, width = random.uniform(0.1, 0.9), 10 ** random.uniform(-3, -0.5)
    contrast, waves = 10 ** random.uniform(-3, 3), random.choice((3, 17, 100))
    scale = 10 ** random.uniform(-4, 4)
    kinds = {
        "strip": lambda x: 1 + (contrast - 1) * (abs(x - place) < width / 2),
        "jump": lambda x: 1 + (contrast - 1) * (x > place),
        "waves": lambda x: (
            1 + 0.9 * np.sin(2 * np.pi * waves * x)
            if isinstance(x, np.ndarray)
            else 1 + 0.9 * torch.sin(2 * torch.pi * waves * x)
        ),
        "steep": lambda x: (
            np.exp(3 * np.tanh((x - place) / width))
            if isinstance(x, np.ndarray)
            else torch.exp(3 * torch.tanh((x - place) / width))
        ),
    }
    name = random.choice(list(kinds))
    facts = f"place {place:.3f}, width {width:.1e}, contrast {contrast:.1e}, waves {waves}, source {scale:.1e}"
    return f"{name}: {facts}", kinds[name], scale


def _must_not_be_sure(a, scale, cells):
    """Solve it, and compare estimate and error."""
    problem = pc.Problem(
        pc.Interval(0, 1),
        flux=lambda x, u: a(x[0]) * u.grad,
        source=lambda x, u: -scale * (1 + x[0]),
        boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solution = pc.solve(problem, _SETTINGS, cells=(cells,), certify=True)
    estimate = solution.result["errors"]["estimate"]
    if estimate is None:
        return
    x, u = _exact(a, scale)
    error = float(np.linalg.norm(solution(x[:, None]) - u) / np.linalg.norm(u))
    if error > TRUSTED * estimate and error > FLOOR:
        raise AssertionError(f"confident and wrong: estimate {estimate:.1e}, error {error:.1e}")


def _exact(a, scale, count=400_001):
    """By sums over a grid far finer than anything in a: a u' = C - scale (x + x^2 / 2)."""
    grid = np.linspace(0, 1, count)
    middle = (grid[1:] + grid[:-1]) / 2
    load = scale * (middle + middle**2 / 2)
    steps = [np.r_[0, np.cumsum(w / a(middle)) / (count - 1)] for w in (1.0 + 0 * middle, load)]
    u = steps[1][-1] / steps[0][-1] * steps[0] - steps[1]
    return grid[::200], u[::200]


def _wrong(random):
    line, square = pc.Interval(0, 1), pc.Rectangle((0, 0), (1, 1))
    number = 10 ** random.uniform(-2, 2)
    flat = {"left": pc.Neumann(number), "right": pc.Neumann(0.0)}
    ends = {"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)}

    def make(**changes):
        usual = {"flux": lambda x, u: u.grad, "source": lambda x, u: -1.0, "boundary": ends}
        return lambda: pc.Problem(changes.pop("domain", line), **(usual | changes))

    sides = dict.fromkeys(("left", "right", "bottom", "top"), pc.Dirichlet(0.0))
    return random.choice(
        [
            ("no solution: fluxes do not balance", make(boundary=flat)),
            ("complex coefficient", make(source=lambda x, u: u.value * (1 + 1j * number))),
            ("complex condition", make(boundary={**ends, "right": pc.Robin(2 - 5j * number, 1.0)})),
            ("source that is not finite", make(source=lambda x, u: number / (x[0] - x[0]))),
            ("flux of the wrong shape", make(flux=lambda x, u: u.value * number)),
            ("a side that is not there", make(boundary={**ends, "top": pc.Dirichlet(number)})),
            ("a point outside", make(boundary={**ends, "pin": pc.Pin(at=(5.0 + number,))})),
            (
                "a condition of another dimension",
                make(domain=square, boundary={**sides, "left": pc.Dirichlet([number, 0.0])}),
            ),
            ("no equation", make(flux=lambda x, u: 0 * u.grad, source=lambda x, u: -number)),
        ]
    )


def _must_be_refused(make, what):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pc.solve(make(), _SETTINGS, cells=(8,))
    raise AssertionError(f"accepted: {what}")
