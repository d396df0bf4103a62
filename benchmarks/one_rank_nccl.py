"""One process of a shared solve on a GPU: every exchange goes by nccl, with itself; the parts of a step are timed.

    torchrun --nproc-per-node=1 benchmarks/one_rank_nccl.py --cells 700 --out one_rank_nccl.csv
    python benchmarks/one_rank_nccl.py --device cpu --cells 40 --out one_rank_gloo.csv

Poisson's equation on a square, P1 triangles. Without torchrun the process makes a group of its own. First the answer is compared
with that of the same solve without a group; then one row per part of a step: its time, and the rate that
benchmarks/shared_cost.py takes (--rates).
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from common import machine, poisson, synchronise, write_csv

import pcpinn as pc
from pcpinn.discretize.discrete_equation import DiscreteEquation
from pcpinn.discretize.nonlinear import first_linearisation
from pcpinn.solve.build import make_device, make_discretisation, make_mesh, make_network
from pcpinn.solve.linear import settings_of
from pcpinn.solve.loss import preconditioned_loss
from pcpinn.team import present_team
from pcpinn.train import Adam, GaussNewton

KEYS: dict[str, Any] = {"degree": 1, "preconditioner": "schwarz", "parts": 8, "width": 32, "depth": 2, "certify": False}


def join(device: torch.device) -> None:
    """A group of this process alone, unless torchrun has made one."""
    backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
    if "RANK" in os.environ:
        dist.init_process_group(backend)
    else:
        dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1)


def answer(device: str, iterations: int) -> np.ndarray:
    """A small solve, at some points."""
    keys = {**KEYS, "cells": (40, 40), "iterations": iterations, "patience": 0, "device": device}
    solution = pc.solve(poisson(), keys, accuracy=None, progress=pc.Progress())
    return solution(np.random.default_rng(0).random((200, 2)))


def median(work: Callable[[], Any], device: torch.device, repeats: int = 5) -> float:
    """Seconds, after a warm-up."""
    work()
    times = []
    for _ in range(repeats):
        synchronise(device)
        started = time.perf_counter()
        work()
        synchronise(device)
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def measure(cells: int, device: torch.device) -> list[dict[str, Any]]:
    """One row per part of a step."""
    problem = poisson()
    settings = settings_of("pcpinn", problem, {**KEYS, "cells": (cells, cells), "device": device.type}, {})
    mesh = make_mesh(problem, settings)
    system = first_linearisation(DiscreteEquation(make_discretisation(problem, mesh, settings)))
    started = time.perf_counter()
    loss = preconditioned_loss(system, make_network(problem, mesh, settings), settings)
    setup, operator, team = time.perf_counter() - started, loss.operator, present_team()
    r = torch.randn(system.size, dtype=torch.float64, device=device)
    p = loss.network.parameter_count
    small = torch.randn(p, dtype=torch.float64, device=device)
    large = torch.randn(p, p, dtype=torch.float64, device=device)
    newton, adam = GaussNewton(), Adam()
    states = newton.start(loss, 0), adam.start(loss, 0)
    residual = loss.known_residual()
    works: dict[str, Callable[[], Any]] = {
        "A u": lambda: operator.matrix.apply(r),
        "P^-1 r": lambda: operator.solver.apply(r),
        "P^-T r": lambda: operator.solver.apply_transpose(r),
        "gradient": lambda: loss.gradient(residual),
        "Gram matrix and Cholesky": lambda: loss.curvature(newton, states[0]).solve(small, 1e-3),
        "sum of p numbers": lambda: team.sum(small),
        "sum of p^2 numbers": lambda: team.sum(large),
        "Gauss-Newton step": lambda: newton.step(loss, states[0]),
        "Adam step": lambda: adam.step(loss, states[1]),
    }
    common = {"machine": machine(device), "dofs": system.size, "weights": p, "parts": KEYS["parts"]}
    rows = [{**common, "part": "set-up of P", "seconds": setup}]
    for part, work in works.items():
        before = team.calls
        seconds = median(work, device)
        rows.append({**common, "part": part, "seconds": seconds, "exchanges": (team.calls - before) / 6})
        print(f"{part:26} {seconds * 1e3:10.3f} ms", flush=True)
    return rows


def main() -> None:
    """Compare, measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="CSV file to write")
    parser.add_argument("--cells", type=int, default=700, help="along each side of the square")
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    device = make_device(options.device)
    alone = answer(options.device, 10)
    join(device)
    shared = answer(options.device, 10)
    difference = float(abs(shared - alone).max() / abs(alone).max())
    print(f"{machine(device)}: with a group of one and without, answers differ by {difference:.1e}", flush=True)
    rows = measure(options.cells, device)
    write_csv(options.out, [{**row, "difference": difference} for row in rows])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
