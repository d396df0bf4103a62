"""Steps of PINNs: derivatives carried forward beside reverse mode over reverse mode, in one run.

    python benchmarks/baseline_steps.py --out docs/benchmarks/baseline-steps.csv
    python benchmarks/baseline_steps.py --device cuda --problems burgers1d-c,wave1d-c

Settings of the preset pinnacle. For each method and problem: seconds of loss and gradient both ways, the number of operations
that a step gives the machine (kernels on a GPU), and how far loss and gradient are apart, relative to their size.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import torch
from common import machine, synchronise, table, write_csv
from torch.profiler import ProfilerActivity, profile

from pcpinn.baselines.collocation import StrongLoss, collocation_loss
from pcpinn.catalog.task import catalog_task
from pcpinn.solve.build import make_network
from pcpinn.solve.without_system import mesh_for_points

METHODS = ("pinn", "laaf", "fbpinn", "vpinn")
PROBLEMS = ("burgers1d-c", "wave1d-c", "poisson2d-ms", "heat2d-ms")


# Operations of torch that are a kernel each, and not made of others.
WORK = (
    "mm addmm bmm baddbmm mul mul_ add add_ sub sub_ div div_ neg pow sum cat copy_ fill_ tanh tanh_backward sin cos exp sigmoid "
    "sigmoid_backward addcmul_ addcmul where gather scatter_add_ index_select index index_put_ abs sign sqrt rsqrt reciprocal "
    "dot mean clamp ge gt le lt eq sgn log erf maximum minimum square"
)


def loss_of(method: str, problem: str, changes: dict[str, Any]) -> StrongLoss:
    """The loss of a method, untrained."""
    task = catalog_task(problem, "pinnacle", changes, reference=False, method=method)
    mesh = mesh_for_points(task.problem, task.settings)
    network = make_network(task.problem, mesh, task.settings)
    return collocation_loss(task.problem, mesh, network, task.settings)


def reverse(loss: StrongLoss) -> None:
    """Let the loss see the network alone, without its jets."""
    loss.seen = loss.network


def stepped(loss: StrongLoss) -> tuple[torch.Tensor, torch.Tensor]:
    """Loss and gradient."""
    value = loss.loss()
    return value.detach(), torch.autograd.grad(value, loss.theta)[0]


def seconds(work: Callable[[], Any], device: torch.device, times: int) -> float:
    """Median of some calls, after two that do not count."""
    taken = []
    for k in range(times + 2):
        started = time.perf_counter()
        work()
        synchronise(device)
        taken += [time.perf_counter() - started] if k > 1 else []
    return median(taken)


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--set", dest="changes", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--out", type=Path, help="CSV")
    given = parser.parse_args()
    changes = {**dict(text.split("=", 1) for text in given.changes), "device": given.device}
    device, rows = torch.device(given.device), []
    for problem in given.problems.split(","):
        for method in given.methods.split(","):
            ahead, back = (loss_of(method, problem, changes) for _ in range(2))
            reverse(back)
            (a, ga), (b, gb) = stepped(ahead), stepped(back)
            row = {"problem": problem, "method": method, "machine": machine(device)}
            for name, loss in (("reverse", back), ("jets", ahead)):
                row[f"{name}_ms"] = round(1e3 * seconds(lambda: stepped(loss), device, given.times), 2)  # noqa: B023
                row[f"{name}_operations"] = operations(lambda: stepped(loss), device)  # noqa: B023
            row["ratio"] = round(row["reverse_ms"] / row["jets_ms"], 2)
            row["loss_apart"] = f"{float(abs(a - b) / b):.1e}"
            row["gradient_apart"] = f"{float((ga - gb).norm() / gb.norm()):.1e}"
            rows.append(row)
            print(table(list(row), [[str(v) for v in row.values()]]), flush=True)
            if given.out is not None:
                write_csv(given.out, rows)


if __name__ == "__main__":
    main()
