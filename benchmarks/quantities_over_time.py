"""How often the intervals of quantities of problems over time contain the truth, on coarse meshes with few steps.

    python benchmarks/quantities_over_time.py docs/benchmarks/quantities-over-time.csv

Five problems with closed forms (heat, two modes of a wave, a pulse on a ring, a front of Burgers' equation, heat in a
rectangle), elements of degree 1 to 3, 4 to 16 cells along an axis and 4 to 16 steps. No network is trained: quantities do not
depend on it.
"""

from __future__ import annotations

import argparse
import csv
import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.integrate import quad

import pcpinn as pc

MOMENTS = (0.03, 0.21, 0.5, 0.77, 1.0)  # of the time
COLUMNS = ("problem", "degree", "cells", "steps", "t", "quantity", "value", "error", "truth", "contained")
PI = math.pi


@dataclass(frozen=True)
class Case:
    """A problem with its quantities: how to ask for each, and its truth, both at a moment."""

    problem: pc.Problem
    end: float
    quantities: dict[str, tuple[Callable[[Any, Any], Any], Callable[[float], float]]]


def mass(s: pc.Solution, t: Any) -> Any:
    """The integral of u."""
    return s.integrate(lambda x, u: u.value, t=t)


def square(s: pc.Solution, t: Any) -> Any:
    """That of its square."""
    return s.integrate(lambda x, u: u.value**2, t=t)


def through(side: str, form: str = "reaction") -> Callable[[Any, Any], Any]:
    """A flux."""
    return lambda s, t: s.flux(side, form=form, t=t)


def heat() -> Case:
    """u = sin(pi x) exp(-pi^2 t / 10)."""
    problem = pc.Problem(
        pc.Interval(0, 1).over(0, 2),
        density=lambda x, u: u.value,
        flux=lambda x, u: 0.1 * u.grad,
        boundary={
            "left": pc.Dirichlet(0.0),
            "right": pc.Dirichlet(0.0),
            "initial": pc.Initial(lambda x: torch.sin(PI * x[0])),
        },
    )
    decay = lambda t: math.exp(-0.1 * PI**2 * t)  # noqa: E731
    return Case(
        problem,
        2.0,
        {
            "mass": (mass, lambda t: 2 / PI * decay(t)),
            "square": (square, lambda t: decay(t) ** 2 / 2),
            "flux": (through("right"), lambda t: -0.1 * PI * decay(t)),
            "flux by gradients": (through("right", "gradients"), lambda t: -0.1 * PI * decay(t)),
            "value": (lambda s, t: s.value([0.3], t=t), lambda t: math.sin(0.3 * PI) * decay(t)),
        },
    )


def wave() -> Case:
    """Two modes of a string that is held on the left and free on the right."""
    modes = ((1.0, PI / 2), (0.3, 5 * PI / 2))
    problem = pc.Problem(
        pc.Interval(0, 1).over(0, 2),
        fields=["u", "v"],
        density=lambda x, u, v: (u.value, v.value),
        source=lambda x, u, v: (-v.value, None),
        flux=lambda x, u, v: (None, u.grad),
        boundary={
            "left": {"u": pc.Dirichlet(0.0), "v": pc.Dirichlet(0.0)},
            "right": {"v": pc.Neumann(0.0)},
            "initial": {
                "u": pc.Initial(lambda x: sum(a * torch.sin(k * x[0]) for a, k in modes)),
                "v": pc.Initial(0.0),
            },
        },
    )

    def u(x: float, t: float) -> float:
        return sum(a * math.sin(k * x) * math.cos(k * t) for a, k in modes)

    def slope(x: float, t: float) -> float:
        return sum(a * k * math.cos(k * x) * math.cos(k * t) for a, k in modes)

    return Case(
        problem,
        2.0,
        {
            "value": (lambda s, t: s.value([0.37], "u", t=t), lambda t: u(0.37, t)),
            "mass": (
                lambda s, t: s.integrate(lambda x, u, v: u.value, t=t),
                lambda t: sum(a / k * math.cos(k * t) for a, k in modes),
            ),
            "energy": (
                lambda s, t: s.integrate(lambda x, u, v: (v.value**2 + u.grad @ u.grad) / 2, t=t),
                lambda t: sum((a * k) ** 2 / 4 for a, k in modes),
            ),
            "force": (lambda s, t: s.flux("left", "v", t=t), lambda t: -slope(0.0, t)),
            "force by gradients": (lambda s, t: s.flux("left", "v", form="gradients", t=t), lambda t: -slope(0.0, t)),
        },
    )


