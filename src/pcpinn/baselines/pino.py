"""Strong-form training of a family, as physics-informed operators have it: the PDE at random points of random parameters.

Prescribed values are penalties at the nodes of the mesh, natural conditions at random points of the boundary.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from ..discretize.pointwise import BoundaryFlux, Pointwise
from ..errors import PcpinnError
from ..family.anchors import Anchors
from ..family.family import Family
from ..family.loss import FamilyLoss
from ..family.run import FamilyRun
from ..family.sampling import Sampling
from ..family.surrogate import Surrogate
from ..family.system import System
from ..mesh.points import boundary_points, interior_points, spacing_of
from ..mesh.slab_mesh import AnyMesh
from ..network.protocol import Network
from ..problem.conditions import Dirichlet, Free, Periodic
from ..solve.method import FAMILY_METHODS, Method
from ..solve.settings import Settings, problem_is_over_time
from ..strong.form import divergence, state_at
from .family_recipes import offer_pino
from .regression import by_run

_KEPT = 8192  # points of which each step takes some


class StrongFamilyLoss(FamilyLoss):
    """0.5 (mean squared residual of the PDE + boundary_weight * that of prescribed values and of each natural condition).

    Args:
        network, system, anchors, sampling: as of the loss of a family; the system knows prescribed values.
        mesh: where points come from.
        settings: collocation, boundary_weight, seed.
    """

    def __init__(
        self,
        network: Network,
        system: System,
        anchors: Anchors,
        sampling: Sampling,
        mesh: AnyMesh,
        settings: Settings,
    ) -> None:
        super().__init__(network, system, anchors, sampling)
        self.weight, self.points = settings.loss.boundary_weight, settings.loss.collocation
        family, like = sampling.parameters, network.theta.detach()
        assert isinstance(family, Family)
        self.family, problem = family, family.extended
        self.pointwise = Pointwise(problem, strong=True)
        random = np.random.default_rng(settings.run.seed)
        self._x = torch.as_tensor(interior_points(mesh, _KEPT, random)).to(like)
        self._walls = []
        for name in mesh.boundary_names:
            components = _natural(family, name)
            if components:
                at = boundary_points(mesh, name, spacing_of(mesh, _KEPT), random)
                x, n = (torch.as_tensor(a).to(like) for a in (at.x, at.normals))
                self._walls.append((BoundaryFlux(problem, name), x, n, components))
        self._order = torch.Generator().manual_seed(settings.run.seed)
        self._drawn: dict[str, Tensor] = {}
        self._equations = cast(Any, system)
        c = self._equations.constrained
        self._held, self._held_component = self.nodal.points[self.nodal.point_of[c]], self.nodal.component_of[c]
        self._held_count = float(len(torch.unique(self._held_component)))

    def adapt(self, iteration: int) -> int:
        """Draw parameters and points, into the same tensors: a step that was captured on a GPU stays valid."""
        z = self.sampling.draw().to(self.theta)
        mu, system = self.family.value(z), self._equations
        drawn = {"z": z, "mu": mu, "inside": self._some(len(self._x), self.points)}
        for k, (_, x, _, _) in enumerate(self._walls):
            drawn[f"wall{k}"] = self._some(len(x), max(1, self.points // 4))
        zeros = torch.zeros(len(z), system.size, dtype=torch.float64, device=z.device)
        drawn["target"] = system.satisfied(zeros, mu)[:, system.constrained]
        for name, values in drawn.items():
            if name in self._drawn:
                self._drawn[name].copy_(values)
            else:
                self._drawn[name] = values
        return 1

    def _some(self, among: int, count: int) -> Tensor:
        """(S, count) numbers of points, others for each sample."""
        return torch.randint(among, (self.sampling.count, count), generator=self._order).to(self.theta.device)

    def settle(self, iteration: int) -> None:
        """Nothing: this method does not know its errors."""

    def loss(self) -> Tensor:
        """A scalar, differentiable in theta."""
        x = self._x[self._drawn["inside"]]
        state, out, x = self._evaluated(x)
        residual = out[:, :, 0]
        if self.pointwise.has_flux:
            residual = residual - torch.stack([divergence(f, x) for f in out[:, :, 1:].unbind(1)], dim=1)
        total = 0.5 * (residual**2).sum() / len(x) + 0.5 * self.weight * self._misses()
        for k, (flux, places, normals, components) in enumerate(self._walls):
            some = self._drawn[f"wall{k}"]
            state, out, x = self._evaluated(places[some])
            n = normals[some].flatten(0, 1)
            given = flux.evaluate(self._extended(self._drawn["mu"], x), n, state)
            off = (torch.einsum("mcd,md->mc", out[:, :, 1:], n) - given)[:, components]
            total = total + 0.5 * self.weight * (off**2).sum() / len(x)
        return total

    def value(self) -> float:
        """The loss."""
        return float(self.loss().detach())

    def _evaluated(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """State and pointwise functions at places (S, n, d), as (S n, C, 1 + d), and the places (S n, d) in one list."""
        x = x.flatten(0, 1).detach().requires_grad_()
        state = state_at(lambda p: self.network(self._extended(self._drawn["z"], p)), x)
        return state, self.pointwise.evaluate(self._extended(self._drawn["mu"], x), state), x

    def _extended(self, rows: Tensor, x: Tensor) -> Tensor:
        return torch.cat([rows.repeat_interleave(len(x) // len(rows), 0), x], dim=1)

    def _misses(self) -> Tensor:
        """Mean squared distance from prescribed values, at nodes, added up over components."""
        z, target = self._drawn["z"], self._drawn["target"]
        if not target.shape[1]:
            return torch.zeros_like(self.theta[0])
        u = self.network(self._extended(z, self._held.repeat(len(z), 1))).unflatten(0, (len(z), -1))
        here = u.gather(2, self._held_component.expand(len(z), -1)[:, :, None])[:, :, 0]
        return ((here - target) ** 2).mean() * self._held_count

    def state(self) -> dict[str, Tensor]:
        """With the order of points."""
        return {**super().state(), "order": self._order.get_state()}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Inverse of `state`."""
        super().restore(state)
        self._order.set_state(state["order"].cpu())


def _natural(family: Family, boundary: str) -> list[int]:
    """Components with natural conditions on a boundary."""
    result: list[int] = []
    at = 0
    for f in family.base.unknowns:
        condition = family.base.conditions.get(boundary, {}).get(f.name)
        if isinstance(condition, Periodic):
            raise PcpinnError("method pino does not take periodic conditions", "use method family")
        if not isinstance(condition, Dirichlet | Free):
            result += range(at, at + f.components)
        at += f.components
    return result


class StrongFamilyRun(FamilyRun):
    """A run of a family on its strong form."""

    def make_loss(self) -> FamilyLoss:
        """The loss on points."""
        sampling = Sampling(self.family, self.settings.loss.samples, 0.0, self.settings.run.seed)
        return StrongFamilyLoss(self.network, self.system, self.anchors, sampling, self.mesh, self.settings)


def solve_pino(family: Family, settings: Settings | Mapping[str, Any] | None = None, **options: Any) -> Surrogate:
    """A network for all problems of a family by its strong form; arguments as of `pcpinn.solve`.

    Raises:
        PcpinnError: for a family over time, or with periodic conditions.
    """
    if problem_is_over_time(family.base):
        raise PcpinnError("method pino is for steady families", "use method family")
    return by_run(StrongFamilyRun, "pino", family, settings, options)


FAMILY_METHODS.register(Method("pino", offer_pino, solve_pino, family=True, steady=True))
