"""The anatomy of a study: sizes, data, words and a figure, the same for all; and the folder it is written to."""

from __future__ import annotations

import csv
import difflib
import io
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from ..environment import describe_environment
from ..errors import PcpinnError
from ..files import read_json, write_atomically, write_json
from ..progress import Progress
from ..recipes import Registry
from ..solve.build import check_device, make_device
from .spread import Spread
from .unfinished import clear, make_folder

if TYPE_CHECKING:  # figures need matplotlib, numbers do not
    from matplotlib.figure import Figure

Data = dict[str, Any]
Sizes = Mapping[str, Any]
_DPI = 110


@dataclass(frozen=True)
class Context:
    """What a study may use.

    Attributes:
        sizes: how large it is.
        seed: the first one of its random numbers.
        device: for the networks.
        progress: receives progress reports.
        problem: name of the catalog's problem, for studies of any.
        folder: where long work may keep its state; None for nowhere.
        spread: works on pieces of the study that do not need each other.
    """

    sizes: Sizes
    seed: int = 0
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    progress: Progress = field(default_factory=Progress)
    problem: str | None = None
    folder: Path | None = None
    spread: Spread = field(default_factory=Spread)

    @property
    def device_of_pieces(self) -> str:
        """Of what is given to `spread`: a node of a cluster may have a GPU where this machine has none."""
        return self.spread.device or self.device.type


@dataclass(frozen=True)
class Study:
    """A question, how to answer it in numbers, and how to show them.

    Attributes:
        name, title: on the command line and for people.
        statement: what the paper says about it.
        small, full: sizes by default, and those of the paper; `--set` changes single ones.
        compute: makes plain data: `rows` (the table), `summary` (single numbers), and more tables by name if need be.
        words: says in sentences what the data show.
        draw: the figure, from the data alone.
        problem: the default problem of a study that can be made on any; None for others.
        order: its place in lists, from small to large.
        spreads: whether all work that takes long is given to the context's `spread`.
    """

    name: str
    title: str
    statement: str
    small: Sizes
    full: Sizes
    compute: Callable[[Context], Data]
    words: Callable[[Data], list[str]]
    draw: Callable[[Data], Figure]
    problem: str | None = None
    order: int = 1000
    spreads: bool = False

    def sizes(self, full: bool, changes: Mapping[str, str]) -> dict[str, Any]:
        """Small or full sizes, with some changed.

        Raises:
            PcpinnError: for an unknown key, or a value that does not fit.
        """
        sizes = dict(self.full if full else self.small)
        for key, text in changes.items():
            if key not in sizes:
                close = difflib.get_close_matches(key, sizes, n=1)
                remedy = f"did you mean {close[0]}?" if close else f"it has {', '.join(sizes)}"
                raise PcpinnError(f"the study {self.name} has no size {key!r}", remedy)
            sizes[key] = _parsed(key, text, sizes[key])
        return sizes


STUDIES: Registry[Study] = Registry("study", "studies", lambda study: study.order)


def find_study(name: str) -> Study:
    """The study called `name`; near misses are suggested."""
    found = STUDIES.get(name)
    if found is not None:
        return found
    close = difflib.get_close_matches(name, STUDIES.names(), n=1)
    remedy = f"did you mean {close[0]}?" if close else f"use one of {', '.join(STUDIES.names())}"
    raise PcpinnError(f"there is no study {name!r}", remedy)


def conduct(
    study: Study,
    full: bool = False,
    changes: Mapping[str, str] | None = None,
    seed: int = 0,
    device: str = "auto",
    progress: Progress | None = None,
    problem: str | None = None,
    folder: Path | None = None,
    spread: Spread | None = None,
) -> Data:
    """Carry out a study, or go on with it where its folder was left; the data can be written, drawn and put into words."""
    sizes = study.sizes(full, changes or {})
    check_device(device)
    where = make_device(device)
    started = time.perf_counter()
    if problem is not None and study.problem is None:
        raise PcpinnError(f"the study {study.name} has a problem of its own", f"leave {problem!r} out")
    data = study.compute(
        Context(sizes, seed, where, progress or Progress(), problem or study.problem, folder, spread or Spread())
    )
    facts: Data = {"study": study.name, "full": full, "seed": seed, "device": where.type, "sizes": plain(sizes)}
    if study.problem is not None:
        facts["problem"] = problem or study.problem
    data = {**facts, **data, "seconds": round(time.perf_counter() - started, 2)}
    return plain({**data, "environment": describe_environment(where)})


