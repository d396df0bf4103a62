"""What a step of a shared solve sends and takes, and what that foretells for many GPUs.

    python benchmarks/shared_cost.py measure --out docs/benchmarks/shared_cost.csv
    python benchmarks/shared_cost.py predict --out docs/benchmarks/shared_speedup.csv [--rates one_rank_nccl.csv]

measure: bytes, exchanges and seconds per step on 1, 2 and 4 gloo processes of this machine, beside the bytes of the model.
predict: speed-ups of 8 and 64 GPUs over one at 10^7 and 10^8 degrees of freedom in three dimensions. Rates of one GPU are those
that docs/benchmarks.md has for an H200 (or of --rates); links are assumptions, written below and into the file.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch.distributed as dist
from common import poisson, write_csv

from pcpinn.discretize.discrete_equation import DiscreteEquation
from pcpinn.discretize.nonlinear import first_linearisation
from pcpinn.solve.build import make_discretisation, make_mesh, make_network
from pcpinn.solve.linear import settings_of
from pcpinn.solve.loss import preconditioned_loss
from pcpinn.team import present_team
from pcpinn.train import Adam, GaussNewton

PAIRS = {"gauss-newton": 2, "adam": 2}  # times A and P, or their transposes, in a step: value and gradient
_STEPS = 4


@dataclass(frozen=True)
class Task:
    """What is shared.

    Attributes:
        dofs, dimension, weights: of the problem and the network.
        coarse: functions of the coarse space.
        overlap: layers.
        neighbours: layers of nodes next to a part, times its surface in nodes of one layer (2 for P1 in both directions).
    """

    dofs: float
    dimension: int
    weights: int
    coarse: int
    overlap: int = 2
    neighbours: float = 1.0

    def surface(self, processes: int) -> float:
        """Nodes of one layer around the part of a process: a box, all of whose sides have neighbours if there are many."""
        if processes == 1:
            return 0.0
        d, own = self.dimension, self.dofs / processes
        sides = min(2 * d, 2 * (processes - 1)) / 2 if processes < 2**d else d
        return self.neighbours * sides * (2 if processes > 2**d else 1) * own ** ((d - 1) / d)

    def bytes_sent(self, processes: int, optimiser: str) -> dict[str, float]:
        """By a process in a step."""
        layer, pairs = 8 * self.surface(processes), PAIRS[optimiser]
        halos = pairs * (2 + self.overlap) * layer  # A u, A inside of P, and the overlap
        coarse = pairs * 2 * _sum(self.coarse, processes)
        if optimiser == "adam":
            return {"halos": halos, "coarse": coarse, "gradient": _sum(self.weights, processes), "gram": 0.0}
        return {
            "halos": halos,
            "coarse": coarse,
            "gradient": 2 * _sum(self.weights, processes),  # and the second derivative
            "gram": _sum(self.weights**2, processes),
        }

    def exchanges(self, optimiser: str) -> int:
        """Per process and step: a halo is one, a sum two (pieces there, sums back)."""
        pairs = PAIRS[optimiser]
        # the loss, before and after; Gram matrix, gradient, second derivative; solutions of the first process
        sums, told = (5, 2) if optimiser == "gauss-newton" else (2, 0)
        return pairs * (3 + 2 * 2) + 2 * sums + told


def _sum(count: float, processes: int) -> float:
    return 2 * (processes - 1) / processes * 8 * count


@dataclass(frozen=True)
class Machines:
    """Rates of one GPU and its links.

    Attributes:
        solve: seconds per degree of freedom of P^-1 r (H200, 10^6 of them: 21.9 ms); product: of A u (0.06 ms); network: of
            its values with their gradient (3.2 ms).
        gram: Gram matrix and Cholesky of a network of some 2000 weights (14.6 ms), of which Cholesky is not shared.
        overhead: of a step by a host that starts kernels (10^4 degrees of freedom: 15 ms; Adam without graphs is assumed).
        inside, between: bytes per second of a GPU to those in its machine (8) and beyond; assumed.
        latency, per_process: seconds of an exchange, and of each process that takes part in it; assumed.
    """

    solve: float = 21.9e-3 / 1e6
    product: float = 0.06e-3 / 1e6
    network: float = 3.2e-3 / 1e6
    gram: float = 14.6e-3
    overhead_gauss_newton: float = 13e-3
    overhead_adam: float = 3e-3
    inside: float = 300e9
    between: float = 40e9
    latency: float = 20e-6
    per_process: float = 2e-6

    def seconds(self, task: Task, processes: int, optimiser: str) -> dict[str, float]:
        """Of a step, by part."""
        own, pairs = task.dofs / processes, PAIRS[optimiser]
        sent = sum(task.bytes_sent(processes, optimiser).values())
        newton = optimiser == "gauss-newton"
        shared = pairs * (self.solve + 2 * self.product) + (4 if newton else 1) * self.network
        waiting = task.exchanges(optimiser) * (self.latency + self.per_process * processes) if processes > 1 else 0.0
        return {
            "compute": shared * own + (self.gram * (0.5 / processes + 0.5) if newton else 0.0),
            "overhead": self.overhead_gauss_newton if newton else self.overhead_adam,
            "latency": waiting,
            "traffic": sent / (self.inside if processes <= 8 else self.between),
        }


def predict(out: Path, rates: Path | None) -> None:
    """Speed-ups."""
    machines = Machines() if rates is None else _measured(rates)
    rows = []
    for dofs in (1e7, 1e8):
        for optimiser in PAIRS:
            task = Task(dofs, 3, 2000, 1024)
            alone = sum(machines.seconds(task, 1, optimiser).values())
            for processes in (1, 8, 64):
                parts = machines.seconds(task, processes, optimiser)
                limit = max(parts, key=lambda k: parts[k])
                times = {f"{k}_ms": round(1e3 * v, 3) for k, v in parts.items()}
                speed = {"speed_up": round(alone / sum(parts.values()), 1), "largest": limit}
                rows.append({"dofs": f"{dofs:.0e}", "optimiser": optimiser, "gpus": processes, **times, **speed})
                print(rows[-1], flush=True)
    write_csv(out, rows)
    write_csv(out.with_name(f"{out.stem}_rates.csv"), [{"rate": k, "value": v} for k, v in asdict(machines).items()])


def _measured(path: Path) -> Machines:
    """Rates from the file of one_rank_nccl.py."""
    with path.open(encoding="utf-8") as file:
        rows = {row["part"]: row for row in csv.DictReader(file)}
    dofs = float(rows["A u"]["dofs"])
    seconds = {part: float(row["seconds"]) for part, row in rows.items()}
    network = max(seconds["gradient"] - seconds["A u"] - seconds["P^-T r"], 0.0)
    return Machines(
        solve=seconds["P^-1 r"] / dofs,
        product=seconds["A u"] / dofs,
        network=network / dofs,
        gram=seconds["Gram matrix and Cholesky"],
    )


def measure(out: Path, sizes: list[int], processes: list[int]) -> None:
    """Start groups of processes that call `member`."""
    rows: list[dict[str, Any]] = []
    for size in processes:
        with tempfile.TemporaryDirectory() as folder:
            found = Path(folder) / "found.csv"
            command = [sys.executable, __file__, "member", "--out", str(found), "--store", f"{folder}/store"]
            command += ["--cells", *map(str, sizes)]
            started = [
                subprocess.Popen([*command, "--rank", str(rank), "--processes", str(size)]) for rank in range(size)
            ]
            if any(process.wait() for process in started):
                sys.exit("a process failed")
            with found.open(encoding="utf-8") as file:
                rows += list(csv.DictReader(file))
    write_csv(out, rows)


def member(out: Path, store: str, rank: int, processes: int, sizes: list[int]) -> None:
    """One process: bytes, exchanges and seconds per step."""
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=processes)
    team, rows, problem = present_team(), [], poisson()
    for cells in sizes:
        keys = {"cells": (cells, cells), "degree": 1, "preconditioner": "schwarz", "parts": 4, "device": "cpu"}
        settings = settings_of("pcpinn", problem, {**keys, "width": 16, "depth": 2}, {})
        mesh = make_mesh(problem, settings)
        system = first_linearisation(DiscreteEquation(make_discretisation(problem, mesh, settings)))
        for optimiser in (GaussNewton(), Adam()):
            loss = preconditioned_loss(system, make_network(problem, mesh, settings), settings)
            state = optimiser.start(loss, 0)
            optimiser.step(loss, state)
            sent, calls, started = team.sent, team.calls, time.perf_counter()
            for _ in range(_STEPS):
                optimiser.step(loss, state)
            seconds = (time.perf_counter() - started) / _STEPS
            coarse = loss.operator.preconditioner.describe(loss.operator.state)["coarse_size"]  # type: ignore[attr-defined]
            task = Task(system.size, 2, loss.network.parameter_count, coarse)
            model = sum(task.bytes_sent(processes, optimiser.name).values())
            facts = {"processes": processes, "dofs": system.size, "weights": loss.network.parameter_count}
            facts |= {"coarse": coarse, "optimiser": optimiser.name, "seconds": round(seconds, 4)}
            facts |= {"bytes": (team.sent - sent) / _STEPS, "bytes_of_model": round(model)}
            facts |= {"exchanges": (team.calls - calls) / _STEPS, "exchanges_of_model": task.exchanges(optimiser.name)}
            facts |= {"load": round(os.getloadavg()[0], 1)}
            rows.append(facts)
            if rank == 0:
                print(facts, flush=True)
    if rank == 0:
        write_csv(out, rows)
    dist.destroy_process_group()


def main() -> None:
    """Measure, or predict."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("measure", "predict", "member"))
    parser.add_argument("--out", type=Path, required=True, help="CSV file to write")
    parser.add_argument("--rates", type=Path, help="of one_rank_nccl.py, for predict")
    parser.add_argument("--cells", type=int, nargs="+", default=[32, 64, 128])
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--store", default="")
    options = parser.parse_args()
    if options.what == "predict":
        predict(options.out, options.rates)
    elif options.what == "measure":
        measure(options.out, options.cells, options.processes)
    else:
        member(options.out, options.store, options.rank, options.processes[0], options.cells)


if __name__ == "__main__":
    main()
