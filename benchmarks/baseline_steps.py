"""Steps of PINNs, three ways in one run: reverse mode over reverse mode, jets as they were, jets as they are.

    python benchmarks/baseline_steps.py --out docs/benchmarks/baseline-steps.csv
    python benchmarks/baseline_steps.py --device cuda --prepared DIR      # where there is no mesher: files of `pcpinn prepare`

Settings of the preset pinnacle. For each method and problem: milliseconds of loss and gradient, the number of operations that a
step gives the machine (kernels on a GPU), and how far gradients are apart, relative to their size. "As they were" is each second
derivative by itself, derivatives of tanh that are kept for the way back, each condition by itself, and weights that are changed
before the step and not within it. On a CPU also the number of operations where each way through tanh is one kernel (`kernels`);
on a GPU a step of Adam from a captured graph, which is what a training costs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from common import machine, synchronise, table, write_csv
from torch.profiler import ProfilerActivity, profile

from pcpinn.baselines.collocation import StrongLoss, collocation_loss
from pcpinn.catalog.prepared import SUFFIX, read_prepared
from pcpinn.catalog.task import catalog_task
from pcpinn.network.tanh_jets import Ways
from pcpinn.solve.build import make_network
from pcpinn.solve.without_system import mesh_for_points
from pcpinn.strong.walls import Walls
from pcpinn.train import Adam
from pcpinn.train.adam import Fused

METHODS = ("pinn", "lra", "fbpinn", "vpinn")
PROBLEMS = ("burgers1d-c", "wave1d-c", "poisson2d-c", "poisson3d-cg", "heat2d-ms", "ns2d-c")

# Operations of torch that are a kernel each, and not made of others.
WORK = (
    "mm addmm bmm baddbmm mul mul_ add add_ sub sub_ div div_ neg pow sum cat copy_ fill_ tanh tanh_backward sin cos exp sigmoid "
    "sigmoid_backward addcmul_ addcmul where gather scatter_add_ index_select index index_put_ abs sign sqrt rsqrt reciprocal "
    "dot mean clamp ge gt le lt eq sgn log erf maximum minimum square"
)


def loss_of(method: str, problem: str, changes: dict[str, Any], prepared: Path | None = None) -> StrongLoss:
    """The loss of a method, untrained."""
    if prepared is None:
        task = catalog_task(problem, "pinnacle", changes, reference=False, method=method)
        mesh = mesh_for_points(task.problem, task.settings)
    else:
        task = read_prepared(prepared / f"{problem}-pinnacle-pinn{SUFFIX}", changes, method=method)
        mesh = task.mesh
    network = make_network(task.problem, mesh, task.settings)
    return collocation_loss(task.problem, mesh, network, task.settings)


@contextmanager
def way(name: str, method: str, problem: str, changes: dict[str, Any], prepared: Path | None) -> Iterator[StrongLoss]:
    """The loss of a method that is evaluated one of the three ways, within."""
    each = patch("pcpinn.strong.jetted.common_weights", lambda *_: None)
    kept = patch("pcpinn.network.jets.ACTIVATIONS", {"tanh": None})
    with each if name == "before" else nullcontext(), kept if name == "before" else nullcontext():
        loss = loss_of(method, problem, changes, prepared)
        if name != "now":
            loss._walls = Walls([])
        if name == "reverse":
            loss.seen = loss.network
        loss.begin(name == "now")
        yield loss


def stepped(loss: StrongLoss) -> torch.Tensor:
    """All of a step but for the optimiser's own work: weights that change, loss, gradient."""
    loss.adapt(0)
    return loss.value_and_gradient()[1]


def seconds(work: Callable[[], Any], device: torch.device, times: int) -> float:
    """The fastest of some calls, after two that do not count: other work on the machine can only add."""
    taken = []
    for k in range(times + 2):
        started = time.perf_counter()
        work()
        synchronise(device)
        taken += [time.perf_counter() - started] if k > 1 else []
    return min(taken)


def operations(work: Callable[[], Any], device: torch.device) -> int:
    """Kernels on a GPU; on a CPU, operations that are more than a view."""
    if device.type == "cuda":
        with profile(activities=[ProfilerActivity.CUDA]) as seen:
            work()
            synchronise(device)
        return sum(e.count for e in seen.key_averages() if e.device_time_total > 0)
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        work()
    return sum(e.count for e in seen.key_averages() if e.key.removeprefix("aten::") in WORK.split())


def with_kernels(work: Callable[[], Any], device: torch.device) -> int:
    """Operations if each way of a jet through tanh were one, as it is on a GPU with Triton; what comes out is wrong."""
    ways = Ways(lambda z, *_: z.mul_(1.0), lambda jet, g, *_: g * 1.0)
    with patch("pcpinn.network.tanh_jets.ways", lambda like: ways):
        return operations(work, device)


def captured(loss: StrongLoss, times: int) -> float:
    """Milliseconds of a step of Adam, in graphs of twenty; nan where the loss cannot be captured."""
    adam, device = Adam(), loss.theta.device
    advance = adam.bind(loss, adam.start(loss, 0))
    return 1e3 * seconds(lambda: advance(20), device, times) / 20 if isinstance(advance, Fused) else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    parser.add_argument("--prepared", type=Path, help="folder with prepared problems")
    parser.add_argument("--ways", default="reverse,before,now")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--set", dest="changes", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--out", type=Path, help="CSV")
    given = parser.parse_args()
    changes = {**dict(text.split("=", 1) for text in given.changes), "device": given.device}
    device, rows = torch.device(given.device), []
    for problem, method in product(given.problems.split(","), given.methods.split(",")):
        row: dict[str, Any] = {"problem": problem, "method": method, "machine": machine(device)}
        gradients = {}
        for name in given.ways.split(","):
            with way(name, method, problem, changes, given.prepared) as loss:
                gradients[name] = stepped(loss).double()
                row[f"{name}_ms"] = round(1e3 * seconds(lambda: stepped(loss), device, given.times), 2)
                row[f"{name}_operations"] = operations(lambda: stepped(loss), device)
                if device.type == "cpu" and name == "now":
                    row["kernels"] = with_kernels(lambda: stepped(loss), device)
                if device.type == "cuda":
                    row[f"{name}_graph_ms"] = round(captured(loss, given.times), 3)
        first, last = next(iter(gradients)), next(reversed(gradients))
        row["ratio"] = round(row[f"{first}_ms"] / row[f"{last}_ms"], 2)
        row["gradient_apart"] = f"{float((gradients[first] - gradients[last]).norm() / gradients[first].norm()):.1e}"
        rows.append(row)
        print(table(list(row), [[str(v) for v in row.values()]]), flush=True)
        if given.out is not None:
            write_csv(given.out, rows)


if __name__ == "__main__":
    main()
