"""Milliseconds per step of Adam on a dense P^-1 A in float32: one step per CUDA graph against several.

    pcpinn prepare poisson2d-c --preset paper --out c.pcpinn          # on a machine with a mesher
    python benchmarks/adam_steps.py c.pcpinn --device cuda --steps 20000
    python benchmarks/adam_steps.py poisson2d-c --device cpu --steps 50 --set size=0.05

"plain" is Adam's ordinary step, an operation at a time. The others are torch's fused update, k steps between two looks at the
loss, on a GPU as one captured graph. Each row is a whole training by `train` (history, stopping, last good weights), from
the same first weights. "bind" is warm-up and capture, and part of "total". Below are the parts of a step, each by itself,
and on a GPU the fraction of the memory's bandwidth (that of a copy in this run) at which the dense products run.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from common import machine, prepared_or_named, synchronise, table, write_csv

from pcpinn.catalog.task import Task
from pcpinn.discretize.system import LinearSystem, linear_system
from pcpinn.solve.build import make_device, make_discretisation, make_mesh, make_network
from pcpinn.solve.loss import preconditioned_loss
from pcpinn.train import Adam, LeastSquares, Loss, Stopping, train
from pcpinn.train.adam import Fused
from pcpinn.train.graph import capture, warm_up

_REPEATS = 20  # of a part, in one graph


class Uncaptured(Fused):
    """On a CPU: the same steps, without a graph."""

    def _graph(self, k: int) -> Callable[[], None]:
        return lambda: self._steps(k)


@dataclass(frozen=True)
class Batched(Adam):
    """Adam with so many steps at once; 0 is its plain step."""

    at_once: int = 0

    def bind(self, problem: Any, state: Any) -> Any:
        started = time.perf_counter()
        if not self.at_once:
            advance: Any = lambda most: [self.step(problem, state)]  # noqa: E731
        elif problem.theta.device.type == "cpu":
            advance = Uncaptured(self, problem, state, self.at_once)
        else:
            advance = Fused(self, problem, state, self.at_once)
            if not advance.try_out():
                raise SystemExit("this loss cannot be captured as a CUDA graph")
            synchronise(problem.theta.device)
        object.__setattr__(self, "bind_s", time.perf_counter() - started)
        return advance


def build(task: Task) -> tuple[LinearSystem, LeastSquares]:
    """The system and its loss, as a solve would make them."""
    settings = task.settings
    mesh = task.mesh or make_mesh(task.problem, settings)
    system = linear_system(make_discretisation(task.problem, mesh, settings))
    return system, preconditioned_loss(system, make_network(task.problem, mesh, settings), settings)


def measure(loss: LeastSquares, task: Task, at_once: int, steps: int) -> dict[str, Any]:
    """One training from the network's first weights."""
    settings, device = task.settings, loss.theta.device
    own = settings.optimiser
    adam = Batched(own.learning_rate, own.beta1, own.beta2, at_once=at_once)
    first = loss.theta.detach().clone()
    synchronise(device)
    started = time.perf_counter()
    training = train(loss, adam, Stopping(steps))
    synchronise(device)
    total = time.perf_counter() - started
    with torch.no_grad():
        loss.theta.copy_(first)
    bind = adam.bind_s  # type: ignore[attr-defined]
    return {
        "steps at once": at_once or "plain", "steps": training.iterations, "bind_s": bind, "total_s": total,
        "ms_per_step": (total - bind) / training.iterations * 1e3, "loss": training.loss,
    }  # fmt: skip


def parts(loss: LeastSquares) -> dict[str, float]:
    """Milliseconds of each part of a step."""
    theta, operator = loss.theta, loss.operator
    u, adam = loss.unknowns().detach(), Adam()
    state = adam.start(loss, 0)
    update = Fused(adam, _Still(loss), state, 1)
    first = theta.detach().clone()

    def network() -> None:
        torch.autograd.grad(loss.unknowns(), theta, u)

    result = {
        "P^-1 A u": _time(lambda: operator.apply(u), theta.device),
        "(P^-1 A)^T r": _time(lambda: operator.apply_transpose(u), theta.device),
        "network, forward and backward": _time(network, theta.device),
        "fused update": _time(lambda: update._steps(1), theta.device),
    }
    with torch.no_grad():
        theta.copy_(first)
    return result


