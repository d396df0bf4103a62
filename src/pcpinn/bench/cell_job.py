"""A cell of a benchmark as a job on a cluster."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..cluster import Listener, Slurm, StateFolder, carry_out
from ..progress import Progress
from .cell import Cell
from .execute import run_cell
from .folder import BenchFolder
from .plan import Planned
from .results import Row, failed
from .watch import Watch


@dataclass(frozen=True)
class CellJob:
    """One run: the folder of the benchmark, which all nodes see, the cell and the device."""

    folder: str
    planned: Planned
    device: str | None

    @property
    def key(self) -> str:
        """That of the cell."""
        return self.planned.cell.key

    def run(self, progress: Progress) -> dict[str, Any]:
        """The row."""
        return asdict(run_cell(BenchFolder(Path(self.folder)), self.planned, self.device, progress))


class _Told(Listener):
    """Tells a Watch, which knows cells, of jobs, which are known by keys."""

    def __init__(self, watch: Watch, cells: dict[str, Cell]) -> None:
        self._watch, self._cells = watch, cells

    def started(self, key: str) -> Progress:
        """A run has begun."""
        return self._watch.started(self._cells[key])

    def note(self, text: str) -> None:
        """Something worth a line."""
        self._watch.note(text)


def rows_from_slurm(
    bench: BenchFolder, todo: Sequence[Planned], slurm: Slurm, device: str | None, watch: Watch
) -> Generator[tuple[Planned, Row]]:
    """The rows of cells as they come in from the cluster."""
    by_key = {p.cell.key: p for p in todo}
    jobs = [CellJob(str(bench.path.absolute()), p, device) for p in todo]
    told = _Told(watch, {key: p.cell for key, p in by_key.items()})
    for outcome in carry_out(StateFolder.of(bench.path), jobs, slurm, told):
        planned = by_key[outcome.key]
        row = failed(planned.cell, outcome.failed) if outcome.data is None else Row(**outcome.data)
        yield planned, row
