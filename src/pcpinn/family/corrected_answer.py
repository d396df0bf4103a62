"""A corrected answer of a family: a `Solution` of nodal values, no network."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..errors import PcpinnError
from ..solution.solution import Solution


@dataclass(repr=False)
class CorrectedSolution(Solution):
    """What `surrogate.corrected(mu)` gives: it is kept in memory alone."""

    def save(self, folder: str | Path) -> Path:
        """Refused: folders of runs hold networks."""
        raise PcpinnError(
            "a corrected answer has values at nodes and no network, and folders of runs hold networks",
            "save the surrogate and correct it again (surrogate.corrected(mu)), or write the values: to_npz, to_vtu",
        )
