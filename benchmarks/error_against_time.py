"""Error against wall time: finite elements alone, pcpinn, the ordinary PINN and DeepXDE's PINN, side by side on one machine.

    python benchmarks/error_against_time.py --problems poisson2d-c wave1d-c --device cpu --seconds 60 --out benchmarks/results

All but Gauss-Newton share the network, its first weights, the optimiser (Adam) and the number of points: those of the
`paper` preset. Gauss-Newton is the `default` preset. Since Fourier features of high frequency are poison for second
derivatives, the PINNs run without features (tanh) as well; "hard" has boundary values built in instead of penalties. In
wave1d-c the `paper` preset takes u_t = 0 at the end as known, as the paper does; the PINNs and Gauss-Newton use the data at
the start alone. The clock counts everything that a method needs (mesh, matrix, preconditioner, points), but neither the
evaluation of the error nor, for the PINNs, the matrix that they do not use.

On a machine without a mesher, give prepared files instead of names, one for each preset that the methods take; reading their mesh
does not count:

    for preset in default paper; do pcpinn prepare poisson2d-c --preset $preset --out c-$preset.pcpinn; done
    python benchmarks/error_against_time.py --problems c-default.pcpinn c-paper.pcpinn wave1d-c --device cuda --seconds 20
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common import pyplot
from recorder import OutOfTime, Recorder

from pcpinn import PcpinnError, Problem, Reference, solve
from pcpinn.baselines import solve_pinn
from pcpinn.baselines.pinn import strong_loss
from pcpinn.catalog import CATALOG, find_entry
from pcpinn.catalog.prepared import SUFFIX, read_prepared
from pcpinn.catalog.task import Task
from pcpinn.discretize.system import LinearSystem
from pcpinn.family.direct import direct_solution
from pcpinn.mesh.mesh import Mesh
from pcpinn.mesh.points import boundary_points, spacing_of
from pcpinn.network import DenseNetwork
from pcpinn.solve.build import make_device, make_discretisation, make_mesh, make_network
from pcpinn.solve.loss import preconditioned_loss
from pcpinn.solve.method import METHODS as METHODS_OF_PCPINN
from pcpinn.solve.run import run
from pcpinn.solve.settings import Settings, resolve_preset
from pcpinn.train import Loss

PLAIN = {"features": "none", "activation": "tanh", "initialisation": "glorot-normal"}


Clock = Callable[[], float]


@dataclass(frozen=True)
class Method:
    """A curve of the comparison."""

    label: str
    preset: str
    kind: str  # direct, pcpinn, pinn or deepxde
    changes: dict[str, Any] = field(default_factory=dict)


METHODS = {
    "direct": Method("finite elements, direct", "default", "direct"),
    "pcpinn-gn": Method("pcpinn, Gauss-Newton", "default", "pcpinn"),
    "pcpinn-adam": Method("pcpinn, Adam", "paper", "pcpinn"),
    "pinn": Method("PINN, Adam", "paper", "pinn"),
    "pinn-plain": Method("PINN, Adam, no features", "paper", "pinn", PLAIN),
    "pinn-hard": Method("PINN, Adam, no features, hard", "paper", "pinn", {**PLAIN, "hard": True}),
    "deepxde": Method("DeepXDE PINN, Adam", "paper", "deepxde"),
    "deepxde-plain": Method("DeepXDE PINN, Adam, no features", "paper", "deepxde", PLAIN),
}


@dataclass(frozen=True)
class Case:
    """A problem of the catalog, and what was prepared of it, by preset; nothing: it is meshed here."""

    name: str
    prepared: dict[str, Task] = field(default_factory=dict)

    @property
    def reference(self) -> Reference:
        entry = find_entry(self.name)
        found = next((task.reference for task in self.prepared.values()), None)
        return found or entry.reference(**entry.parameters)

    def setting(self, method: Method, changes: dict[str, Any]) -> tuple[Problem, Settings, Mesh | None]:
        """Equations, settings and mesh for a method. Only the `paper` form of pcpinn may know the end of a wave."""
        entry = find_entry(self.name)
        honest = {"closed": 0.0} if method.kind == "pinn" and "closed" in entry.parameters else {}
        if not self.prepared:
            own = "pcpinn" if method.kind in ("direct", "pcpinn") else "pinn"
            parameters, settings = entry.resolve(method.preset, {**changes, **honest}, own)
            return entry.problem(**parameters), settings, None
        if method.preset not in self.prepared:
            raise PcpinnError(
                f"no prepared file of {self.name} with preset {method.preset}",
                f"make it with: pcpinn prepare {self.name} --preset {method.preset} --out FILE{SUFFIX}",
            )
        task = self.prepared[method.preset]
        parameters = {**(task.record.get("problem_parameters") or {}), **honest}
        kept, own = task.settings, METHODS_OF_PCPINN.find("pcpinn" if method.kind in ("direct", "pcpinn") else "pinn")
        settings = resolve_preset(own, kept.method, kept.over_time, kept.asked, method.preset, changes)
        return entry.problem(**parameters), settings, task.mesh


def cases_of(problems: Sequence[str]) -> list[Case]:
    """Names and prepared files, the files of one problem together."""
    cases: dict[str, Case] = {}
    for given in problems:
        if given.endswith(SUFFIX):
            task = read_prepared(Path(given), {})
            name, preset = str(task.record["problem"]), str(task.record["preset"])
            cases[name] = Case(name, {**cases.get(name, Case(name)).prepared, preset: task})
        else:
            cases.setdefault(find_entry(given).name, Case(given))
    return list(cases.values())


def measure(
    case: Case, method: Method, reference: Reference, seconds: float, device: str, seed: int, clock: Clock
) -> Recorder:
    """Train one method on one problem for so long."""
    problem, settings, mesh = case.setting(method, {**method.changes, "device": device, "seed": seed})
    recorder = Recorder(reference, seconds, ("assembly",) if method.kind == "pinn" else (), clock)
    try:
        if method.kind == "direct":
            _solve_directly(problem, settings, mesh, recorder)
        elif method.kind == "deepxde":
            from deepxde_pinn import train

            mesh = mesh or make_mesh(problem, settings)
            spacing, random = spacing_of(mesh, len(mesh.nodes)), np.random.default_rng(seed)
            boundary = {b: len(boundary_points(mesh, b, spacing, random).x) for b in mesh.boundary_names}
            train(case.name, make_network(problem, mesh, settings), len(mesh.nodes), boundary, settings, recorder)
        else:
            _train_ours(problem, settings, mesh, method, recorder)
    except OutOfTime:
        pass
    return recorder


def _solve_directly(problem: Problem, settings: Settings, mesh: Mesh | None, recorder: Recorder) -> None:
    """What finite elements alone need for the same discretisation: mesh, matrix, sparse factors."""
    form = make_discretisation(problem, mesh or make_mesh(problem, settings), settings)
    recorder.begin_training()
    u = direct_solution(form)
    recorder.tick(1, lambda x: form.interpolate(u, x))


def _train_ours(problem: Problem, settings: Settings, mesh: Mesh | None, method: Method, recorder: Recorder) -> None:
    def make_loss(system: LinearSystem, network: DenseNetwork, settings: Settings) -> Loss:
        recorder.network = network
        if method.kind == "pcpinn":
            return preconditioned_loss(system, network, settings)
        return strong_loss(system, network, settings.updated({"collocation": system.size}))

    if method.preset == "paper":
        settings = settings.updated({"iterations": 10**9})
    run(make_loss, problem, settings, progress=recorder, mesh=mesh)


def figures(label: str, recorder: Recorder) -> list[str]:
    """A row of the table."""
    rows = recorder.rows
    if not rows:
        return [label, "0"] + ["-"] * 8
    early = [e for t, _, e in rows if t <= 10 <= recorder.limit]
    reached = [next((f"{t:.2f} s" for t, _, e in rows if e <= tolerance), "-") for tolerance in (1e-1, 1e-2, 1e-3)]
    per_step = (rows[-1][0] - recorder.setup_s) / rows[-1][1] * 1e3
    return [
        label, str(rows[-1][1]), f"{per_step:.1f}", f"{recorder.setup_s:.2f} s", f"{early[-1]:.2e}" if early else "-",
        f"{rows[-1][0]:.1f} s", f"{rows[-1][2]:.2e}", *reached,
    ]  # fmt: skip


HEAD = ["method", "iterations", "ms each", "set-up", "L2RE at 10 s", "end", "L2RE at end", "1e-1", "1e-2", "1e-3"]


def table(rows: list[list[str]]) -> str:
    """Markdown with aligned columns."""
    widths = [max(len(r[k]) for r in [HEAD, *rows]) for k in range(len(HEAD))]
    lines = [HEAD, ["-" * w for w in widths], *rows]
    return "\n".join("| " + " | ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)) + " |" for r in lines)


def draw(path: Path, title: str, curves: dict[str, Recorder]) -> None:
    """Error against time, both logarithmic."""
    plt = pyplot()
    if plt is None:
        return
    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for label, recorder in curves.items():
        seconds, _, errors = zip(*recorder.rows, strict=True)
        style = {"linestyle": "--"} if "no features" in label else {}
        axes.loglog(seconds, errors, label=label, marker=".", markersize=3, **style)
    axes.set(title=title, xlabel="wall time in s, set-up included", ylabel="L2 relative error")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def compare(
    case: Case, methods: Sequence[str], seconds: float, device: str, seed: int, out: Path, clock: Clock
) -> None:
    """All methods on one problem: table, CSV, picture."""
    name, reference = case.name, case.reference
    curves: dict[str, Recorder] = {}
    for key in methods:
        method = METHODS[key]
        print(f"{name}: {method.label} ...", file=sys.stderr, flush=True)
        try:
            curves[method.label] = measure(case, method, reference, seconds, device, seed, clock)
        except (PcpinnError, ImportError) as error:
            print(f"{name}: {method.label} skipped: {type(error).__name__}: {error}", file=sys.stderr)
    curves = {label: recorder for label, recorder in curves.items() if recorder.rows}
    if not curves:
        return
    where = torch.cuda.get_device_name() if make_device(device).type == "cuda" else f"{torch.get_num_threads()} threads"
    text = table([figures(label, recorder) for label, recorder in curves.items()])
    print(f"\n{name} ({where}, seed {seed}); the last columns are times to reach an error\n\n{text}\n")
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{name}.md").write_text(f"{name}, {where}, seed {seed}\n\n{text}\n", encoding="utf-8")
    with (out / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["method", "seconds", "iteration", "l2re"])
        writer.writerows([label, f"{t:.4f}", i, e] for label, r in curves.items() for t, i, e in r.rows)
    draw(out / f"{name}.png", f"{name} ({where})", curves)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--problems", nargs="+", default=["poisson2d-c", "wave1d-c"], help=f"names of the catalog, or {SUFFIX} files"
    )
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--seconds", type=float, default=60.0, help="for each method and problem")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument(
        "--cpu-time", action="store_true", help="count seconds of the processor: where others share the machine"
    )
    given = parser.parse_args(arguments)
    try:
        cases = cases_of(given.problems)
    except PcpinnError as error:
        parser.error(str(error))
    methods = given.methods
    if any(METHODS[m].kind == "deepxde" for m in methods):
        from deepxde_pinn import INSTALL, available

        if not available:
            print(f"DeepXDE is not installed, its curves are left out; {INSTALL}", file=sys.stderr)
            methods = [m for m in methods if METHODS[m].kind != "deepxde"]
    # what torch loads at first use must not count for the first method
    for solver in (solve, solve_pinn):
        solver(CATALOG.find("poisson1d").problem(1.0), cells=(4,), iterations=2, device=given.device)
    for case in cases:
        clock = time.process_time if given.cpu_time else time.perf_counter
        compare(case, methods, given.seconds, given.device, given.seed, given.out, clock)


if __name__ == "__main__":
    main()
