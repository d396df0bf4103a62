"""results.csv: one row per run, finished or failed. Written as a whole each time, so that it is never half there."""

from __future__ import annotations

import csv
import io
import math
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from ..errors import PcpinnError
from ..files import write_atomically
from .cell import Cell

_DAMAGED = (
    "the file is damaged: restore it, or remove it and give the bench command again (finished runs are kept in runs/)"
)


@dataclass(frozen=True)
class Row:
    """One run.

    Attributes:
        key, problem, method, preset, changes, seed: which.
        status: finished or failed; reason: why it failed.
        l2re, l1re, mse, mae, max: errors against the reference; training, discretisation, estimate: its parts, and the estimate
            without reference; reference_error: the reference's own, relative.
        asked, reached: the verdict: the accuracy that was asked for, and yes or no.
        iterations, stopped_by, dofs, parameters: of the training.
        kind: trained network, last layer only or spectral basis (`solve/kind.py`).
        p95, worst: of a family, beside its mean l2re over unseen parameters. ratio_low, ratio_median, ratio_high, within_two: its
            estimates relative to true errors, 2.5, 50 and 97.5 %, and the part of them between 0.5 and 2.
        query_ms, estimate_ms: milliseconds of a query of 1000 points, and of an estimate.
        quality: ||I - P^-1 A|| on smooth functions. condition, applied_error: of P, see `preconditioned.py`.
        setup_s, train_s, total_s: seconds. memory_gib, device_memory_gib: peaks.
        device, machine, version, date: where and when.
    """

    key: str
    problem: str
    method: str
    preset: str
    changes: str
    seed: int
    status: str
    reason: str = ""
    l2re: float | None = None
    l1re: float | None = None
    mse: float | None = None
    mae: float | None = None
    max: float | None = None
    training: float | None = None
    discretisation: float | None = None
    estimate: float | None = None
    asked: float | None = None
    reached: str = ""
    reference_error: float | None = None
    iterations: int | None = None
    stopped_by: str = ""
    dofs: int | None = None
    parameters: int | None = None
    kind: str = ""
    p95: float | None = None
    worst: float | None = None
    ratio_low: float | None = None
    ratio_median: float | None = None
    ratio_high: float | None = None
    within_two: float | None = None
    query_ms: float | None = None
    estimate_ms: float | None = None
    quality: float | None = None
    condition: float | None = None
    applied_error: float | None = None
    setup_s: float | None = None
    train_s: float | None = None
    total_s: float | None = None
    memory_gib: float | None = None
    device_memory_gib: float | None = None
    device: str = ""
    machine: str = ""
    version: str = ""
    date: str = ""

    @property
    def finished(self) -> bool:
        """Whether the run ended with an answer."""
        return self.status == "finished"


COLUMNS = tuple(f.name for f in fields(Row))
_REQUIRED = tuple(f.name for f in fields(Row) if f.default is MISSING)
_KINDS = typing.get_type_hints(Row)


def failed(cell: Cell, reason: str) -> Row:
    """The row of a run that did not come to an answer."""
    one_line = " ".join(reason.split())[:300]
    return Row(cell.key, cell.problem, cell.method, cell.preset, cell.changed, cell.seed, "failed", one_line)


