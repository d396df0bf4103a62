"""Write those parts of docs/paper.md and docs/baselines.md that follow from rows in docs/; given again, it changes nothing.

    python benchmarks/paper_pages.py           # writes; `benchmarks/paper_left.py --take` does so, too
    python benchmarks/paper_pages.py --check   # code 1 where a page is not what the rows say

A part stands between <!-- from rows: NAME --> and <!-- end of rows -->; in docs/paper.md also the column "status" of every ID.
Times of what is not run are seconds of one H200 to itself: those of rows divided by how many runs shared it then
(docs/paper/batches.csv; rows of other days do not count), and of runs that were stopped (docs/paper/unfinished.csv).
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from paper_rows import DOCS, PLACES, Rows

from pcpinn.bench import suite
from pcpinn.bench.table import markdown_table, short, with_std
from pcpinn.catalog import find_entry
from pcpinn.catalog.published import Figure, best_baseline, paper_result
from pcpinn.reproduce import ITEMS, Choice, Found, Sources
from pcpinn.reproduce.compare import NOT_RUN, of_errors, sentences
from pcpinn.reproduce.main_tables import OTHERS, published
from pcpinn.reproduce.reasons import UNKNOWN, unlike_published
from pcpinn.solve.kind import kind_of

WANTED, NEAR = 10.0, 3.0  # how much better we ought to be; how far a published figure may be
# Problems whose published data are another problem's, or too coarse: docs/published-data.md.
WRONG_DATA = ("burgers1d-c", "heat2d-lt", "ns2d-c", "ns2d-cg", "ns2d-lt", "wave2d-ms")
_BLOCK = re.compile(r"(<!-- from rows: (\S+) -->\n).*?(<!-- end of rows -->)", flags=re.DOTALL)
_ITEM = re.compile(r"^(\| [^|]* \| `([a-z]+-(?:[ab][.])?[0-9.]+[a-c]?)` \| )[^|]*( \|)", flags=re.MULTILINE)


def _duration(seconds: float) -> str:
    return (
        f"{seconds:.0f} s"
        if seconds < 100
        else f"{seconds / 60:.0f} min"
        if seconds < 5400
        else f"{seconds / 3600:.1f} h"
    )


def _times(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}"


def default_table(rows: Rows) -> str:
    """Our default preset beside the best of the eleven PINNs, problem by problem."""
    lines, better = [], dict.fromkeys(("yes", "yes so far", "no", "not run"), 0)
    for problem in suite("paper"):
        mean, mark = rows.error(problem, "pcpinn", "default"), ""
        ours = mean.mean if mean else None
        if ours is None and problem in rows.kept:
            ours, where = rows.kept[problem]
            mark = " (p)" if where == "page" else " (m)"
        pinns = rows.pinns(problem)
        best = min(pinns, key=lambda m: pinns[m].mean, default=None)
        ratio = pinns[best].mean / ours if best and ours else None
        said = answer(ratio, len(pinns))
        better[said] += 1
        features = rows.error(problem, "random-features", "pinnacle")
        other = best_baseline(problem)
        _, settings = find_entry(problem).resolve("default", {})
        lines.append(
            (
                problem,
                f"{short(ours)}{mark}",
                kind_of(settings) + (" (f)" if settings.network.features == "list" else ""),
                f"{short(pinns[best].mean)} `{best}`" if best else "-",
                f"{len(pinns)} of {len(OTHERS)}",
                _times(ratio) if ratio else "-",
                said,
                short(features.mean if features else None),
                f"{short(other.mean)} {other.method}" if other else "-",
                _times(other.mean / ours) if other and ours else "-",
            )
        )
    head = ("problem", "`default`", "kind", "best PINN here", "run", "ratio", f"{WANTED:g} times better")
    table = markdown_table((*head, "`random-features`", "best published", "ratio"), lines)
    counted = ", ".join(f"{said} {n}" for said, n in better.items() if n)
    return f"{table}\n\n{WANTED:g} times better than the best PINN of those run here: {counted}, of {len(lines)} problems.\n"


def answer(ratio: float | None, run: int) -> str:
    """Whether we are so much better than the best of those that were run; a no stays one, whatever else is run."""
    if ratio is None:
        return "not run"
    return "no" if ratio < WANTED else "yes" if run == len(OTHERS) else "yes so far"


def cell_table(rows: Rows) -> str:
    """Errors of the eleven PINNs on all problems, and the time of those that are not run."""
    lines, total, left, apart = [], 0.0, 0, Apart()
    for problem in suite("paper"):
        found, cells, needed = rows.pinns(problem), [problem], 0.0
        for method in OTHERS:
            if method in found:
                cells.append(
                    short(found[method].mean) + (f" x{found[method].count}" if found[method].count > 1 else "")
                )
                apart.add(problem, method, found[method].mean)
            else:
                seconds = rows.seconds(problem, method) or 0.0
                needed, left = needed + seconds, left + 1
                cells.append(f"({seconds:.0f} s)")
        total += needed
        lines.append((*cells, _duration(needed) if needed else ""))
    table = markdown_table(("problem", *(f"`{m}`" for m in OTHERS), "left"), lines)
    count = len(lines) * len(OTHERS)
    words = f"{count - left} of {count} cells are run"
    words += f"; the other {left} would take {_duration(total)} of an H200 by the rows so far." if left else "."
    return f"{table}\n\n{words}\n\n{apart.words()}"


class Apart:
    """Errors of ours beside published ones of the same method and problem."""

    def __init__(self) -> None:
        self.cells: list[tuple[str, str, float, Figure]] = []  # problem, method, ours, published

    def add(self, problem: str, method: str, error: float) -> None:
        """One that was run; it counts where there is a published one."""
        figure = published(problem, method, "L2RE")
        if figure is not None:
            self.cells.append((problem, method, error, figure))

    def words(self) -> str:
        """How many are near, and all that are not, each with what is known of why."""
        near = [problem for problem, _, ours, theirs in self.cells if _near(ours, theirs)]
        right = [problem for problem, *_ in self.cells if problem not in WRONG_DATA]
        near_right = sum(problem not in WRONG_DATA for problem in near)
        said = (
            f"{len(near)} of {len(self.cells)} are within a factor of {NEAR:g} of the published figure; where the published data "
            f"are right ([published-data.md](published-data.md)), {near_right} of {len(right)}. The others:"
        )
        lines = [
            (
                f"`{method}`",
                problem,
                short(ours),
                with_std(theirs),
                _direction(ours, theirs),
                _why(problem, method, ours, theirs),
            )
            for problem, method, ours, theirs in sorted(self.cells, key=lambda cell: OTHERS.index(cell[1]))
            if not _near(ours, theirs)
        ]
        head = ("method", "problem", "ours", "published (deviation)", "ours is", "why")
        return f"{said}\n\n{markdown_table(head, lines) if lines else '-'}\n"


def _near(ours: float, theirs: Figure) -> bool:
    return theirs.mean / NEAR <= ours <= theirs.mean * NEAR


def _direction(ours: float, theirs: Figure) -> str:
    return "better" if ours < theirs.mean else "worse"


def _why(problem: str, method: str, ours: float, theirs: Figure) -> str:
    """What is known: whether published trials scatter as much, how the methods differ, and what the data are."""
    scatter = abs(ours - theirs.mean) <= 2 * (theirs.std or 0.0)
    known = unlike_published(problem, method)
    found = ["within two of its deviations"] if scatter else []
    found += [] if scatter and known == UNKNOWN else [known]
    return sentences(*found, "the published data are not right" if problem in WRONG_DATA else None)


def paper_table(rows: Rows) -> str:
    """Our method with the settings of the paper, problem by problem; the time of what is not run."""
    lines, left = [], 0.0
    for problem in suite("paper"):
        ours, paper = rows.error(problem, "pcpinn", "paper"), paper_result(problem)
        verdict = of_errors(ours, paper)
        if verdict == NOT_RUN:
            seconds = rows.unfinished.get(problem)
            verdict += f" to the end: {_duration(seconds)}" if seconds else ""
            left += seconds or 0.0
            if problem in rows.begun:
                part = rows.begun[problem]
                verdict += f"; after {part['intervals']} of {part['of']} intervals {short(float(part['l2re']))}"
        ratio = f"{paper.mean / ours.mean:.2g}" if ours and paper else "-"
        lines.append((problem, with_std(paper), with_std(ours), str(ours.count if ours else 0), ratio, verdict))
    head = ("problem", "paper (deviation over 5 seeds)", "ours (deviation)", "seeds", "paper / ours", "verdict")
    run = sum(line[3] != "0" for line in lines)
    words = f"{run} of {len(lines)} are run" + (
        f"; the others would take {_duration(left)} of an H200, one seed each.\n" if left else ".\n"
    )
    return markdown_table(head, lines) + "\n\n" + words


BLOCKS: dict[str, Callable[[Rows], str]] = {"default": default_table, "cells": cell_table, "paper-preset": paper_table}
PAGES: dict[Path, tuple[str, ...]] = {DOCS / "baselines.md": ("default", "cells"), DOCS / "paper.md": ("paper-preset",)}


def filled(text: str, rows: Rows, status: Callable[[str], str], wanted: Iterable[str]) -> str:
    """A page with its parts as the rows have them.

    Raises:
        ValueError: for a page that lacks one of its parts, or has another.
    """
    found = [name for _, name, _ in _BLOCK.findall(text)]
    if found != list(wanted):
        raise ValueError(f"the parts from rows are {', '.join(found) or 'none'} instead of {', '.join(wanted)}")
    text = _BLOCK.sub(lambda m: f"{m[1]}\n{BLOCKS[m[2]](rows)}\n{m[3]}", text)
    return _ITEM.sub(lambda m: m[1] + status(m[2]) + m[3], text)


def status_of(sources: Sources) -> Callable[[str], str]:
    """What `pcpinn reproduce` says of an ID."""

    def status(name: str) -> str:
        item = ITEMS.find(name)
        return item.compare(Found(Choice(), item.parts(Choice()), sources)).status

    return status


def update(check: bool = False) -> list[Path]:
    """Write the pages; returns those that were not as the rows have them."""
    rows, status, changed = Rows.read(), status_of(Sources.read(PLACES)), []
    for page, wanted in PAGES.items():
        before = page.read_text(encoding="utf-8")
        after = filled(before, rows, status, wanted)
        if after != before:
            changed.append(page)
            if not check:
                page.write_text(after, encoding="utf-8")
    return changed


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    given = parser.parse_args(arguments)
    changed = update(given.check)
    for page in changed:
        print(f"{'to be written' if given.check else 'written'}: {page.relative_to(DOCS.parent)}")
    return int(given.check and bool(changed))


if __name__ == "__main__":
    sys.exit(main())
