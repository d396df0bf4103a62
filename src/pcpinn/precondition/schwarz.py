"""P in parts, each solved with its neighbourhood, and a coarse space for all: for problems shared by several processes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
import torch

from ..discretize.system import Discretisation
from ..errors import PcpinnError
from ..team import Team, present_team
from .amg import AMG
from .coarse import CoarseSpace, coarse_space
from .factorised import ILU, LU
from .partition import bisected_places, grown, neighbours
from .recipe import PRECONDITIONERS, Preconditioning
from .schwarz_solver import PartFactors, SchwarzSolver
from .shards import RowMatrix, Shards

_LEAST = 8  # degrees of freedom of a part


@PRECONDITIONERS.register
@dataclass(frozen=True)
class Schwarz(Preconditioning):
    """Overlapping Schwarz: parts of the mesh are solved with their neighbourhood, long waves in a coarse space.

    The one P that several processes can share (docs/clusters.md). It depends on the number of parts, not on that of processes.

    Attributes:
        parts: of the mesh, dealt out to the processes.
        overlap: layers of neighbours that a part is solved with.
        coarse: most patches of the mesh in the coarse space, each with a constant and the coordinates; 0 for none.
        inner: how parts are solved: ilu, lu or amg.
        drop_tolerance: relative size below which an entry of inner=ilu is left out.
        fill_factor: most entries of the factors of inner=ilu, in multiples of those of its matrix.
    """

    parts: int = 8
    overlap: int = 2
    coarse: int = 256
    inner: Literal["ilu", "lu", "amg"] = "ilu"
    drop_tolerance: float = 1e-4
    fill_factor: float = 20.0

    name: ClassVar[str] = "schwarz"
    positive: ClassVar[tuple[str, ...]] = ("parts", "overlap", "drop_tolerance", "fill_factor")
    not_negative: ClassVar[tuple[str, ...]] = ("refinement", "coarse")
    at_most: ClassVar[Mapping[str, float]] = {"refinement": 1000, "parts": 100_000, "coarse": 4000, "overlap": 100}

    def __post_init__(self) -> None:
        super().__post_init__()
        for key, usual in (("drop_tolerance", 1e-4), ("fill_factor", 20.0)):
            if self.inner != "ilu" and getattr(self, key) != usual:
                raise PcpinnError(f"{key} is of inner=ilu, and inner={self.inner}", f"leave {key} out")

    @property
    def solver(self) -> ILU | LU | AMG:
        """What solves a part."""
        if self.inner == "ilu":
            return ILU(self.drop_tolerance, self.fill_factor)
        return LU() if self.inner == "lu" else AMG()

    def fitted(self, discretisation: Discretisation, memory: float) -> FittedSchwarz:
        """For the places of a discretisation; a mesh with time is cut across space alone."""
        places, components = discretisation.unknown_nodes, np.asarray(discretisation.unknown_components)
        return FittedSchwarz(self, places, components, discretisation.mesh.has_time, present_team())


@dataclass(frozen=True)
class SchwarzState:
    """What P was made of.

    Attributes:
        A: (N, N).
        shards: who holds what; parts: the factors of those held here.
        coarse: the coarse space, if there is one.
        host: for tensors on the host.
    """

    A: sp.csr_matrix
    shards: Shards
    parts: list[PartFactors]
    coarse: CoarseSpace | None
    setup_s: float
    host: SchwarzSolver


@dataclass(frozen=True)
class FittedSchwarz:
    """`Schwarz` for degrees of freedom at known places; a `Preconditioner`.

    Attributes:
        recipe: how.
        places: (N, d); components: (N,) which component each is.
        over_time: whether the last coordinate is time, which is not cut.
        team: the processes that share it.
    """

    recipe: Schwarz
    places: np.ndarray = field(repr=False)
    components: np.ndarray = field(repr=False)
    over_time: bool
    team: Team

    name: ClassVar[str] = "schwarz"
    prefers_torch: ClassVar[bool] = False

    @cached_property
    def shards(self) -> Shards:
        """Who holds what; it depends on places alone.

        Raises:
            PcpinnError: for more parts than the mesh can be cut into, or processes than parts.
        """
        parts = self.recipe.parts
        places = self.places[:, :-1] if self.over_time and self.places.shape[1] > 1 else self.places
        part_of = bisected_places(places, parts)
        if np.bincount(part_of, minlength=parts).min() < _LEAST:
            raise PcpinnError(
                f"{len(self.places)} degrees of freedom are too few for {parts} parts",
                f"set parts={max(1, len(self.places) // (4 * _LEAST))} or less, or take a finer mesh",
            )
        return Shards(part_of, parts, self.team)

    def build(self, A: sp.csr_matrix) -> SchwarzState:
        """Cut, factorise the parts of this process, make the coarse space.

        Raises:
            PcpinnError: for more parts than the mesh can be cut into or processes than parts, or where a part cannot be solved.
        """
        started, recipe, shards, graph = time.perf_counter(), self.recipe, self.shards, neighbours(A)
        parts = [self._factors(A, graph, shards, part) for part in shards.parts]
        coarse = coarse_space(A, graph, self.places, self.components, recipe.coarse) if recipe.coarse else None
        host = SchwarzSolver(A, shards, recipe.solver, parts, coarse, recipe.refinement, "cpu")
        return SchwarzState(A, shards, parts, coarse, time.perf_counter() - started, host)

    def _factors(self, A: sp.csr_matrix, graph: sp.csr_matrix, shards: Shards, part: int) -> PartFactors:
        wide = grown(graph, shards.here[shards.of_part(part)], self.recipe.overlap)
        try:
            return PartFactors(part, wide, self.recipe.solver.build(sp.csr_matrix(A[wide][:, wide])))
        except PcpinnError as error:
            raise PcpinnError(f"part {part + 1} of {self.recipe.parts}: {error.problem}", error.remedy) from error

    def apply(self, state: SchwarzState, r: np.ndarray) -> np.ndarray:
        """P^-1 r of the whole (N,) or (N, k), on all members of the team."""
        own = torch.from_numpy(np.ascontiguousarray(r[state.shards.here], dtype=np.float64))
        return state.shards.whole(state.host.apply(own)).numpy()

    def apply_transpose(self, state: SchwarzState, r: np.ndarray) -> np.ndarray:
        """P^-T r of the whole (N,) or (N, k)."""
        own = torch.from_numpy(np.ascontiguousarray(r[state.shards.here], dtype=np.float64))
        return state.shards.whole(state.host.apply_transpose(own)).numpy()

    def on_device(
        self, state: SchwarzState, dtype: torch.dtype, device: torch.device | str, columns: int = 1
    ) -> SchwarzSolver:
        """P^-1 on the degrees of freedom that this process holds."""
        if torch.device(device).type == "cpu":
            return state.host
        recipe = self.recipe
        return SchwarzSolver(state.A, state.shards, recipe.solver, state.parts, state.coarse, recipe.refinement, device)

    def rows_of(self, state: SchwarzState, A: sp.csr_matrix, device: torch.device | str) -> RowMatrix:
        """The rows of any matrix that go with P."""
        return RowMatrix(A, state.shards, torch.float64, device)

    def describe(self, state: SchwarzState) -> dict[str, Any]:
        """Parts, overlap, the size of the coarse space."""
        recipe = self.recipe
        facts: dict[str, Any] = {"parts": recipe.parts, "processes": self.team.size, "overlap": recipe.overlap}
        facts |= {"inner": recipe.inner, "coarse_size": 0 if state.coarse is None else len(state.coarse.inverse)}
        return facts | ({"refinement": recipe.refinement} if recipe.refinement else {})
