"""A folder of prepared problems: written where there is a mesher, read where there is none."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from ..catalog.prepared import OF_THE_MESH, SUFFIX, prepared_method, read_prepared, write_prepared
from ..errors import PcpinnError
from ..solve.method import METHODS
from .cell import Cell, Changes, baked_changes, join, problem_parameters, task_of
from .plan import Plan, Planned


def method_of_mesh(name: str) -> str:
    """The first method that makes the same mesh: one file serves all baselines on points."""
    mesh = METHODS.find(name).mesh if name in METHODS else None
    return name if mesh is None else next(method.name for method in METHODS if method.mesh is mesh)


@dataclass(frozen=True)
class PreparedFolder:
    """What lies in a folder.

    Attributes:
        path: the folder.
        held: problem, preset, method of the mesh, what differs from the preset -> file.
    """

    path: Path
    held: dict[tuple[str, str, str, Changes], Path]

    @classmethod
    def read(cls, path: Path) -> PreparedFolder:
        """All files of a folder that hold problems of the catalog.

        Raises:
            PcpinnError: where there is none, or one that cannot be read.
        """
        held = {}
        for file in sorted(path.glob(f"*{SUFFIX}")):
            method = prepared_method(file)
            task = read_prepared(file, {}, method=method)
            if task.record["source"].get("kind") == "catalog":
                problem, preset = str(task.record["problem"]), str(task.record["preset"])
                held[problem, preset, method_of_mesh(method), baked_changes(task)] = file
        if not held:
            raise PcpinnError(
                f"{path} holds no prepared problem of the catalog",
                "write them where there is a mesher: pcpinn reproduce ID --prepare DIR, or pcpinn prepare NAME",
            )
        return cls(path, held)

    def file_of(self, cell: Cell) -> Path | None:
        """The file that a cell can be run from: its mesh is that of the cell, and nothing else in it differs."""
        wanted = (cell.problem, cell.preset, method_of_mesh(cell.method))
        for (*whose, baked), file in self.held.items():
            if tuple(whose) == wanted and set(of_the_mesh(cell)) <= set(baked) <= set(cell.changes):
                return file
        return None

    def furnish(self, plan: Plan) -> tuple[Plan, list[str]]:
        """The plan with a file for each cell that has one; and the names of problems that have none here."""
        cells: list[Planned] = []
        lacking: dict[str, None] = {}
        for planned in plan.cells:
            file = None if planned.cell.file is not None else self.file_of(planned.cell)
            if file is not None:
                planned = replace(planned, cell=replace(planned.cell, file=str(file)))
            elif planned.cell.file is None:
                lacking[f"{planned.cell.problem} ({planned.cell.preset})"] = None
            cells.append(planned)
        return replace(plan, cells=tuple(cells)), list(lacking)


def of_the_mesh(cell: Cell) -> Changes:
    """Those of a cell's changes that a prepared file must hold: of its mesh, and of the problem itself."""
    own = problem_parameters(cell.problem)
    return tuple((k, v) for k, v in cell.changes if k.rpartition(".")[2] in OF_THE_MESH or k in own)


def prepare_plans(plans: Iterable[Plan], folder: Path) -> list[Path]:
    """Write a file for each mesh that the plans need; those that are there already are left alone."""
    known = PreparedFolder.read(folder) if any(folder.glob(f"*{SUFFIX}")) else PreparedFolder(folder, {})
    written: dict[str, Path] = {}
    for cell in (planned.cell for plan in plans for planned in plan.cells):
        if cell.file is not None or known.file_of(cell) is not None:
            continue
        bare = replace(cell, changes=of_the_mesh(cell), method=method_of_mesh(cell.method), seed=0)
        if bare.key not in written:
            written[bare.key] = folder / f"{_name(bare)}{SUFFIX}"
            write_prepared(task_of(bare), written[bare.key])
    return list(written.values())


def _name(cell: Cell) -> str:
    """problem-preset, the method if it is another, and a hash of changes if there are some."""
    words = [cell.problem, cell.preset, *([] if cell.method == "pcpinn" else [cell.method])]
    if cell.changes:
        words.append(hashlib.sha256(join(cell.changes).encode()).hexdigest()[:8])
    return "-".join(words)
