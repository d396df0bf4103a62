"""What there is to compare: rows of benchmarks, errors along trainings, and studies, from one or several places."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..bench import Cell, Plan, Planned, Row, make_plan, read_rows
from ..errors import PcpinnError
from ..files import read_json
from ..study import Data
from .choice import Choice
from .part import RUNS_FOLDER, STUDIES_FOLDER, Part, Runs, Studied

HISTORIES = "histories.csv"
HISTORY_COLUMNS = ("key", "iteration", "seconds", "l2re")
Course = list[tuple[int, float, float]]  # iteration, seconds, L2RE


@dataclass
class Sources:
    """Everything that lies in some folders and files, whichever item it belongs to.

    Attributes:
        rows: of runs, by key; where two places have the same run, the first that finished it counts.
        courses: errors along trainings, by key of the run.
        studies: data of studies, by the name of their folder.
    """

    rows: dict[str, Row] = field(default_factory=dict)
    courses: dict[str, Course] = field(default_factory=dict)
    studies: dict[str, Data] = field(default_factory=dict)

    @classmethod
    def read(cls, places: Iterable[Path]) -> Sources:
        """From folders of `reproduce`, `bench` or `study`, and tables of rows (.csv).

        Raises:
            PcpinnError: for a place that is not there, or files that are damaged.
        """
        sources = cls()
        for place in places:
            if not place.exists():
                raise PcpinnError(
                    f"{place} is not there", "give a folder of pcpinn reproduce, bench or study, or a .csv"
                )
            if place.is_file():
                sources._add_rows(place)
                continue
            for folder in (place, place / RUNS_FOLDER):
                sources._add_rows(folder / "results.csv")
                sources._add_courses(folder)
            for data in (place / "result.json", *sorted((place / STUDIES_FOLDER).glob("*/result.json"))):
                if data.exists():
                    sources._add_study(data)
        return sources

    def add(self, other: Sources) -> None:
        """What is somewhere else, too."""
        self._take(other.rows.values())
        self.courses = other.courses | self.courses
        self.studies = other.studies | self.studies

    def _add_rows(self, path: Path) -> None:
        self._take(read_rows(path))

    def _take(self, rows: Iterable[Row]) -> None:
        for row in rows:
            known = self.rows.get(row.key)
            if known is None or (row.finished and not known.finished):
                self.rows[row.key] = row

    def _add_study(self, path: Path) -> None:
        data = read_json(path)
        if isinstance(data.get("study"), str):
            self.studies.setdefault(path.parent.name, data)

    def _add_courses(self, folder: Path) -> None:
        """From histories.csv, and for runs that it lacks from their records."""
        if (folder / HISTORIES).exists():
            self.courses = _read_courses(folder / HISTORIES) | self.courses
        for key in self.rows:
            path = folder / "runs" / key / "result.json"
            if key not in self.courses and path.exists():
                course = read_json(path).get("error_history") or []
                self.courses[key] = [(int(i), float(s), float(e)) for i, s, e in course if e is not None]

    def courses_as_csv(self, keys: Iterable[str]) -> str:
        """Errors along the trainings of some runs, for histories.csv."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(HISTORY_COLUMNS)
        writer.writerows([key, i, f"{s:.3f}", f"{e:.6g}"] for key in keys for i, s, e in self.courses.get(key, ()))
        return out.getvalue()


def _read_courses(path: Path) -> dict[str, Course]:
    courses: dict[str, Course] = {}
    try:
        reader = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8")), strict=True)
        if tuple(reader.fieldnames or ()) != HISTORY_COLUMNS:
            raise ValueError(f"the columns are not {', '.join(HISTORY_COLUMNS)}")
        for r in reader:
            courses.setdefault(r["key"], []).append((int(r["iteration"]), float(r["seconds"]), float(r["l2re"])))
    except (OSError, ValueError, TypeError, csv.Error) as error:
        raise PcpinnError(f"{path} cannot be read: {error}", "remove it: it is made again from runs/") from error
    return courses


@dataclass(frozen=True)
class Group:
    """The trials of one cell of a table: what was planned of it, and what is there."""

    cell: Cell
    variant: str
    rows: tuple[Row, ...]

    @property
    def finished(self) -> tuple[Row, ...]:
        """Trials that came to an answer, by seed."""
        return tuple(r for r in self.rows if r.finished)


class Found:
    """What there is of one item.

    Args:
        choice: what was asked for.
        parts: what the item takes.
        sources: where to look. All seeds that are there count, or with `choice.seeds` as many of them.
    """

    def __init__(self, choice: Choice, parts: Sequence[Part], sources: Sources) -> None:
        self.choice, self.parts, self.sources = choice, tuple(parts), sources
        self.plans: tuple[Plan, ...] = tuple(make_plan(p.request) for p in parts if isinstance(p, Runs))

    @property
    def planned(self) -> int:
        """Runs and studies that the item takes; two parts may share some."""
        studies = {p.key for p in self.parts if isinstance(p, Studied)}
        return len({c.cell.key for plan in self.plans for c in plan.cells}) + len(studies)

    @property
    def done(self) -> int:
        """How many of these, or of others in their place, are there."""
        rows = {r.key for g in self.groups() for r in g.finished}
        return len(rows) + sum(bool(self.studied(p)) for p in self.parts if isinstance(p, Studied))

    def groups(self) -> list[Group]:
        """The cells of all plans, trials together, in the order of the plans."""
        result: dict[tuple[str, ...], Group] = {}
        by_cell = _by_cell(self.sources.rows.values())
        for planned in (p for plan in self.plans for p in plan.cells):
            identity = (*_identity(planned), planned.variant)
            if identity not in result:
                rows = sorted(by_cell.get(_identity(planned), ()), key=lambda r: r.seed)
                result[identity] = Group(planned.cell, planned.variant, tuple(rows[: self.choice.seeds]))
        return list(result.values())

    def group(self, problem: str, method: str) -> Group | None:
        """The trials of a method on a problem."""
        return next((g for g in self.groups() if (g.cell.problem, g.cell.method) == (problem, method)), None)

    def course(self, row: Row) -> Course:
        """The error along a training."""
        return self.sources.courses.get(row.key, [])

    def studied(self, part: Studied) -> Data | None:
        """The data of a part; where it is not there, of the largest of the same study, problem and seed, of other sizes."""
        exact = self.sources.studies.get(part.key)
        if exact is not None:
            return exact
        others = [d for d in self.sources.studies.values() if d["study"] == part.study and d.get("seed") == part.seed]
        others = [d for d in others if part.problem is None or d.get("problem") == part.problem]
        return max(others, key=lambda d: (bool(d.get("full")), float(d.get("seconds") or 0.0)), default=None)

    def studies(self, name: str) -> list[Data]:
        """What is there of a study, part by part."""
        wanted = [p for p in self.parts if isinstance(p, Studied) and p.study == name]
        return [data for data in map(self.studied, wanted) if data is not None]


def _identity(planned: Planned) -> tuple[str, str, str, str]:
    cell = planned.cell
    return cell.problem, cell.method, cell.preset, cell.changed


def _by_cell(rows: Iterable[Row]) -> Mapping[tuple[str, str, str, str], list[Row]]:
    result: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in rows:
        result.setdefault((row.problem, row.method, row.preset, row.changes), []).append(row)
    return result