class _Still(Loss):
    """A loss that costs next to nothing, to time the update by itself."""

    def __init__(self, loss: LeastSquares) -> None:
        self.network = loss.network

    @property
    def theta(self) -> torch.nn.Parameter:
        return self.network.theta

    def loss(self) -> torch.Tensor:
        return self.theta @ self.theta

    def describe(self) -> dict[str, Any]:
        return {}


def _time(work: Callable[[], Any], device: torch.device) -> float:
    def repeated() -> None:
        for _ in range(_REPEATS):
            work()

    if device.type == "cuda":
        warm_up(repeated)
        replay = capture(repeated)
    else:
        replay = work
    replay()
    synchronise(device)
    started, count = time.perf_counter(), 5
    for _ in range(count):
        replay()
    synchronise(device)
    return (time.perf_counter() - started) / (count * (_REPEATS if device.type == "cuda" else 1)) * 1e3


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problem", nargs="?", default="poisson2d-c", help="a .pcpinn file, or a name (preset paper)")
    parser.add_argument("--steps", type=int, default=None, help="default: 20000 on a GPU, 50 on a CPU")
    parser.add_argument("--at-once", type=int, nargs="+", default=[0, 1, 10, 20, 50], help="0 is the plain step")
    parser.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--set", dest="changes", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    given = parser.parse_args(arguments)
    device = make_device(given.device)
    changes = dict(pair.split("=", 1) for pair in given.changes)
    wanted = {"device": device.type, "precision": "float32", "dense": "true", "optimiser": "adam", **changes}
    task = prepared_or_named(given.problem, "paper", wanted)
    print("assembly and preconditioner ...", file=sys.stderr, flush=True)
    system, loss = build(task)
    steps = given.steps or (20_000 if device.type == "cuda" else 50)
    train(loss, Batched(1e-30), Stopping(3))  # what torch loads at first use must not count
    rows = []
    for at_once in given.at_once:
        print(f"{at_once or 'plain'} ...", file=sys.stderr, flush=True)
        plain_on_gpu = not at_once and device.type == "cuda"
        rows.append(measure(loss, task, at_once, min(steps, 1000) if plain_on_gpu else steps))
    head = ["steps at once", "steps", "bind", "total", "ms per step", "loss"]
    shown = [
        [str(r["steps at once"]), str(r["steps"]), f"{r['bind_s']:.2f} s", f"{r['total_s']:.2f} s",
         f"{r['ms_per_step']:.3f}", f"{r['loss']:.4e}"]
        for r in rows
    ]  # fmt: skip
    times = parts(loss)
    size = loss.operator.apply(torch.zeros_like(loss.unknowns().detach())).numel()
    print(
        f"\n{task.record['problem']}, {system.size} unknowns, {loss.network.parameter_count} weights, {machine(device)}"
    )
    print(f"\n{table(head, shown)}\n")
    print(table(["part", "ms"], [[k, f"{v:.4f}"] for k, v in times.items()]))
    if device.type == "cuda" and loss.operator.dense:
        matrix = torch.zeros(size, size, device=device)
        target = torch.zeros_like(matrix)
        copy = 2 * size**2 * 4 / _time(lambda: target.copy_(matrix), device)  # bytes per millisecond
        for part in ("P^-1 A u", "(P^-1 A)^T r"):
            print(f"{part}: {size**2 * 4 / times[part] / copy:.0%} of {copy / 1e9:.2f} TB/s")
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / f"adam-steps-{device.type}.csv"
    write_csv(path, rows + [{"part": k, "ms": v} for k, v in times.items()])
    print(f"\n{path}")


if __name__ == "__main__":
    main()
