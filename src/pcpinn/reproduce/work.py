"""Carry out what an item takes: what is finished is left alone, what was interrupted goes on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ..bench import BenchFolder, Plan, PreparedFolder, Watch, make_plan, prepare_plans, run_plan
from ..cluster import Listener, Slurm, StateFolder, carry_out
from ..errors import PcpinnError
from ..files import write_atomically
from ..progress import Progress
from ..study import conduct, find_study, read_study, write_study
from ..study.spread import OnSlurm
from ..study.study_job import StudyJob, conduct_on_slurm
from .found import HISTORIES, Sources
from .part import RUNS_FOLDER, STUDIES_FOLDER, Part, Runs, Studied


@dataclass
class Outcome:
    """What went wrong: runs and studies that failed, each with its reason."""

    failures: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Work:
    """Where and how.

    Attributes:
        out: folder: bench/ (all runs), studies/, and what is written about each item.
        device: auto, cpu or cuda; None leaves it to the settings.
        jobs: runs at a time.
        slurm: where runs and studies go as jobs; None for this machine.
        retry: run those again that failed, or whose preset has changed.
        watch, progress: receive reports, of runs and of studies.
        prepared: folder of prepared problems, for a machine without a mesher; None for none.
    """

    out: Path
    device: str | None = None
    jobs: int = 1
    retry: bool = False
    watch: Watch = field(default_factory=Watch)
    progress: Progress = field(default_factory=Progress)
    slurm: Slurm | None = None
    prepared: Path | None = None

    def carry_out(self, parts: Iterable[Part]) -> Outcome:
        """All parts; a failure is noted and does not stop the rest.

        Raises:
            PcpinnError: for a folder that cannot be used, or settings that do not fit.
        """
        outcome, wanted = Outcome(), dict.fromkeys(parts)  # items share parts
        plans = self._furnished({part: make_plan(part.request) for part in wanted if isinstance(part, Runs)})
        for part in wanted:
            if isinstance(part, Studied):
                find_study(part.study).sizes(
                    part.full, dict(part.sizes)
                )  # refuses what does not fit before anything runs
        if self.slurm is not None:
            outcome.failures |= self._studies_as_jobs([p for p in wanted if isinstance(p, Studied)], self.slurm)
        for part in wanted:
            if isinstance(part, Runs):
                rows = run_plan(self.bench, plans[part], self.jobs, self.device, self.retry, self.watch, self.slurm)
                outcome.failures |= {key: row.reason for key, row in rows.items() if not row.finished}
                self._keep_courses()
            elif part.key not in outcome.failures:
                reason = self._study(part)
                outcome.failures |= {part.key: reason} if reason else {}
        return outcome

    def _furnished(self, plans: dict[Runs, Plan]) -> dict[Runs, Plan]:
        """The plans with prepared problems, where a folder of them is given; what it lacks is said, and meshed here."""
        if self.prepared is None:
            return plans
        if not plans:
            raise PcpinnError("nothing here takes prepared problems", "leave --prepared out: studies mesh themselves")
        folder = PreparedFolder.read(self.prepared)
        found = {part: folder.furnish(plan) for part, plan in plans.items()}
        lacking = list(dict.fromkeys(name for _, names in found.values() for name in names))
        if lacking:
            self.watch.note(f"not in {self.prepared}, so meshed here: {', '.join(lacking)}")
        return {part: plan for part, (plan, _) in found.items()}

    def _studies_as_jobs(self, parts: Iterable[Studied], slurm: Slurm) -> dict[str, str]:
        """Studies that are one job each, all at a time; returns why some failed."""
        folder, jobs, failures = self.out / STUDIES_FOLDER, {}, {}
        for part in parts:
            if not find_study(part.study).spreads and not (folder / part.key / "result.json").exists():
                jobs[part.key] = StudyJob(
                    part.key, part.study, part.full, part.sizes, part.seed, self.device or "auto", part.problem,
                    str((folder / part.key).absolute()),
                )  # fmt: skip
        for outcome in carry_out(StateFolder.of(folder), list(jobs.values()), slurm, Listener()):
            if outcome.data is None:
                failures[outcome.key] = outcome.failed
            else:
                write_study(find_study(jobs[outcome.key].study), outcome.data, folder / outcome.key)
        return failures

    @property
    def bench(self) -> BenchFolder:
        """The benchmark that all items share."""
        return BenchFolder(self.out / RUNS_FOLDER)

    def _keep_courses(self) -> None:
        """histories.csv beside results.csv: both together can be taken elsewhere, without the runs' folders."""
        sources = Sources.read([self.bench.path])
        write_atomically(self.bench.path / HISTORIES, sources.courses_as_csv(sources.rows))

    def _study(self, part: Studied) -> str:
        """Why it failed; nothing if it did not."""
        study, folder = find_study(part.study), self.out / STUDIES_FOLDER / part.key
        if (folder / "result.json").exists():
            read_study(study, folder)
            return ""
        device = self.device or "auto"
        how = (study, part.full, dict(part.sizes), part.seed)
        try:
            if self.slurm is not None:
                data = conduct_on_slurm(*how, OnSlurm(self.slurm, folder, device), self.progress, part.problem)
            else:
                data = conduct(*how, device, self.progress, part.problem, folder)
        except (PcpinnError, ArithmeticError, MemoryError, RuntimeError) as error:
            return error.problem if isinstance(error, PcpinnError) else f"{type(error).__name__}: {error}"
        write_study(study, data, folder)
        return ""


def prepare(parts: Iterable[Part], folder: Path) -> list[Path]:
    """Write the prepared problems that these parts need into a folder; returns the new files.

    Raises:
        PcpinnError: where there is nothing to prepare, or settings do not fit.
    """
    requests = dict.fromkeys(part.request for part in parts if isinstance(part, Runs))
    if not requests:
        raise PcpinnError("there is nothing to prepare: no runs belong to this", "leave --prepare out")
    return prepare_plans([make_plan(request) for request in requests], folder)
