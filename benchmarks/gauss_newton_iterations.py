"""Gauss-Newton iterations to a given training error, against mesh size and quality of the preconditioner.

    python benchmarks/gauss_newton_iterations.py --sizes 1000 4000 16000 --drops 1e-2 1e-3 1e-4 auto --device cpu

-Laplace u = f on the unit square, u = (sin(pi x) + 0.5 sin(2 pi x)) sin(pi y), structured triangles. The training error is
measured against the discrete solution from a direct solve, ||u_theta - u_h|| / ||u_h||; the relative residual, which training
sees, estimates it as well as P stands in for A, and is shown beside it. Seconds are those of the steps alone.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common import machine, poisson, pyplot, square_cells, synchronise, table, write_csv

from pcpinn import PcpinnError
from pcpinn.discretize.system import LinearSystem, linear_system
from pcpinn.precondition import ILU, AutoILU
from pcpinn.solve.build import make_device, make_discretisation, make_mesh, make_network, make_optimiser
from pcpinn.solve.linear import settings_of
from pcpinn.solve.loss import preconditioned_loss
from pcpinn.solve.settings import Settings
from pcpinn.train import LeastSquares

GOALS = (1e-3, 1e-4)
_PATIENCE = 20  # iterations in which the residual must fall by a percent


@dataclass
class Curve:
    """One training: (iteration, seconds, training error, relative residual) after each step."""

    unknowns: int
    drop: str
    setup_s: float
    quality: float
    fill: float
    rows: list[tuple[int, float, float, float]] = field(default_factory=list)

    def reached(self, goal: float) -> tuple[int, float, float, float] | None:
        """The first row within the goal."""
        return next((row for row in self.rows if row[2] <= goal), None)


def training_error(loss: LeastSquares, system: LinearSystem) -> float:
    """The network against the discrete solution, in the discrete L2 norm."""
    with torch.no_grad():
        u = loss.unknowns().double().cpu().numpy()
    return system.norm(u - system.solution) / system.norm(system.solution)


def train(system: LinearSystem, settings: Settings, seconds: float) -> Curve:
    """Steps until both goals are met, or patience or time is out."""
    device = make_device(settings.run.device)
    started = time.perf_counter()
    network = make_network(system.discretisation.problem, system.discretisation.mesh, settings)
    loss = preconditioned_loss(system, network, settings)
    synchronise(device)
    setup_s = time.perf_counter() - started
    facts = loss.describe()
    quality = loss.operator.quality
    curve = Curve(
        system.size,
        name_of(getattr(settings.preconditioner, "drop_tolerance", "auto")),
        setup_s,
        quality.smooth if quality else np.nan,
        facts["fill"],
    )
    optimiser, _ = make_optimiser(settings, loss)
    state = optimiser.start(loss, settings.run.seed)
    spent = 0.0
    for iteration in range(1, settings.optimiser.iterations + 1):
        started = time.perf_counter()
        value = optimiser.step(loss, state)
        synchronise(device)
        spent += time.perf_counter() - started
        curve.rows.append((iteration, spent, training_error(loss, system), float(np.sqrt(2 * value))))
        if curve.reached(min(GOALS)) or spent > seconds:
            break
        if iteration > _PATIENCE and curve.rows[-1][3] > 0.99 * curve.rows[-1 - _PATIENCE][3]:
            break
    return curve


def overview(curves: Sequence[Curve], drops: Sequence[str]) -> str:
    """Unknowns down, drop tolerances across: iterations to each goal."""
    sizes = sorted({c.unknowns for c in curves})
    found = {(c.unknowns, c.drop): c for c in curves}

    def cell(size: int, drop: str) -> str:
        curve = found.get((size, drop))
        if curve is None:
            return ""
        return " / ".join(str(row[0]) if (row := curve.reached(goal)) else "-" for goal in GOALS)

    return table(["unknowns", *drops], [[str(n), *(cell(n, d) for d in drops)] for n in sizes])


def power(value: float, digits: int = 0) -> str:
    """1e-3 instead of 1e-03."""
    return f"{value:.{digits}e}".replace("e-0", "e-").replace("e+0", "e")


def details(curves: Sequence[Curve]) -> str:
    """A line per training."""
    head = ["N", "drop", "quality", "set-up"]
    for goal in GOALS:
        head += [power(goal), "s", "res"]
    return table([*head, "error", "res"], [_line(curve) for curve in curves])


def _line(curve: Curve) -> list[str]:
    line = [str(curve.unknowns), curve.drop, f"{curve.quality:.2g}", f"{curve.setup_s:.2f}"]
    for goal in GOALS:
        row = curve.reached(goal)
        line += [str(row[0]), f"{row[1]:.1f}", power(row[3])] if row else ["-", "-", "-"]
    _, _, error, residual = curve.rows[-1]
    return [*line, power(error, 1), power(residual, 1)]


def records(curves: Sequence[Curve]) -> list[dict[str, Any]]:
    """Every step of every training."""
    return [
        {
            "unknowns": c.unknowns, "drop": c.drop, "quality": c.quality, "fill": c.fill, "setup_s": round(c.setup_s, 4),
            "iteration": i, "seconds": round(s, 4), "training_error": e, "residual": r,
        }
        for c in curves
        for i, s, e, r in c.rows
    ]  # fmt: skip


def draw(path: Path, title: str, curves: Sequence[Curve]) -> None:
    """Training error (solid) and residual (dashed) against iterations, one picture per size."""
    plt = pyplot()
    if plt is None:
        return
    sizes = sorted({c.unknowns for c in curves})
    figure, axes = plt.subplots(
        1, len(sizes), figsize=(4.5 * len(sizes), 4.2), layout="constrained", sharey=True, squeeze=False
    )
    for ax, size in zip(axes[0], sizes, strict=True):
        for k, curve in enumerate(c for c in curves if c.unknowns == size):
            iterations, _, errors, residuals = zip(*curve.rows, strict=True)
            ax.semilogy(iterations, errors, color=f"C{k}", label=f"drop {curve.drop}, quality {curve.quality:.2g}")
            ax.semilogy(iterations, residuals, color=f"C{k}", linestyle="--", linewidth=1)
        ax.set(title=f"{size} unknowns", xlabel="iteration")
        ax.grid(alpha=0.3)
        ax.legend(fontsize=7)
    axes[0][0].set_ylabel("training error (dashed: relative residual)")
    figure.suptitle(title)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def name_of(drop: float | str) -> str:
    return drop if isinstance(drop, str) else power(drop)


def drop_tolerance(text: str) -> float | str:
    return text if text == "auto" else float(text)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 4000, 16_000, 64_000], help="unknowns, about")
    parser.add_argument("--drops", type=drop_tolerance, nargs="+", default=[1e-1, 1e-2, 1e-3, 1e-4, "auto"])
    parser.add_argument("--degree", type=int, default=2)
    parser.add_argument("--iterations", type=int, default=100, help="most of them")
    parser.add_argument("--seconds", type=float, default=120.0, help="most of them for the steps of one training")
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    given = parser.parse_args(arguments)
    device, problem, curves = make_device(given.device), poisson(), []
    title = f"Gauss-Newton on poisson, P{given.degree}, {machine(device)}, seed {given.seed}"
    path = given.out / f"gauss-newton-iterations-{device.type}.csv"
    given.out.mkdir(parents=True, exist_ok=True)
    for size in sorted(given.sizes):
        common = settings_of("pcpinn", problem, None, {
            "cells": square_cells(size, given.degree), "degree": given.degree, "width": given.width, "seed": given.seed,
            "device": device.type, "iterations": given.iterations,
        })  # fmt: skip
        system = linear_system(make_discretisation(problem, make_mesh(problem, common), common))
        for drop in given.drops:
            print(f"{system.size} unknowns, drop tolerance {drop} ...", file=sys.stderr, flush=True)
            try:
                curves.append(
                    train(
                        system,
                        common.updated({"preconditioner": AutoILU() if drop == "auto" else ILU(float(drop))}),
                        given.seconds,
                    )
                )
            except PcpinnError as error:
                print(f"{system.size} unknowns, drop tolerance {drop} left out: {error}")
                continue
            write_csv(path, records(curves))
    if not curves:
        return
    drops = list(dict.fromkeys(c.drop for c in curves))
    goals = " / ".join(power(goal) for goal in GOALS)
    print(f"\n{title}\n\niterations to a training error of {goals}, by drop tolerance\n\n{overview(curves, drops)}\n")
    print(
        "seconds of P's set-up; iterations and seconds to each error, with the residual (res) then; both at the end\n"
    )
    print(f"{details(curves)}\n")
    draw(path.with_suffix(".png"), title, curves)


if __name__ == "__main__":
    main()
