"""From what a user asks for to the list of runs; everything is checked before the first one starts."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..catalog import FAMILIES, find_any, find_entry
from ..catalog.entry import ACCURACY
from ..catalog.find import find_family
from ..catalog.prepared import SUFFIX, prepared_family, read_prepared
from ..catalog.task import find_task
from ..errors import PcpinnError
from ..solve.method import FAMILY_METHODS
from ..solve.settings import problem_is_over_time
from .ablations import Ablation, Variant, find_ablation
from .cell import Cell, Changes, baked_changes, canonical, join, problem_parameters
from .suites import STRANGERS, STRANGERS_ACCURACY, available, suite

_MOST_CELLS = 100_000


@dataclass(frozen=True)
class Planned:
    """A cell of a plan: `variant` says which point of the sweep it is, `measure` whether to measure its preconditioner."""

    cell: Cell
    variant: str = ""
    measure: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {**self.cell.to_dict(), "variant": self.variant, "measure": self.measure}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Planned:
        """Inverse of `to_dict`; ValueError when the data does not fit."""
        cell = Cell.from_dict(data)
        variant, measure = data.get("variant"), data.get("measure")
        if not isinstance(variant, str) or not isinstance(measure, bool):
            raise ValueError("its variant is not text")
        return cls(cell, variant, measure)


@dataclass(frozen=True)
class Plan:
    """What one command asks for.

    Attributes:
        kind: suite, ablation or sweep.
        name: of the suite or ablation, or the swept keys.
        command: the line that asks for it, without folder and number of jobs.
        cells: the runs.
    """

    kind: str
    name: str
    command: str
    cells: tuple[Planned, ...]


@dataclass(frozen=True)
class Request:
    """The options of `pcpinn bench`, None where not given."""

    suite: str | None = None
    problems: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None
    presets: tuple[str, ...] | None = None
    trials: int | None = None
    seed: int = 0
    changes: tuple[tuple[str, str], ...] = ()
    sweeps: tuple[str, ...] = ()
    ablation: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing was selected: then an existing benchmark is continued."""
        return self == Request(seed=self.seed)

    def command(self) -> str:
        """The line that asks for the same."""
        words = ["pcpinn", "bench"]
        for option in ("suite", "ablation"):
            if getattr(self, option):
                words += [f"--{option}", getattr(self, option)]
        for option in ("problems", "methods", "presets"):
            if getattr(self, option):
                words += [f"--{option}", ",".join(getattr(self, option))]
        words += ["--trials", str(self.trials)] if self.trials is not None else []
        words += ["--seed", str(self.seed)] if self.seed else []
        words += [w for k, v in self.changes for w in ("--set", f"{k}={v}")]
        return shlex.join([*words, *(w for s in self.sweeps for w in ("--sweep", s))])


def make_plan(request: Request) -> Plan:
    """All runs that are asked for, checked: problems, methods, presets, settings.

    Raises:
        PcpinnError: for anything that is not there or does not fit.
    """
    ablation = find_ablation(request.ablation) if request.ablation else None
    if ablation is not None and request.suite is not None:
        raise PcpinnError("--ablation and --suite exclude each other", "narrow an ablation down with --problems")
    variants = _sweep_product(request.sweeps)
    if ablation is not None:
        variants = [{**a, **b} for a in ablation.variants for b in variants]
    trials = request.trials if request.trials is not None else ablation.trials if ablation else 1
    if trials < 1:
        raise PcpinnError(f"--trials {trials} must be positive", "take 1, or 5 as in the paper")
    measure = ablation.measure if ablation else any("drop_tolerance" in v for v in variants)
    planned: dict[str, Planned] = {}
    problems = _problems(request, ablation)
    asked = ((p, m, v) for p in problems for m in _methods(request, p) for v in variants)
    for problem, method, variant in asked:
        for cell in _cells(problem, request, method, ablation.base if ablation else {}, variant):
            label = join(canonical(variant, problem_parameters(cell.problem)))
            for seed in range(request.seed, request.seed + trials):
                one = replace(cell, seed=seed)
                planned[one.key] = Planned(one, label, measure and method == "pcpinn")
                if len(planned) > _MOST_CELLS:
                    raise PcpinnError(f"more than {_MOST_CELLS} runs", "ask for less at a time")
    if not planned:
        raise PcpinnError("there is nothing to run", "the catalog has none of the problems; pcpinn list shows them")
    kind, name = "suite", request.suite or ("linear" if request.problems is None else "problems")
    if ablation is not None:
        kind, name = "ablation", str(request.ablation)
    elif request.sweeps:
        kind, name = "sweep", " ".join(s.partition("=")[0] for s in request.sweeps)
    return Plan(kind, name, request.command(), tuple(planned.values()))