def write_study(study: Study, data: Data, folder: Path) -> list[Path]:
    """result.json, one .csv per table, figure.png and study.md; each file whole or not at all. Without matplotlib no figure."""
    make_folder(folder)
    written = [folder / "result.json"]
    write_json(written[0], data)
    for name, rows in _tables(data).items():
        written.append(folder / f"{name}.csv")
        write_atomically(written[-1], to_csv(rows))
    figure = draw_study(study, data, folder)
    written += [] if figure is None else [figure]
    written.append(folder / "study.md")
    write_atomically(written[-1], page(study, data, figure is not None))
    clear(folder)
    return written


def draw_study(study: Study, data: Data, folder: Path | None) -> Path | None:
    """figure.png from the data alone; None without matplotlib, or without a folder (then it is only tried)."""
    try:
        from ..bench.graphics import style
    except ImportError:
        return None
    with style():
        figure = study.draw(data)
        if folder is None:
            return None
        out = io.BytesIO()
        figure.savefig(out, format="png", dpi=_DPI, metadata={"Software": None})
        write_atomically(folder / "figure.png", out.getvalue())
        return folder / "figure.png"


def read_study(study: Study, folder: Path) -> Data:
    """The data of a study from its folder.

    Raises:
        PcpinnError: when they are not there, of another study, or not complete.
    """
    data = read_json(folder / "result.json")
    if data.get("study") != study.name:
        raise PcpinnError(f"{folder} does not hold the study {study.name}", "give the folder of pcpinn study")
    try:
        study.words(data)
        page(study, data, figure=False)
        draw_study(study, data, None)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError) as error:
        raise PcpinnError(f"{folder}/result.json is damaged: {error!r:.80}", "carry the study out again") from error
    return data


def page(study: Study, data: Data, figure: bool) -> str:
    """A short page in Markdown."""
    size = "the paper's size" if data["full"] else "the small default size"
    command = f"pcpinn study {study.name}" + (f" {data['problem']}" if "problem" in data else "")
    command += (" --full" if data["full"] else "") + f" --seed {data['seed']}"
    own = study.sizes(data["full"], {})
    changed = [f" --set {k}={_text(v)}" for k, v in data["sizes"].items() if plain(own.get(k)) != v]
    lines = [
        f"# {study.title}", "", f"    {command}{''.join(changed)}", "",
        f"{size.capitalize()}; {data['seconds']:.0f} s on {data['device']}.", "",
        f"**The paper:** {study.statement}", "", "**Here:**", "",
        *(f"- {sentence}" for sentence in study.words(data)), "",
    ]  # fmt: skip
    lines += ["![figure](figure.png)", ""] if figure else []
    return "\n".join(lines + markdown(data["rows"])) + "\n"


def markdown(rows: Sequence[Mapping[str, Any]], most: int = 60) -> list[str]:
    """Rows as a table; the first ones of very many."""
    if not rows:
        return []
    columns = list(rows[0])
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(_text(row.get(c)) for c in columns) + " |" for row in rows[:most]]
    return lines + ([f"\n{len(rows) - most} more rows are in rows.csv."] if len(rows) > most else [])


def to_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as CSV, numbers in full."""
    out = io.StringIO()
    columns = list(dict.fromkeys(k for row in rows for k in row))
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow(["" if row.get(c) is None else row[c] for c in columns])
    return out.getvalue()


def _tables(data: Data) -> dict[str, list[dict[str, Any]]]:
    return {k: v for k, v in data.items() if isinstance(v, list) and v and all(isinstance(row, Mapping) for row in v)}


def _parsed(key: str, text: str, usual: Any) -> Any:
    """A size of the kind of its usual value: whole numbers stay whole, lists are separated by commas."""
    if isinstance(usual, tuple):
        values = tuple(_parsed(key, part, min(usual)) for part in text.split(",") if part.strip())
        if not values:
            raise PcpinnError(f"{key}={text!r} does not fit", "give at least one number, several separated by commas")
        return values
    if isinstance(usual, str):
        return text
    try:
        value = int(text) if isinstance(usual, int) else float(text)
    except ValueError:
        kind = "a whole number" if isinstance(usual, int) else "a number"
        raise PcpinnError(f"{key}={text!r} does not fit", f"give {kind}") from None
    if not math.isfinite(value) or value < 0 or (value == 0 and usual != 0):  # some are 0 as a rule
        raise PcpinnError(f"{key}={text} does not fit", "it must be positive")
    return value


def plain(value: Any) -> Any:
    """Data for JSON: no numpy, no tuples; None where a number is not finite."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, list | tuple):
        return ",".join(_text(v) for v in value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)