def ring() -> Case:
    """A pulse that is carried around."""

    def pulse(x: float) -> float:
        return math.exp(-40 * ((x % 1) - 0.5) ** 2)

    problem = pc.Problem(
        pc.Interval(0, 1).over(0, 1),
        density=lambda x, u: u.value,
        source=lambda x, u: u.grad[0],
        boundary={
            "left": pc.Periodic("right"),
            "initial": pc.Initial(lambda x: torch.exp(-40 * (x[0] - 0.5) ** 2)),
        },
    )
    return Case(
        problem,
        1.0,
        {
            "value": (lambda s, t: s.value([0.4], t=t), lambda t: pulse(0.4 - t)),
            "square": (square, lambda t: quad(lambda x: pulse(x) ** 2, 0, 1)[0]),
            "region": (
                lambda s, t: s.integrate(lambda x, u: u.value, on=lambda x: x[0] < 0.4, t=t),
                lambda t: quad(lambda x: pulse(x - t), 0, 0.4, points=[(t + 0.5) % 1], limit=200)[0],
            ),
        },
    )


def front() -> Case:
    """Burgers' equation: a front of width 0.1 that moves."""
    nu = 0.02

    def u(x: Any, t: Any) -> Any:
        return 0.5 - 0.5 * torch.tanh((x - 0.3 - 0.5 * t) / (4 * nu))

    def at(x: float, t: float) -> float:
        return float(u(torch.tensor(x, dtype=torch.float64), t))

    def slope(x: float, t: float) -> float:
        return -0.5 / (4 * nu) / math.cosh((x - 0.3 - 0.5 * t) / (4 * nu)) ** 2

    side = pc.Dirichlet(lambda x, t: u(x[0], t))
    problem = pc.Problem(
        pc.Interval(0, 1).over(0, 0.8),
        density=lambda x, u: u.value,
        flux=lambda x, u: nu * u.grad,
        source=lambda x, u: u.value * u.grad[0],
        boundary={"left": side, "right": side, "initial": pc.Initial(lambda x: u(x[0], 0.0))},
    )
    return Case(
        problem,
        0.8,
        {
            "value": (lambda s, t: s.value([0.5], t=t), lambda t: at(0.5, t)),
            "mass": (mass, lambda t: quad(lambda x: at(x, t), 0, 1, points=[0.3 + 0.5 * t])[0]),
            "flux": (through("right"), lambda t: nu * slope(1.0, t)),
            "flux by gradients": (through("right", "gradients"), lambda t: nu * slope(1.0, t)),
        },
    )


def plate() -> Case:
    """Heat in a rectangle, u = exp(-t) sin x sin y, insulated above."""
    held = dict.fromkeys(("left", "right", "bottom"), pc.Dirichlet(0.0))
    problem = pc.Problem(
        pc.Rectangle((0, 0), (PI, PI / 2)).over(0, 1),
        density=lambda x, u: u.value,
        flux=lambda x, u: 0.5 * u.grad,
        boundary={**held, "top": pc.Neumann(0.0), "initial": pc.Initial(lambda x: torch.sin(x[0]) * torch.sin(x[1]))},
    )
    return Case(
        problem,
        1.0,
        {
            "mass": (mass, lambda t: 2 * math.exp(-t)),
            "flux": (through("bottom"), lambda t: -math.exp(-t)),
            "flux by gradients": (through("bottom", "gradients"), lambda t: -math.exp(-t)),
            "value": (lambda s, t: s.value([1.0, 0.5], t=t), lambda t: math.exp(-t) * math.sin(1) * math.sin(0.5)),
        },
    )


CASES = {"heat": heat, "wave": wave, "ring": ring, "front": front, "plate": plate}


def rows(name: str) -> Iterator[tuple[Any, ...]]:
    """All quantities of a case on all discretisations; then those over the whole time."""
    case = CASES[name]()
    for degree, cells, steps in product((1, 2, 3), (4, 8, 16), (4, 8, 16)):
        counts = (cells,) * case.problem.dimension
        try:
            solution = pc.solve(
                case.problem,
                accuracy=None,
                cells=counts,
                degree=degree,
                time=pc.March(steps=steps, start_iterations=0),
                width=8,
                depth=1,
                iterations=0,
                device="cpu",
                progress=False,
            )
        except pc.PcpinnError as error:
            print(f"{name}, degree {degree}, {cells} cells, {steps} steps: {error.problem}")
            continue
        for what, (ask, truth) in case.quantities.items():
            for t in (*(case.end * m for m in MOMENTS), (0.0, case.end)):
                span = isinstance(t, tuple)
                true = quad(truth, *t, limit=200)[0] if span else truth(t)
                found = ask(solution, t)
                yield (
                    name,
                    degree,
                    cells,
                    steps,
                    "all" if span else t,
                    what,
                    found.value,
                    found.error,
                    true,
                    true in found,
                )


def main() -> None:
    """Write a row for each and say how many contain the truth."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("--cases", nargs="*", default=list(CASES))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    found = [row for name in given.cases for row in rows(name)]
    with given.table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows([f"{v:.7g}" if isinstance(v, float) else v for v in row] for row in found)
    errors = np.array([(row[7], abs(row[6] - row[8])) for row in found])
    inside, misses = np.array([row[9] for row in found]), errors[:, 1] / errors[:, 0]
    print(
        f"{inside.mean():.1%} of {len(found)} contain the truth; the worst miss is {misses.max():.2f} times the error"
    )
    print(f"half of the true errors are below {np.median(misses):.1%} of the error")


if __name__ == "__main__":
    main()
