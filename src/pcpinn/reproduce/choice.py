"""How large an item is reproduced: what a user may choose about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..catalog.entry import PRESETS
from ..errors import PcpinnError

BASELINE_PRESETS = {"quick": "pinnacle-quick"}  # of other methods, by the preset of ours; else pinnacle


@dataclass(frozen=True)
class Choice:
    """What is asked for.

    Attributes:
        preset: of our runs: paper, default or quick. Other methods then take PINNacle's settings, or those in small, and
            studies the paper's sizes, or with quick their small ones.
        seeds: how many; None for as many as the paper takes.
        seed: the first one.
        problems, methods: only these, where an item has several; None for all.
        changes: of settings, or of a study's sizes.
    """

    preset: str = "paper"
    seeds: int | None = None
    seed: int = 0
    problems: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None
    changes: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if self.preset not in PRESETS:
            raise PcpinnError(f"there is no preset {self.preset!r}", f"use one of {', '.join(PRESETS)}")
        if self.seeds is not None and self.seeds < 1:
            raise PcpinnError(f"--seeds {self.seeds} must be positive", "take 1, or 5 as in the paper")

    @property
    def baseline_preset(self) -> str:
        """Of other methods."""
        return BASELINE_PRESETS.get(self.preset, "pinnacle")

    @property
    def full(self) -> bool:
        """Whether studies have the paper's sizes."""
        return self.preset != "quick"

    def trials(self, usual: int) -> int:
        """Number of seeds, where the paper takes `usual`."""
        return usual if self.seeds is None else self.seeds

    def of_problems(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of an item's problems that are wanted."""
        return _wanted(names, self.problems, "problem")

    def of_methods(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of an item's methods that are wanted."""
        return _wanted(names, self.methods, "method")


def _wanted(names: Iterable[str], only: tuple[str, ...] | None, what: str) -> tuple[str, ...]:
    known = tuple(names)
    chosen = known if only is None else tuple(n for n in known if n in only)
    if not chosen:
        raise PcpinnError(f"none of {', '.join(only or ())} is a {what} of this item", f"it has {', '.join(known)}")
    return chosen
