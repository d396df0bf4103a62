"""The folder of a benchmark.

bench.json      what was asked for: plans with their runs
results.csv     one row per run
runs/KEY/       the run itself, as `pcpinn solve` writes it
references/     what the answers were compared with
errors/KEY.txt  tracebacks of runs that failed in an unforeseen way
cluster/        what runs on a cluster (`cluster/state.py`), if that was ever asked for
table.md, table.csv, report.html, figures/  written at the end, and by `pcpinn report`
"""

from __future__ import annotations

import hashlib
import os
import re
import signal
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..cluster.presence import process_started
from ..environment import package_version
from ..errors import PcpinnError
from ..files import clear_leftovers, read_json, write_json
from ..lock import try_lock
from .cell import Cell
from .plan import Plan, Planned
from .results import Row, read_rows, write_rows

_FORMAT = 1
_REMEDY = "the file is damaged: give the bench command again with another --out"


class BenchFolder:
    """Paths, plans and rows of a benchmark on disk."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)

    @property
    def results_file(self) -> Path:
        """results.csv."""
        return self.path / "results.csv"

    def run_folder(self, cell: Cell) -> Path:
        """Where a cell is run."""
        return self.path / "runs" / cell.key

    def error_file(self, cell: Cell) -> Path:
        """Where an unforeseen failure is written down."""
        return self.path / "errors" / f"{cell.key}.txt"

    @property
    def exists(self) -> bool:
        """Whether a benchmark has been planned here."""
        return (self.path / "bench.json").exists()

    def require(self) -> None:
        """Refuse a folder without a benchmark."""
        if not self.exists:
            raise PcpinnError(f"{self.path} holds no benchmark", "give the folder of pcpinn bench --out DIR")

    def plans(self) -> list[Plan]:
        """The plans so far, checked: keys are those of their cells, so no path of the file's own making is ever used.

        Raises:
            PcpinnError: for a damaged or strange bench.json.
        """
        path = self.path / "bench.json"
        if not path.exists():
            return []
        data = read_json(path)
        if data.get("format") != _FORMAT:
            raise PcpinnError(f"{path} has format {data.get('format')!r}", f"this version reads format {_FORMAT}")
        plans = []
        try:
            for plan in data["plans"]:
                words = (plan["kind"], plan["name"], plan["command"])
                if not all(isinstance(w, str) for w in words):
                    raise ValueError("a plan's words are not text")
                cells = tuple(Planned.from_dict(c) for c in plan["cells"].values())
                if [c.cell.key for c in cells] != list(plan["cells"]):
                    raise ValueError("a run's key does not fit it")
                plans.append(Plan(*words, cells))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise PcpinnError(f"{path} does not hold a benchmark's plans: {error}", _REMEDY) from error
        return plans

    def add(self, plan: Plan) -> None:
        """Add a plan, unless it has the same command already (then its runs are replaced by the new ones).

        Raises:
            PcpinnError: when the folder holds something else, or cannot be written.
        """
        plans = [p for p in self.plans() if p.command != plan.command]
        if not self._is_own:
            raise PcpinnError(f"{self.path} holds something other than a benchmark", "choose another --out")
        content = {
            "format": _FORMAT,
            "date": datetime.now(UTC).strftime("%Y-%m-%d"),
            "plans": [
                {
                    "kind": p.kind,
                    "name": p.name,
                    "command": p.command,
                    "cells": {c.cell.key: c.to_dict() for c in p.cells},
                }
                for p in [*plans, plan]
            ],
        }
        write_json(self.path / "bench.json", content)

    @contextmanager
    def locked(self) -> Iterator[int]:
        """Keep other benches out; yields the lock's descriptor, which workers inherit and so hold on to.

        Raises:
            PcpinnError: when another bench, or a worker that it left behind, is at work here.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise PcpinnError(f"cannot write into {self.path}: {error.strerror}", "choose another --out") from error
        if not try_lock(descriptor):
            os.close(descriptor)
            raise PcpinnError(
                f"another benchmark is running in {self.path}", "wait until it ends, or choose another --out"
            )
        if self._is_own:
            clear_leftovers(self.path)
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{socket.gethostname()} {os.getpid()} {process_started(os.getpid())}".encode())
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    @property
    def _is_own(self) -> bool:
        """Whether there is nothing in the folder but a benchmark; one that was killed at its start may lack its bench.json."""
        begun = (".lock", ".bench.json.")
        return self.exists or not self.path.is_dir() or all(p.name.startswith(begun) for p in self.path.iterdir())

    @property
    def is_locked(self) -> bool:
        """Whether a bench is at work here, as far as this machine can tell."""
        try:
            descriptor = os.open(self.path / ".lock", os.O_RDWR)
        except OSError:
            return False
        try:
            return not try_lock(descriptor)
        finally:
            os.close(descriptor)

    def interrupt(self) -> None:
        """As Ctrl-C would, where the bench that is at work here runs on this machine.

        Raises:
            PcpinnError: when there is none, or it runs elsewhere.
        """
        if not self.is_locked:
            raise PcpinnError(f"nothing runs in {self.path}", "pcpinn bench status DIR shows what is done")
        host, _, rest = (self.path / ".lock").read_text(encoding="utf-8").partition(" ")
        process, _, started = rest.partition(" ")
        if host != socket.gethostname():
            raise PcpinnError(f"{self.path} is at work on {host}", "give the command there")
        if not process.isdigit() or process_started(process) != started:
            raise PcpinnError(f"the bench of {self.path} has been killed", "its workers end by themselves in a moment")
        os.kill(int(process), signal.SIGTERM)

    def rows(self) -> dict[str, Row]:
        """Rows by key."""
        return {row.key: row for row in read_rows(self.results_file)}

    def write_rows(self, rows: Iterable[Row]) -> None:
        """results.csv as a whole."""
        write_rows(self.results_file, rows)

    def reference_file(self, cell: Cell, parameters: dict[str, Any], version: str | None = None) -> Path:
        """Where the reference of a cell's problem is kept, made by a version of this package ("" if that is not known)."""
        made_by = package_version("pcpinn") if version is None else version or None
        about = repr((cell.problem, cell.digest, sorted(parameters.items()), made_by))
        name = re.sub(r"[^A-Za-z0-9.-]+", "-", cell.problem).strip("-.")[:60]
        return self.path / "references" / f"{name}-{hashlib.sha256(about.encode()).hexdigest()[:8]}.npz"
