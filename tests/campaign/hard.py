"""Problems that are wrong, which are to be refused, and hard ones with known answers, whose errors must not be understated."""

import random as rnd
import warnings

import numpy as np
import torch
from forked import in_fork
from truths import TRUTHS

import pcpinn as pc

TRUSTED = 3.0  # an estimate may be this much too small
FLOOR = 1e-6  # errors below this are not held against an estimate
_SETTINGS = {"width": 12, "depth": 1, "device": "cpu", "time_limit": 4.0, "iterations": 40}
_NOTHING_KNOWN = 1.0  # an estimate of so much says that the answer is worth nothing
_ASKED = (0.1, 0.03, 0.01)


def problems(seed, folder, cache):
    """One problem of some kind: rough, thin, steep, nonlinear, over time, in a plane, or wrong."""
    random = rnd.Random(seed)
    if random.random() < 0.2:
        what, make = _wrong(random)
        return what, in_fork(lambda: _must_be_refused(make, what), folder, (pc.PcpinnError,)), ""
    hard = random.choice(TRUTHS)(random)
    asked = random.choice(_ASKED) if random.random() < 0.2 else None
    size = random.choice(hard.sizes)
    how = f"{size} cells" if asked is None else f"to {asked:g}"
    work = lambda: _must_not_be_sure(hard, size, asked)  # noqa: E731
    return f"{hard.what}, {how}", in_fork(work, folder, (pc.PcpinnError,), seconds=60.0), ""


def _must_not_be_sure(hard, size, asked):
    """Solve it, on given cells or to an accuracy; compare what is said of the error with the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if asked is None:
            solution = pc.solve(hard.problem, _SETTINGS, **hard.on(size), certify=True)
        else:
            solution = pc.solve(hard.problem, accuracy=asked, time_limit=6.0, device="cpu")
    estimate = solution.result["errors"]["estimate"]
    if estimate is None:
        return
    u = hard.exact(hard.points)
    error = float(np.linalg.norm(solution(hard.points).ravel() - u) / np.linalg.norm(u))
    if error > TRUSTED * estimate and error > FLOOR and estimate < _NOTHING_KNOWN:
        raise AssertionError(f"confident and wrong: estimate {estimate:.1e}, error {error:.1e}")


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
            (
                "values that are not finite",
                make(boundary={**ends, "left": pc.Dirichlet(lambda x: x[0] / 0.0 * torch.nan)}),
            ),
        ]
    )


def _must_be_refused(make, what):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pc.solve(make(), _SETTINGS, cells=(8,))
    raise AssertionError(f"accepted: {what}")
