"""Time of every stage and of every part of an iteration against the number of unknowns.

    python benchmarks/scaling.py --problem poisson --degree 1 --sizes 1000 10000 100000 1000000 --device cuda
    python benchmarks/scaling.py --problem heat --sizes 1000 10000 100000 --drop 1e-2 --max-seconds 300

poisson: the unit square, triangles. heat: u_t - 0.1 Laplace u = f in space-time, tetrahedra. Both meshes are structured.
P^-1 A is never held as a dense matrix here, so that its parts can be told apart; by itself the solver does hold it while the
matrix is small, and is faster then.

All times are medians after a warm-up. "of bandwidth" is the time in which the bytes that must be moved (for A: values, indices,
both vectors; for P^-1: those of its factors, each once) would be copied at the bandwidth measured in the same run, over the
time taken. What fits into a cache can be above 100 %.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from common import machine, poisson, pyplot, square_cells, synchronise, table, write_csv
from heat_spacetime import cells_for
from heat_spacetime import problem as heat

from pcpinn import PcpinnError
from pcpinn.discretize.system import LinearSystem, linear_system
from pcpinn.precondition import AMG, ILU, Preconditioner
from pcpinn.precondition.operator import PreconditionedResidual
from pcpinn.precondition.protocol import DeviceSolver
from pcpinn.precondition.quality import estimate_quality
from pcpinn.precondition.torch_sparse import csr_tensor
from pcpinn.solve.build import make_device, make_discretisation, make_mesh, make_network
from pcpinn.solve.linear import settings_of
from pcpinn.solve.settings import Settings
from pcpinn.train import Adam, GaussNewton, LeastSquares
from pcpinn.train.adam import Fused

STAGES = ("mesh", "assembly", "preconditioner", "device set-up")
PARTS = (
    "A u", "P^-1 r", "P^-T r", "forward", "forward + backward", "Gram + Cholesky", "Gauss-Newton step", "Adam step",
)  # fmt: skip
ENTRY, NUMBER, INDEX = 12, 8, 4  # bytes: an entry of a sparse matrix in double precision, a double, an index


class Built:
    """A preconditioner whose factors are there already, and which keeps its solver for the device."""

    def __init__(self, recipe: Preconditioner, state: Any) -> None:
        self.recipe, self.state = recipe, state
        self.name, self.prefers_torch = recipe.name, recipe.prefers_torch
        self.solver: DeviceSolver | None = None

    def build(self, A: sp.csr_matrix) -> Any:
        return self.state

    def apply(self, state: Any, r: np.ndarray) -> np.ndarray:
        return self.recipe.apply(state, r)

    def apply_transpose(self, state: Any, r: np.ndarray) -> np.ndarray:
        return self.recipe.apply_transpose(state, r)

    def on_device(
        self, state: Any, dtype: torch.dtype, device: torch.device | str, columns: int = 1
    ) -> DeviceSolver | None:
        self.solver = self.recipe.on_device(state, dtype, device, columns)
        return self.solver

    def describe(self, state: Any) -> dict[str, Any]:
        return self.recipe.describe(state)


@dataclass
class Row:
    """All that was measured at one size."""

    unknowns: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def setup(self) -> float:
        return sum(self.seconds.get(stage, 0.0) for stage in STAGES)

    def measured(self, stage: str, device: torch.device, call: Callable[[], Any]) -> Any:
        """What a stage returns; its time is noted."""
        print(f"  {stage} ...", file=sys.stderr, flush=True)
        started = time.perf_counter()
        result = call()
        synchronise(device)
        self.seconds[stage] = time.perf_counter() - started
        return result


def median(call: Callable[[], Any], device: torch.device, budget: float = 1.0, most: int = 30) -> float:
    """Seconds of one call: median of some, after a warm-up (of one call, if it is a slow one)."""
    began = time.perf_counter()
    for _ in range(3):
        call()
        synchronise(device)
        if time.perf_counter() - began > budget:
            break
    times: list[float] = []
    began = time.perf_counter()
    while len(times) < 3 or (len(times) < most and time.perf_counter() - began < budget):
        times.append(_cuda_seconds(call) if device.type == "cuda" else _seconds(call))
    return statistics.median(times)


def _seconds(call: Callable[[], Any]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def _cuda_seconds(call: Callable[[], Any]) -> float:
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    start.record()
    call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1e3


def copy_bandwidth(device: torch.device) -> float:
    """Bytes per second, read and written ones together, of a copy far larger than any cache."""
    count = 2**27 if device.type == "cuda" else 2**25
    a = torch.ones(count, dtype=torch.float64, device=device)
    b = torch.empty_like(a)
    return 2 * NUMBER * count / median(lambda: b.copy_(a), device)


def setting(name: str, unknowns: int, degree: int, device: str) -> Settings:
    if name == "poisson":
        choices: dict[str, Any] = {"cells": square_cells(unknowns, degree), "degree": degree}
    else:
        side, steps = cells_for(unknowns)
        choices = {"cells": (side, side), "steps": steps, "degree": 1}
    return settings_of("pcpinn", poisson() if name == "poisson" else heat, None, {**choices, "device": device})


def measure(name: str, recipe: Preconditioner, settings: Settings, bandwidth: float) -> Row:
    """Set everything up once, then time the parts of an iteration."""
    device, row = make_device(settings.run.device), Row()
    problem = poisson() if name == "poisson" else heat
    mesh = row.measured("mesh", device, lambda: make_mesh(problem, settings))
    system = row.measured("assembly", device, lambda: linear_system(make_discretisation(problem, mesh, settings)))
    row.unknowns = system.size
    state = row.measured("preconditioner", device, lambda: recipe.build(system.A))
    built = Built(recipe, state)
    operator = row.measured("device set-up", device, lambda: _operator(system, built, device))
    discretisation = system.discretisation
    quality = estimate_quality(system.A, partial(recipe.apply, state), discretisation.unknown_nodes, system.weights)
    facts = operator.describe()
    row.facts = {"nonzeros": system.A.nnz, "fill": facts.get("fill"), "quality": quality.smooth}
    row.facts["triangular"] = facts.get("triangular", "torch" if built.solver else "host")
    if "sweeps" in facts:
        row.facts["sweeps"] = sum(facts["sweeps"])
    print("  iteration ...", file=sys.stderr, flush=True)
    _linear_parts(row, system, built, device)
    _network_parts(row, LeastSquares(make_network(problem, mesh, settings), system.nodes, operator), device)
    row.facts["of bandwidth: A u"] = _matrix_bytes(system) / bandwidth / row.seconds["A u"]
    row.facts["of bandwidth: P^-1 r"] = _factor_bytes(system, recipe, state) / bandwidth / row.seconds["P^-1 r"]
    return row


def _operator(system: LinearSystem, built: Built, device: torch.device) -> PreconditionedResidual:
    return PreconditionedResidual(system.A, system.b, built, system.weights, dense=False, device=device)


def _linear_parts(row: Row, system: LinearSystem, built: Built, device: torch.device) -> None:
    """Products with A, P^-1 and its transpose in the form that training uses."""
    x = np.random.default_rng(0).normal(size=system.size)
    solver = built.solver
    if solver is None:
        A = system.A
        row.seconds["A u"] = median(lambda: A @ x, device)
        row.seconds["P^-1 r"] = median(lambda: built.apply(built.state, x), device)
        row.seconds["P^-T r"] = median(lambda: built.apply_transpose(built.state, x), device)
        return
    matrix, r = csr_tensor(system.A, torch.float64, device), torch.from_numpy(x).to(device)
    row.seconds["A u"] = median(lambda: matrix @ r, device)
    row.seconds["P^-1 r"] = median(lambda: solver.apply(r), device)
    row.seconds["P^-T r"] = median(lambda: solver.apply_transpose(r), device)


def _network_parts(row: Row, loss: LeastSquares, device: torch.device) -> None:
    """The network alone, and whole steps."""
    start = loss.theta.detach().clone()

    def forward() -> None:
        with torch.no_grad():
            loss.unknowns()

    def backward() -> None:
        u = loss.unknowns()
        torch.autograd.grad(u, loss.theta, torch.ones_like(u))

    row.seconds["forward"] = median(forward, device)
    row.seconds["forward + backward"] = median(backward, device)
    gauss_newton = GaussNewton()
    state = gauss_newton.start(loss, 0)
    gradient = torch.ones_like(start)

    def curvature() -> None:
        matrix = loss.curvature(gauss_newton, state)
        matrix.solve(gradient, gauss_newton.damping * matrix.scale)

    row.seconds["Gram + Cholesky"] = median(curvature, device)
    form, rows = gauss_newton.resolve(loss)
    row.facts |= {"weights": loss.network.parameter_count, "form": form, "sample": rows}
    row.seconds["Gauss-Newton step"] = median(lambda: gauss_newton.step(loss, state), device, most=10)
    with torch.no_grad():
        loss.theta.copy_(start)
    adam = Adam()
    advance = adam.bind(loss, adam.start(loss, 0))
    at_once = len(advance(1000))
    row.facts["captured"] = isinstance(advance, Fused)
    row.seconds["Adam step"] = median(lambda: advance(at_once), device) / at_once


def _matrix_bytes(system: LinearSystem) -> int:
    return ENTRY * system.A.nnz + (INDEX + 2 * NUMBER) * system.size


def _factor_bytes(system: LinearSystem, recipe: Preconditioner, state: Any) -> float:
    """Every factor read once, a vector read and written for each; for multigrid every product of its cycles."""
    n = system.size
    if not isinstance(recipe, AMG):
        return ENTRY * state.fill * system.A.nnz + 2 * (INDEX + 2 * NUMBER) * n
    total = ENTRY * (recipe.cycles - 1) * system.A.nnz
    for level in state.hierarchy.levels:
        products, size = 2 * recipe.smoother_steps, level.A.shape[0]
        total += recipe.cycles * (ENTRY * (products * level.A.nnz + 2 * level.P.nnz) + 2 * NUMBER * products * size)
    return total + recipe.cycles * NUMBER * state.hierarchy.coarse.size


def expected_setup(rows: Sequence[Row], unknowns: int) -> float:
    """Set-up time of a size, from the growth between the last two."""
    if not rows:
        return 0.0
    last, power = rows[-1], 1.5
    if len(rows) > 1 and rows[-2].unknowns < last.unknowns:
        growth = np.log(last.setup / rows[-2].setup) / np.log(last.unknowns / rows[-2].unknowns)
        power = float(np.clip(growth, 1.0, 2.5))
    return last.setup * (unknowns / last.unknowns) ** power


def short(value: float) -> str:
    """Three digits, without an exponent."""
    return f"{value:.0f}" if value >= 100 else f"{float(f'{value:.3g}'):.6f}".rstrip("0").rstrip(".")


def show(rows: Sequence[Row]) -> str:
    """Stages and parts down, sizes across."""

    def line(label: str, text: Callable[[Row], str]) -> list[str]:
        return [label, *(text(row) for row in rows)]

    def fraction(key: str) -> Callable[[Row], str]:
        return lambda row: f"{100 * row.facts[key]:.0f} %"

    setup = [line(f"{stage}, s", lambda row, stage=stage: short(row.seconds[stage])) for stage in STAGES]
    facts = [
        line("entries of A", lambda row: f"{row.facts['nonzeros']}"),
        line("fill of P", lambda row: f"{row.facts['fill']:.1f}"),
        line("quality of P", lambda row: f"{row.facts['quality']:.2g}"),
        line("applied by", lambda row: row.facts["triangular"]),
    ]
    if any("sweeps" in row.facts for row in rows):
        facts.append(line("  sweeps", lambda row: str(row.facts.get("sweeps", "-"))))
    parts = []
    for part in PARTS:
        parts.append(line(f"{part}, ms", lambda row, part=part: short(1e3 * row.seconds[part])))
        if part in ("A u", "P^-1 r"):
            parts.append(line("  of bandwidth", fraction(f"of bandwidth: {part}")))
    if any(row.facts["captured"] for row in rows):
        parts.append(line("  one graph", lambda row: "yes" if row.facts["captured"] else "no"))
    return table(line("unknowns", lambda row: str(row.unknowns)), [*facts, *setup, *parts])


def draw(path: Path, title: str, rows: Sequence[Row]) -> None:
    """Set-up on the left, an iteration on the right, both logarithmic."""
    plt = pyplot()
    if plt is None:
        return
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    sizes = [row.unknowns for row in rows]
    for ax, names in zip(axes, (STAGES, PARTS), strict=True):
        for name in names:
            ax.loglog(sizes, [row.seconds[name] for row in rows], marker=".", label=name)
        ax.set(xlabel="unknowns", ylabel="seconds")
        ax.grid(alpha=0.3)
        ax.legend(fontsize=8)
    figure.suptitle(title)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def make_recipe(name: str, drop: float, fill_factor: float) -> Preconditioner:
    if name == "ilu":
        return ILU(drop, fill_factor)
    try:
        import pyamg  # noqa: F401
    except ImportError:
        sys.exit("pyamg is not installed: use --preconditioner ilu")
    return AMG()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problem", default="poisson", choices=["poisson", "heat"])
    parser.add_argument("--degree", type=int, default=1, help="of the elements of poisson; heat has 1")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--preconditioner", default="ilu", choices=["ilu", "amg"])
    parser.add_argument("--drop", type=float, help="tolerance of ilu; by default 1e-3 for poisson, 1e-2 for heat")
    parser.add_argument("--fill", type=float, default=40.0, help="most fill of ilu")
    parser.add_argument(
        "--max-seconds", type=float, default=300.0, help="leave out sizes whose set-up would take longer"
    )
    parser.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    given = parser.parse_args(arguments)
    device = make_device(given.device)
    drop = given.drop or {"poisson": 1e-3, "heat": 1e-2}[given.problem]
    degree = given.degree if given.problem == "poisson" else 1
    recipe = make_recipe(given.preconditioner, drop, given.fill)
    bandwidth = copy_bandwidth(device)
    # what torch loads at first use must not count for the first size
    measure(given.problem, recipe, setting(given.problem, 500, degree, device.type), bandwidth)

    what = f"ilu with drop tolerance {drop:g}" if given.preconditioner == "ilu" else given.preconditioner
    title = f"{given.problem}, P{degree}, {what}, {machine(device)}, copies at {bandwidth / 1e9:.3g} GB/s"
    stem = f"scaling-{given.problem}-p{degree}-{given.preconditioner}-{device.type}"
    given.out.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    for size in sorted(given.sizes):
        expected = expected_setup(rows, size)
        if expected > given.max_seconds:
            print(f"{size} unknowns left out: set-up would take about {expected:.0f} s (--max-seconds)")
            break
        print(f"{size} unknowns", file=sys.stderr, flush=True)
        try:
            rows.append(measure(given.problem, recipe, setting(given.problem, size, degree, device.type), bandwidth))
        except (PcpinnError, MemoryError, torch.OutOfMemoryError) as error:
            print(f"{size} unknowns left out: {error}")
            break
        write_csv(given.out / f"{stem}.csv", [{"unknowns": r.unknowns, **r.facts, **r.seconds} for r in rows])
    if rows:
        print(f"\n{title}\n\n{show(rows)}\n")
        draw(given.out / f"{stem}.png", title, rows)


if __name__ == "__main__":
    main()
