"""One numbered item of the paper: what it shows, what it takes to see it here, and how the two are compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..recipes import Registry
from .choice import Choice
from .compare import Comparison
from .found import Found
from .part import Part

if TYPE_CHECKING:  # figures need matplotlib, numbers do not
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Item:
    """A table, a figure or a statement.

    Attributes:
        name: its ID, such as table-2 or figure-3a.
        title: what it shows.
        statement: what the paper says of it, in our words.
        parts: what has to be run; nothing for what follows from the catalog alone.
        compare: ours beside the paper's, with a verdict per line.
        draw: the figure, from what was found; None where a table says it all.
        order: its place in lists: that of the paper.
    """

    name: str
    title: str
    statement: str
    parts: Callable[[Choice], tuple[Part, ...]]
    compare: Callable[[Found], Comparison]
    draw: Callable[[Found], Figure | None] | None = None
    order: int = 1000


def nothing(choice: Choice) -> tuple[Part, ...]:
    """What has to be run where all follows from the catalog, or from a second of arithmetic."""
    return ()


ITEMS: Registry[Item] = Registry("item of the paper", "reproduce", lambda item: item.order)
