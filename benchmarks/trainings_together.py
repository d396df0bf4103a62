"""Steps of trainings alone and side by side in one process (train/turns.py): time of a step, and whether numbers stay the same.

    python benchmarks/trainings_together.py --prepared build/packed --device cuda --problem heat2d-ms --seats 4,8 --out t.csv

Each method trains `--steps` steps alone, after as many that do not count; then all of them again from the same weights, so many
at a time. Rows: seats, method, whether steps are captured, milliseconds per step of that training, relative difference of its
weights from those it had alone. In all: steps per second of all together. Ends with code 1 where a difference is more than
rounding may become (1e-2): then numbers of one training have reached another.
"""

from __future__ import annotations

import argparse
import csv
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from pcpinn.baselines.collocation import collocation_loss
from pcpinn.bench.cell import Cell, task_of
from pcpinn.catalog.task import Task
from pcpinn.reproduce.main_tables import OTHERS
from pcpinn.solve.build import make_network, make_optimiser
from pcpinn.train.fused import Steps
from pcpinn.train.turns import Turns

_MOST = 1e-2  # of the weights, after some hundred steps


class Trained:
    """A training that can be begun again from the same weights."""

    def __init__(self, cell: Cell, device: str) -> None:
        task = task_of(cell, device, reference=False)
        assert isinstance(task, Task)
        network = make_network(task.problem, task.mesh, task.settings)
        self.loss = collocation_loss(task.problem, task.mesh, network, task.settings)
        self.optimiser, _ = make_optimiser(task.settings, network, None)
        self._first = self.loss.theta.detach().clone()

    def run(self, steps: int) -> tuple[float, bool, Tensor]:
        """Seconds per step after as many that do not count, whether they were captured, and the weights at the end."""
        with torch.no_grad():
            self.loss.theta.copy_(self._first)
        state = self.optimiser.start(self.loss, 0)
        self.loss.begin(self.optimiser.by_gradient)
        self.loss.weights.fill_(1.0)
        done, began, advance = 0, 0.0, None
        while done < 2 * steps:
            most = min(2 * steps - done, self.loss.adapt(done))
            advance = advance or self.optimiser.bind(self.loss, state)
            if done >= steps and not began:
                began, counted = time.perf_counter(), done
            done += len(advance(most))
        seconds = (time.perf_counter() - began) / (done - counted)
        return seconds, isinstance(advance, Steps), self.loss.theta.detach().cpu().clone()


def together(
    trainings: dict[str, Trained], steps: int, seats: int
) -> tuple[dict[str, tuple[float, bool, Tensor]], float]:
    """What each comes to, so many at a time, and seconds of all."""
    turns, found, left = Turns(seats), {}, list(trainings)

    def work() -> None:
        while left:
            name = left.pop(0)
            with turns.taken():
                found[name] = trainings[name].run(steps)

    threads = [threading.Thread(target=work) for _ in range(seats)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found, time.perf_counter() - began


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prepared", type=Path, required=True, help="folder of benchmarks/paper_left.py --prepare")
    parser.add_argument("--problem", default="heat2d-ms")
    parser.add_argument("--methods", default=",".join(m for m in OTHERS if m != "rar"))
    parser.add_argument("--set", dest="changes", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seats", default="1,4,8")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args(arguments)
    changes = tuple(sorted(tuple(text.split("=", 1)) for text in given.changes))
    file = str(given.prepared / f"{given.problem}-pinnacle-pinn.pcpinn")
    trainings = {
        m: Trained(Cell(given.problem, m, "pinnacle", changes, 0, file), given.device) for m in given.methods.split(",")
    }
    alone = {name: training.run(given.steps) for name, training in trainings.items()}
    rows = [["alone", name, captured, 1e3 * s, 0.0] for name, (s, captured, _) in alone.items()]
    for seats in map(int, given.seats.split(",")):
        found, seconds = together(trainings, given.steps, seats)
        for name, (s, captured, theta) in found.items():
            before = alone[name][2]
            rows.append([seats, name, captured, 1e3 * s, float((theta - before).norm() / before.norm())])
        print(f"{seats} at a time: {2 * given.steps * len(found) / seconds:.0f} steps per second, recording included")
    for row in rows:
        print("{!s:>6} {:10} captured {!s:5} {:8.3f} ms {:.1e}".format(*row))
    if given.out is not None:
        with given.out.open("w", newline="", encoding="utf-8") as stream:
            table = csv.writer(stream, lineterminator="\n")
            table.writerow(["seats", "method", "captured", "milliseconds", "difference"])
            table.writerows(rows)
    return int(any(not row[4] < _MOST for row in rows))


if __name__ == "__main__":
    sys.exit(main())