def row_of(cell: Cell, result: Mapping[str, Any], measured: Mapping[str, Any] | None = None) -> Row:
    """The row of a finished run, from its result.json (and what was measured of its preconditioner).

    Raises:
        PcpinnError: when the result does not hold what a result holds.
    """
    try:
        errors, times, memory, where = result["errors"], result["time"], result["memory"], result["environment"]
        quality = result["preconditioner"].get("quality")
        values: dict[str, Any] = {
            "status": "failed" if result["stopped_by"] == "not finite" else "finished",
            "reason": "the loss became infinite or NaN" if result["stopped_by"] == "not finite" else "",
            **{k: errors[k] for k in ("l2re", "l1re", "mse", "max", "training", "discretisation", "estimate")},
            **_verdict(result),
            "mae": errors.get("mae"),
            "kind": result.get("network_kind") or "",
            **_unseen(result),
            "reference_error": _truth_error(result),
            **{k: result[k] for k in ("iterations", "stopped_by", "dofs", "parameters", "device")},
            "quality": quality["smooth"] if isinstance(quality, Mapping) else quality,
            "condition": (measured or {}).get("condition"),
            "applied_error": (measured or {}).get("applied_error"),
            "setup_s": times["setup_s"],
            "train_s": times["train_s"],
            "total_s": times["total_s"],
            "memory_gib": memory["host_gib"],
            "device_memory_gib": memory["device_gib"],
            "machine": where.get("gpu") or f"{where['platform']}, {where['threads']} threads",
            "version": where.get("pcpinn") or "",
            "date": where["date"],
        }
        checked = {k: _checked(k, v) for k, v in values.items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise PcpinnError(f"the result of {cell.key} lacks {error}", "remove its folder and run it again") from error
    return replace(failed(cell, ""), **checked)


def _verdict(result: Mapping[str, Any]) -> dict[str, Any]:
    verdict = result.get("verdict") or {}
    reached = {True: "yes", False: "no"}.get(verdict.get("reached"), "")  # type: ignore[arg-type]
    return {"asked": verdict.get("asked"), "reached": reached}


def _truth_error(result: Mapping[str, Any]) -> Any:
    """The relative error of what the answer was compared with."""
    if result.get("unseen"):
        return result["unseen"]["truth"]["error"]
    return None if result["reference"] is None else result["reference"]["error"]


def _unseen(result: Mapping[str, Any]) -> dict[str, Any]:
    """What was found of a family at unseen parameters."""
    found = result.get("unseen") or {}
    ratio = found.get("ratio") or {}
    plain = {k: found.get(k) for k in ("p95", "worst", "within_two", "query_ms", "estimate_ms")}
    return plain | {f"ratio_{k}": ratio.get(k) for k in ("low", "median", "high")}


def with_measured(row: Row, measured: Mapping[str, Any]) -> Row:
    """A row with the numbers of its preconditioner added."""
    return replace(row, **{k: _checked(k, measured.get(k)) for k in ("condition", "applied_error")})


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """The whole file, atomically."""
    write_atomically(path, rows_as_csv(rows))


def rows_as_csv(rows: Iterable[Row]) -> str:
    """Rows as text."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow(["" if v is None else repr(v) if isinstance(v, float) else v for v in asdict(row).values()])
    return out.getvalue()


def read_rows(path: Path) -> list[Row]:
    """Inverse of `write_rows`; none where there is no file.

    Raises:
        PcpinnError: for a file that is not such a table.
    """
    if not path.exists():
        return []
    rows: list[Row] = []
    try:
        reader = csv.reader(io.StringIO(path.read_text(encoding="utf-8")), strict=True)
        columns = _columns(next(reader, []))
        for values in reader:
            if len(values) != len(columns):
                raise ValueError(f"line {reader.line_num} has {len(values)} values for {len(columns)} columns")
            rows.append(Row(**{k: _from_text(k, v, reader.line_num) for k, v in zip(columns, values, strict=True)}))
    except (OSError, ValueError, csv.Error) as error:
        raise PcpinnError(f"{path} cannot be read: {error}", _DAMAGED) from error
    if any(r.status not in ("finished", "failed") for r in rows) or len({r.key for r in rows}) < len(rows):
        raise PcpinnError(f"{path} has rows with a strange status, or two for the same run", _DAMAGED)
    return rows


def _columns(names: Sequence[str]) -> Sequence[str]:
    """Line 1, checked: rows of earlier versions may lack columns that came later, but not those that say which run it is."""
    if not set(_REQUIRED) <= set(names) <= set(COLUMNS) or len(set(names)) < len(names):
        raise ValueError("line 1 does not name the columns of this version")
    return names


def _from_text(key: str, text: str, line: int) -> Any:
    kind = _KINDS[key]
    try:
        if kind is str:
            return text
        if kind is int:
            return int(text)
        return None if text == "" else _checked(key, float(text) if kind == float | None else int(text))
    except ValueError:
        raise ValueError(f"line {line}: {key} is {text[:40]!r}") from None


def _checked(key: str, value: Any) -> Any:
    """A value of the column's kind; numbers that are not finite count as absent."""
    kind = _KINDS[key]
    if kind is str:
        if not isinstance(value, str):
            raise ValueError(f"{key} as text")
        return value
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{key} as a number")
    if kind == float | None:
        return float(value) if math.isfinite(value) else None
    return int(value)
