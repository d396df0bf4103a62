"""Strong-form training of a family, as physics-informed operators have it: the PDE at random points of random parameters.

Prescribed values are penalties at the nodes of the mesh, natural conditions at random points of the boundary.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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

    def adapt(self, iteration: int) -> int:
        """Draw parameters and points."""
        z = self.sampling.draw()
        self._z, self._mu = z.to(self.theta), self.family.value(z).to(self.theta)
        self._inside = self._some(len(self._x), self.points)
        self._at_walls = [self._some(len(x), max(1, self.points // 4)) for _, x, _, _ in self._walls]
        self.layout += 1
        return 1

    def _some(self, among: int, count: int) -> Tensor:
        """(S, count) numbers of points, others for each sample."""
        return torch.randint(among, (self.sampling.count, count), generator=self._order).to(self.theta.device)

    def settle(self, iteration: int) -> None:
        """Nothing: this method does not know its errors."""

    def loss(self) -> Tensor:
        """A scalar, differentiable in theta."""
        x = self._x[self._inside]
        state, out, x = self._evaluated(x)
        residual = out[:, :, 0]
        if self.pointwise.has_flux:
            residual = residual - torch.stack([divergence(f, x) for f in out[:, :, 1:].unbind(1)], dim=1)
        total = 0.5 * (residual**2).sum() / len(x) + 0.5 * self.weight * self._misses()
        for (flux, places, normals, components), some in zip(self._walls, self._at_walls, strict=True):
            state, out, x = self._evaluated(places[some])
            n = normals[some].flatten(0, 1)
            given = flux.evaluate(self._extended(self._mu, x), n, state)
            off = (torch.einsum("mcd,md->mc", out[:, :, 1:], n) - given)[:, components]
            total = total + 0.5 * self.weight * (off**2).sum() / len(x)
        return total

    def value(self) -> float:
        """The loss."""
        return float(self.loss().detach())

    def _evaluated(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """State and pointwise functions at places (S, n, d), as (S n, C, 1 + d), and the places (S n, d) in one list."""
        x = x.flatten(0, 1).detach().requires_grad_()
        state = state_at(lambda p: self.network(self._extended(self._z, p)), x)
        return state, self.pointwise.evaluate(self._extended(self._mu, x), state), x

    def _extended(self, rows: Tensor, x: Tensor) -> Tensor:
        return torch.cat([rows.repeat_interleave(len(x) // len(rows), 0), x], dim=1)

    def _misses(self) -> Tensor:
        """Mean squared distance from prescribed values, at nodes."""
        system: Any = self.system
        if not len(system.constrained):
            return torch.zeros_like(self.theta[0])
        nodal, c = self.nodal, system.constrained
        points, component = nodal.points[nodal.point_of[c]], nodal.component_of[c]
        rows = self._extended(self._z, points.repeat(len(self._z), 1))
        u = self.network(rows).unflatten(0, (len(self._z), -1))
        here = u.gather(2, component.expand(len(u), -1)[:, :, None])[:, :, 0]
        with torch.no_grad():
            whole = here.new_zeros(len(here), system.size)
            target = system.satisfied(whole, self._mu)[:, c]
        return ((here - target) ** 2).mean() * float(component.max() + 1)

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


FAMILY_METHODS.register(Method("pino", offer_pino, solve_pino, family=True))
