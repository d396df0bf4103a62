"""P at a few parameters, the anchors, serves all others: Krylov steps with the P of the nearest anchor solve their systems.

Anchors are chosen by measured quality: the first is the middle of all ranges, each next one is where the Krylov steps with those
before leave most.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..discretize.discretisation import Discretisation
from ..errors import PcpinnError
from ..precondition import LU, AutoILU
from ..precondition.maps import HostSolver
from ..precondition.protocol import LinearMap
from .alike import matrix_is_the_same
from .krylov import Products, conjugate_gradients, gmres
from .system import System

Values = Callable[[Tensor], Tensor]
_CANDIDATES = 32
_PATIENCE = 3  # anchors without a gain after which no more are tried
_MORE = 2  # steps with which a solution is compared, in multiples of those taken


@dataclass
class Anchors:
    """Preconditioners at anchors, and the steps taken with them.

    Args:
        system: of all parameters.
        make: discretisation at some parameters -> preconditioner.
        steps: Krylov steps.

    Attributes:
        z: (a, K) scaled parameters of the anchors.
        quality: what the steps leave of a solution, the largest over the candidates; one number after each anchor.
        symmetric: conjugate gradients are taken, not GMRES.
        answers: scaled parameters (S, K) -> solutions (S, N), where these are sums of a few that were solved for.
    """

    system: System
    make: Callable[[Discretisation], Any]
    steps: int
    z: Tensor = field(default_factory=lambda: torch.empty(0))
    quality: list[float] = field(default_factory=list)
    symmetric: bool = False
    answers: Values | None = None
    _solvers: list[LinearMap] = field(default_factory=list)
    _name: str = ""

    def build(self, z: Tensor, u: Tensor | None = None) -> None:
        """P at anchors z (a, K), linearised at values u (a, N), or at zero."""
        self.z, self._solvers = z, []
        for k in range(len(z)):
            self._add(z[k], None if u is None else u[k])

    def choose(self, most: int, target: float, seed: int, values: Values | None = None) -> None:
        """Add anchors until the Krylov steps leave at most `target` of the solution at all candidates, or there are `most`.

        Args:
            most, target: when to stop.
            seed: of the candidates.
            values: z (S, K) -> (S, N) that a nonlinear family is linearised at; zero if not given.
        """
        parameters, system = self.system.family, self.system
        self.quality = []
        count = _CANDIDATES if not system.one_matrix else 2  # of one matrix, one right side tells as much as all
        uniform = spread(count, parameters.count, seed)
        corners = 2.0 * (uniform[: count // 2] > 0.5).double() - 1  # ends of ranges, where P from afar is worst
        candidates = torch.cat([parameters.draw(uniform.clamp(1e-9, 1 - 1e-9)), corners])
        mu = parameters.value(candidates)
        middle = torch.zeros(1, parameters.count, dtype=torch.float64)
        if values is None:
            A, right = system.linearise(None, mu), system.right_side(mu)
            self.build(middle)
        else:
            u = values(candidates)
            A, right = system.linearise(u, mu), system.residual(u, mu)
            self.build(middle, values(middle))
        self.symmetric = self._may_be_symmetric and A.symmetric
        while True:
            left = self._left(A, right, candidates)
            self.quality.append(float(left.max()))
            if self.quality[-1] <= target or len(self.z) >= most or self._gains_nothing:
                return
            worst = candidates[int(left.argmax())]
            if bool((self.z == worst).all(1).any()):
                return  # P of this very matrix is no better
            self.z = torch.cat([self.z, worst[None]])
            self._add(worst, None if values is None else values(worst[None])[0])

    @property
    def _gains_nothing(self) -> bool:
        """Whether the last anchors have hardly changed what is left: then it is at as many corners as there are."""
        return len(self.quality) > _PATIENCE and self.quality[-1] > 0.9 * self.quality[-1 - _PATIENCE]

    def find_symmetry(self) -> None:
        """Decide on conjugate gradients or GMRES at the anchors themselves."""
        mu = self.system.family.value(self.z)
        A, right = self.system.linearise(None, mu), self.system.right_side(mu)
        self.symmetric = self._may_be_symmetric and A.symmetric
        if self.symmetric:
            self.symmetric = not bool(conjugate_gradients(A, self._nearest(self.z), right, self.steps)[1].any())

    def inverse(self, A: Products, r: Tensor, z: Tensor, steps: int | None = None, enough: float = 0.0) -> Tensor:
        """x (S, N) ~ A_s^-1 r_s for systems at scaled parameters z (S, K); GMRES may end where so much is left, relative."""
        count = steps or self.steps
        apply = self._nearest(z)
        if self.exact:
            return apply(r)
        if self.symmetric:
            return conjugate_gradients(A, apply, r, count)[0]
        return gmres(A, apply, r, count, self.system.weights, enough)

    @property
    def exact(self) -> bool:
        """Whether P is the matrix of all parameters."""
        return self._name == LU.name and self._of_one_matrix

    @cached_property
    def _of_one_matrix(self) -> bool:
        return self.system.one_matrix or (self.system.linear and matrix_is_the_same(self.system))

    def solved(self, r: Tensor, z: Tensor) -> Tensor:
        """P^-1 r (S, N) for right sides at scaled parameters z (S, K)."""
        return self._nearest(z)(r)

    def describe(self) -> dict[str, Any]:
        """For the report."""
        return {
            "name": self._name,
            "anchors": len(self.z),
            "krylov": "conjugate gradients" if self.symmetric else "gmres",
            "krylov_steps": self.steps,
            "left_by_krylov": [float(f"{q:.3g}") if np.isfinite(q) else None for q in self.quality],
        }

    def _left(self, A: Products, right: Tensor, z: Tensor) -> Tensor:
        """(S,) what the steps leave of a solution, as more steps tell it; infinite where they do not converge."""
        if self.symmetric:
            _, bad = conjugate_gradients(A, self._nearest(z), right, self.steps)
            self.symmetric = not bool(bad.any())
        found = self.inverse(A, right, z)
        better = self.inverse(A, right, z, (1 + _MORE) * self.steps)
        norm = self.system.norm
        left = norm(found - better) / norm(better).clamp(min=1e-300)
        return torch.where(torch.isfinite(left), left, torch.inf)

    def _nearest(self, z: Tensor) -> Callable[[Tensor], Tensor]:
        which = torch.cdist(z.cpu(), self.z.cpu()).argmin(1)
        groups = [(k, (which == k).nonzero()[:, 0]) for k in range(len(self.z))]
        groups = [(k, at.to(self.system.device)) for k, at in groups if len(at)]

        def apply(r: Tensor) -> Tensor:
            if len(groups) == 1:  # as in every single query
                return self._solvers[groups[0][0]].apply(r.T.contiguous()).T.to(r)
            out = torch.empty_like(r)
            for k, at in groups:
                out[at] = self._solvers[k].apply(r[at].T.contiguous()).T.to(r)
            return out

        return apply

    @property
    def _may_be_symmetric(self) -> bool:
        """Incomplete factors are not symmetric, and a nonlinear family may be so at zero alone."""
        return self._name == LU.name and self.system.linear

    def _add(self, z: Tensor, u: Tensor | None) -> None:
        mu = self.system.family.value(z)
        form = self.system.discretisation(mu)
        A = self.system.linearise(None if u is None else u[None], mu[None]).to_scipy(0)
        recipe = self.make(form)
        try:
            if isinstance(recipe, AutoILU):
                components = np.asarray(form.unknown_components)
                chosen = recipe.choose(A, form.unknown_nodes, form.weights, components)
                recipe, state = chosen.preconditioner, chosen.state
            else:
                state = recipe.build(A)
        except PcpinnError as error:
            where = ", ".join(f"{n}={v:g}" for n, v in zip(self.system.family.labels[:8], mu.tolist(), strict=False))
            raise PcpinnError(f"at {where}: {error.problem}", error.remedy) from error
        device, solver = self.system.device, None
        often = device.type == "cuda" and not self.system.one_matrix  # that one matrix is solved with a few times
        if often or recipe.prefers_torch:
            solver = recipe.on_device(state, torch.float64, device, 64)
        self._solvers.append(solver or HostSolver(recipe, state))
        self._name = recipe.name


def spread(count: int, K: int, seed: int) -> Tensor:
    """(count, K) numbers in (0, 1), spread evenly where there are sequences of so many dimensions."""
    if K <= torch.quasirandom.SobolEngine.MAXDIM:
        return torch.quasirandom.SobolEngine(K, scramble=True, seed=seed).draw(count, dtype=torch.float64)
    return torch.rand(count, K, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
