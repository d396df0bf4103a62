"""Ours beside the paper's: lines with verdicts, and what they come to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

# Verdicts of a line. Errors may be smaller than the paper's; other numbers agree or do not.
MATCH, BETTER, WORSE, DIFFERS, NOT_RUN, NOTHING = "match", "better", "worse", "differs", "not run", ""
UNTOLD = "nothing to compare"  # of an item whose lines all have no verdict
# How far errors of trained networks may be apart: the paper's own trials and tables differ by about as much
# (poisson2d-c: 3.98e-3 over 5 trials, 1.84e-3 over 10).
FACTOR = 2.0
# How far numbers may be apart that no training enters: condition numbers and the like, on meshes that are not quite the same.
CLOSE = 1.25


@dataclass(frozen=True)
class Line:
    """One line of a comparison: its cells, the verdict, and why where they differ."""

    cells: tuple[str, ...]
    verdict: str
    why: str = ""


@dataclass(frozen=True)
class Comparison:
    """What is shown of an item.

    Attributes:
        header: names of the cells.
        lines: ours beside the paper's.
        notes: how it was compared, and what is not like in the paper.
        done, planned: runs or studies that are there, and that it takes.
        reduced: whether some of them are not of the paper's size.
    """

    header: tuple[str, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()
    done: int = 0
    planned: int = 0
    reduced: bool = False

    @property
    def verdict(self) -> str:
        """The item's: differs if any line does, better if some are and none is worse, else match; not run without a line."""
        if self.lines and all(l.verdict == NOTHING for l in self.lines):
            return UNTOLD
        found = [l.verdict for l in self.lines if l.verdict not in (NOT_RUN, NOTHING)]
        if not found:
            return NOT_RUN
        if any(v in (WORSE, DIFFERS) for v in found):
            return DIFFERS
        return BETTER if BETTER in found else MATCH

    @property
    def status(self) -> str:
        """The verdict, with how much of it there is."""
        off = sum(l.verdict in (WORSE, DIFFERS) for l in self.lines)
        compared = sum(l.verdict not in (NOT_RUN, NOTHING) for l in self.lines)
        count = f"{off} of {compared} line{'s' if compared > 1 else ''}"
        words = f"{self.verdict} ({count})" if self.verdict == DIFFERS else self.verdict
        if self.verdict == NOT_RUN:
            return words
        words += ", not at the paper's size" if self.reduced else ""
        if self.done >= self.planned:
            return words
        return f"{words}, so far {self.done} of {self.planned} runs"


class Number(Protocol):
    """A mean with its standard deviation, of ours or of the paper's."""

    @property
    def mean(self) -> float:
        """The number itself."""

    @property
    def std(self) -> float | None:
        """Over trials, where there are several."""


def of_errors(ours: Number | None, paper: Number | None) -> str:
    """The verdict on a mean error: match within a factor of 2, or within two of the paper's standard deviations."""
    if ours is None or paper is None:
        return NOT_RUN if ours is None else NOTHING
    near = abs(ours.mean - paper.mean) <= 2 * (paper.std or 0.0)
    if near or paper.mean / FACTOR <= ours.mean <= paper.mean * FACTOR:
        return MATCH
    return BETTER if ours.mean < paper.mean else WORSE


def of_numbers(ours: Number | None, paper: Number | None) -> str:
    """The verdict on a number that no training enters: match within a quarter."""
    if ours is None or paper is None:
        return NOT_RUN if ours is None else NOTHING
    return MATCH if paper.mean / CLOSE <= ours.mean <= paper.mean * CLOSE else DIFFERS


def of_claim(holds: bool | None) -> str:
    """The verdict on a statement; None for one that there are no numbers for."""
    return NOT_RUN if holds is None else MATCH if holds else DIFFERS


def sentences(*parts: str | None) -> str:
    """What is there of some reasons, as one text."""
    return "; ".join(p for p in parts if p)