def _problems(request: Request, ablation: Ablation | None) -> Iterable[str]:
    if request.problems is not None:
        return request.problems
    if ablation is None:
        return suite(request.suite or "linear")
    return suite("paper") if ablation.problems is None else available(ablation.problems)


def _methods(request: Request, problem: str) -> tuple[str, ...]:
    """Those that are asked for; of a family its own, in the place of that of single problems, and by default all it has."""
    name = prepared_family(Path(problem)) if problem.endswith(SUFFIX) else problem
    if name is None or name not in FAMILIES:
        return request.methods or ("pcpinn",)
    if request.methods is None:
        over_time = problem_is_over_time(find_family(name).family.base)
        return tuple(method.name for method in FAMILY_METHODS if not (over_time and method.steady))
    return tuple("family" if m == "pcpinn" else m for m in request.methods)


def _cells(
    problem: str, request: Request, method: str, base: Mapping[str, str], variant: Mapping[str, str]
) -> Iterable[Cell]:
    """The cells of one problem, method and variant, by preset; seed 0."""
    strangers = request.suite == STRANGERS  # files without settings: an accuracy is all they get
    presets = request.presets or (("paper",) if request.ablation else (ACCURACY,) if strangers else ("default",))
    if strangers and presets == (ACCURACY,):
        base = {"accuracy": STRANGERS_ACCURACY, **base}
    if problem.endswith(SUFFIX):
        task = read_prepared(Path(problem), {}, method=method)
        if task.record["source"].get("kind") != "catalog":
            raise PcpinnError(
                f"{problem} was made from a file", f"name the file itself: {task.record['source']['name']}"
            )
        name, preset = str(task.record["problem"]), str(task.record["preset"])
        if request.presets is not None and preset not in request.presets:
            raise PcpinnError(
                f"{problem} holds preset {preset!r}", "leave --presets out: a prepared problem has its own"
            )
        wanted = {**dict(baked_changes(task)), **_merged(request, base, variant)}
        read_prepared(Path(problem), _new(wanted, dict(baked_changes(task))), method=method)
        yield Cell(name, method, preset, canonical(wanted, problem_parameters(name)), 0, problem)
        return
    for preset in presets:
        wanted = _merged(request, base, variant)
        if problem.endswith(".py"):
            task = find_task(problem, preset, wanted, method)
            digest = task.record["source"]["sha256"][:16]
            yield Cell(str(task.record["problem"]), method, preset, canonical(wanted, {}), 0, problem, digest)
            continue
        entry = find_any(problem) if problem in FAMILIES else find_entry(problem)
        changes = canonical(wanted, entry.parameters)
        entry.resolve(preset, dict(changes), method)
        yield Cell(entry.name, method, preset, changes, 0)


def _new(wanted: Mapping[str, str], baked: Mapping[str, str]) -> dict[str, Any]:
    return {k: v for k, v in wanted.items() if baked.get(k) != v}


def _merged(request: Request, base: Mapping[str, str], variant: Mapping[str, str]) -> dict[str, str]:
    """Changes in order of precedence: the ablation's, the user's, the variant's."""
    return {**base, **dict(request.changes), **variant}


def parse_sweep(text: str) -> list[Variant]:
    """The variants of "key=v1,v2,..." or, for keys that vary together, "k1:k2=a1:a2,b1:b2".

    `drop_tolerance=none` stands for no preconditioner at all.

    Raises:
        PcpinnError: for another form.
    """
    left, separator, right = text.partition("=")
    keys, values = [k.strip() for k in left.split(":")], [v.strip() for v in right.split(",")]
    if not separator or not all(keys) or not all(values):
        raise PcpinnError(
            f"--sweep {text!r} is not of the form key=v1,v2",
            "write --sweep width=16,32 or --sweep beta1:beta2=0.9:0.99,0.9:0.9",
        )
    variants: list[Variant] = []
    for value in values:
        parts = value.split(":")
        if len(parts) != len(keys):
            raise PcpinnError(
                f"--sweep {text!r}: {value!r} has {len(parts)} parts for {len(keys)} keys", "one for each key"
            )
        pairs = zip(keys, parts, strict=True)
        variants.append(
            dict(("preconditioner", v) if (k, v) == ("drop_tolerance", "none") else (k, v) for k, v in pairs)
        )
    return variants


def _sweep_product(sweeps: Sequence[str]) -> list[dict[str, str]]:
    """All combinations of several sweeps; one empty variant when there is none."""
    combined: list[dict[str, str]] = []
    for combination in itertools.product(*(parse_sweep(s) for s in sweeps)):
        combined.append({k: v for variant in combination for k, v in variant.items()})
    return combined


__all__ = ["Changes", "Plan", "Planned", "Request", "make_plan", "parse_sweep"]
