"""Answers for families that are made of direct solutions: values at nodes for every set of parameters, no network.

They share one run: the solves, what a method makes of them, the record. `TableNetwork` lets them be asked, estimated and drawn as
networks are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from ..discretize.discretisation import Discretisation
from ..errors import PcpinnError
from ..family.anchors import Anchors, spread
from ..family.checks import check_family
from ..family.direct import direct_solutions
from ..family.discretise import AnySystem, make_system
from ..family.family import Family
from ..family.surrogate import Surrogate
from ..files import write_json
from ..mesh.slab_mesh import AnyMesh
from ..network.recipe import MLP
from ..progress import Progress
from ..solution.load import loads
from ..solution.reference import ERRORS
from ..solution.result import Result
from ..solution.solution import Solution
from ..solve.build import make_mesh, make_preconditioner
from ..solve.conduct import Run
from ..solve.method import FAMILY_METHODS, Method, Offer
from ..solve.settings import Settings, problem_is_over_time, resolve
from ..train.history import History
from .family_recipes import Solves, offer_tables

Values = Callable[[Tensor], Tensor]
"""Scaled parameters (S, K) -> values (S, N) at the nodes of the discretisation."""

Build = Callable[[AnySystem, Tensor, Tensor, Settings], Values]
"""What a method makes of solutions (M, N) at scaled parameters (M, K)."""

_KIND = "family-table"


class TableNetwork(nn.Module):
    """Values at nodes for all parameters, as a function of (z, x) between them.

    Args:
        form: the discretisation of the nodes.
        values: at nodes.
        parameters: K.
    """

    ansatz = None

    def __init__(self, form: Discretisation, values: Values, parameters: int) -> None:
        super().__init__()
        self.form, self.values, self.numbers = form, values, parameters
        self.theta = nn.Parameter(torch.zeros(0, dtype=torch.float64))
        self.outputs = int(np.max(form.unknown_components)) + 1
        self.inputs, self.parameter_count = parameters + form.unknown_nodes.shape[1], 0
        self._at: tuple[bytes, list[sp.csr_matrix]] = (b"", [])

    @torch.no_grad()
    def forward(self, points: Tensor) -> Tensor:
        """(n, K + d) -> (n, outputs); points of the same parameters are best one after the other."""
        z, counts = torch.unique_consecutive(points[:, : self.numbers], dim=0, return_counts=True)
        u, out, at = self.values(z), [], 0
        for k, count in enumerate(counts.tolist()):
            out.append(self.interpolated(u[k], points[at : at + count, self.numbers :].numpy()))
            at += count
        return torch.from_numpy(np.concatenate(out))

    def interpolated(self, u: Tensor, x: np.ndarray) -> np.ndarray:
        """(n, outputs) of values (N,) at places (n, d); what belongs to the last places is kept."""
        x = np.ascontiguousarray(x)
        if self._at[0] != x.tobytes():
            self._at = x.tobytes(), _interpolation(self.form, x)
        return np.stack([m @ u.numpy() for m in self._at[1]], axis=1)

    def at(self, z: Tensor) -> TableFunction:
        """The function of the place for parameters (K,)."""
        return TableFunction(self, self.values(z[None].double())[0])


class TableFunction(nn.Module):
    """One set of values as a function of the place."""

    ansatz = None

    def __init__(self, table: TableNetwork, u: Tensor) -> None:
        super().__init__()
        self.table, self.u, self.theta = (table,), u, table.theta
        self.outputs, self.inputs, self.parameter_count = table.outputs, table.inputs - table.numbers, 0

    @torch.no_grad()
    def forward(self, x: Tensor) -> Tensor:
        """(n, d) -> (n, outputs)."""
        return torch.from_numpy(self.table[0].interpolated(self.u, x.numpy()))


def _interpolation(form: Discretisation, x: np.ndarray) -> list[sp.csr_matrix]:
    """By component, from values (N,) to those at places (n, d)."""
    space = form.space  # type: ignore[attr-defined]
    eye = sp.identity(space.size, format="csr")
    made = {id(s): s.interpolation(x) for s in space.scalar}
    ends = zip(space.scalar, space.offsets, space.offsets[1:], strict=False)
    return [made[id(s)] @ eye[a:b] for s, a, b in ends]


class TableSurrogate(Surrogate):
    """The answer of such a method; it is kept in memory alone, a folder has its record."""

    def save(self, folder: str | Path) -> Path:
        """Refused."""
        raise PcpinnError("answers that are made of direct solutions are not kept on disk", "solve again")

    def _single_network(self) -> Any:
        return MLP()


@loads(_KIND)
def _load(folder: Path, record: dict[str, Any], module: nn.Module | None) -> Solution:
    raise PcpinnError(f"{folder} holds the record of method {record.get('method')}, not its tables", "solve again")


def solve_tables(
    name: str,
    build: Build,
    family: Family,
    settings: Settings | Mapping[str, Any] | None = None,
    *,
    out: str | Path | None = None,
    progress: Progress | None = None,
    record: Mapping[str, Any] | None = None,
    resume: bool = False,
    on: AnyMesh | None = None,
    **choices: Any,
) -> Surrogate:
    """Solve at parameters that are spread evenly, and make an answer for all of them; arguments as of `pcpinn.solve`.

    Raises:
        PcpinnError: for a family over time, or anything else the user can correct.
    """
    base = family.base
    if resume:
        raise PcpinnError(f"a run of method {name} cannot be resumed", "start it again in another folder")
    if problem_is_over_time(base):
        raise PcpinnError(f"method {name} is for steady families", "use method family")
    chosen = (
        settings
        if isinstance(settings, Settings)
        else resolve(FAMILY_METHODS.find(name), False, {**(settings or {}), **choices})
    )
    check_family(family)
    own = Run(chosen, base.name, base.unknowns, out=out, progress=progress, record=record, kind=_KIND)
    own.facts |= {"parameters": family.to_list()}
    mesh = own.mesh_of(base, on, lambda: make_mesh(base, chosen))
    system = make_system(family, mesh, chosen, torch.device("cpu"))
    own.ready()
    own.progress.stage("direct solutions")
    z = drawn(family, chosen.loss.solves, chosen.run.seed)
    u = torch.from_numpy(direct_solutions(system, family.value(z)))
    values = build(system, z, u, chosen)
    seconds = own.clock.seconds - own.setup_s
    own.begin(mesh)
    result = own.result(
        dofs=system.size,
        parameters=u.numel(),
        iterations=len(z),
        stopped_by="iterations",
        loss=0.0,
        seconds=seconds,
        optimiser=name,
        optimiser_reason="it is what makes this method",
        discretisation=system.form.name,
        mesh=mesh,
        preconditioner={"name": "none"},
        errors=dict.fromkeys(ERRORS),
        error_history=[],
        family={"count": family.count, "names": list(family.labels), "solves": len(z)},
    )
    anchors = Anchors(system, lambda form: make_preconditioner(chosen, form), chosen.loss.krylov_steps)
    anchors.choose(chosen.loss.anchors, chosen.loss.anchor_target, chosen.run.seed)  # for estimates alone
    table: Any = TableNetwork(system.discretisation(family.middle), values, family.count)
    if own.out is not None:
        write_json(own.out / "result.json", result)
    return TableSurrogate(
        table, base.unknowns, mesh, Result(result), History(), chosen.to_dict(), None, family, anchors.z, family
    )


def drawn(family: Family, count: int, seed: int) -> Tensor:
    """(count, K) scaled parameters of the family's distribution, spread evenly."""
    return family.draw(spread(count, family.count, seed).clamp(1e-9, 1 - 1e-9))


def table_method(name: str, build: Build, recipe: Solves) -> Method:
    """A method for families that builds its answer from direct solutions, and reads a recipe for it."""
    offer = partial(offer_tables, Offer(recipe, (type(recipe),)))
    return Method(name, offer, partial(solve_tables, name, build), family=True, steady=True)
