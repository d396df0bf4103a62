"""The error of a query without solving it: preconditioned residuals on the trained and on a finer discretisation.

As for a single problem (solve/certify.py), with P of the anchors and a few Krylov steps in the place of a P of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..discretize.finite_elements import FiniteElements
from ..discretize.slabs import TimeSlabs
from ..discretize.transfer import prolongation
from ..mesh.slab_mesh import AnyMesh
from ..network.protocol import Network
from ..precondition.torch_sparse import csr_tensor
from ..solve.build import make_preconditioner
from ..solve.settings import Settings
from .anchors import Anchors
from .assembly import Assembly
from .discretise import AnySystem, assembled_once, make_finer, make_system
from .family import Family
from .loss import corrected
from .nodal import NodalNetwork
from .superposition import superposition

_BETWEEN = 2.0  # of what is left at nodes: an error that is more is one between them
_ENOUGH = 3e-3  # of a correction, whose size is all that is asked for
_ENOUGH_OF_REST = 0.03  # of what the finer discretisation corrects after the other one
_BATCH_ENTRIES = 4_000_000  # degrees of freedom of all samples of a batch


@dataclass(frozen=True)
class QueryError:
    """Estimated relative L2 errors of a query, the largest over the fields, or arrays for several; it counts as its total.

    Attributes:
        total: against the exact solution, as far as the finer discretisation sees it.
        training: of the network against the discrete solution.
        discretisation: of the discrete solution.
        how: the finer discretisation in words.
    """

    total: Any
    training: Any
    discretisation: Any
    how: str

    def __float__(self) -> float:
        return float(self.total)

    def __str__(self) -> str:
        parts = (f"{k} {np.max(getattr(self, k)):.1e}" for k in ("total", "training", "discretisation"))
        return ", ".join(parts) + f" ({self.how})"


def wrong_between_nodes(total: float, training: float, discretisation: float) -> bool:
    """Whether a network is right at nodes and wrong between them, where its units are steeper than cells."""
    return total > _BETWEEN * (training + discretisation)


class Estimator:
    """Estimates for one network of a family.

    Args:
        family, mesh, settings: what was trained.
        network: u_theta on (z, x).
        anchors: (a, K) scaled parameters with a P of their own.
        system, P: the trained discretisation and its anchors, if they are there already.
    """

    def __init__(
        self,
        family: Family,
        mesh: AnyMesh,
        settings: Settings,
        network: Network,
        anchors: Tensor,
        system: AnySystem | None = None,
        P: Anchors | None = None,
    ) -> None:
        self.family, self.mesh, self.settings, self.network, self.z = family, mesh, settings, network, anchors
        self._given = system, P

    @property
    def how(self) -> str:
        """The finer discretisation in words."""
        return self._fine[2]

    def forget(self, anchors: Tensor) -> None:
        """P of a nonlinear family is to be built again, at the anchors and the network's values of now."""
        self.z = anchors
        for name in ("_coarse", "_fine", "_fine_nodal", "_prolongation"):
            self.__dict__.pop(name, None)

    def errors(self, z: Tensor) -> dict[str, Tensor]:
        """total, training and discretisation (S,) for scaled parameters (S, K)."""
        fine = self._fine[0]
        step = max(1, _BATCH_ENTRIES // fine.size)
        parts = [self._errors(z[k : k + step]) for k in range(0, len(z), step)]
        return {key: torch.cat([p[key] for p in parts]).cpu() for key in parts[0]}

    def query(self, z: Tensor) -> QueryError:
        """For scaled parameters (K,), or rows of them."""
        found = self.errors(z.reshape(-1, self.family.count).detach().cpu())
        values = (found[k].numpy() for k in ("total", "training", "discretisation"))
        total, training, rest = (float(v[0]) if z.ndim == 1 else v for v in values)
        return QueryError(total, training, rest, self.how)

    def corrected(self, z: Tensor, rounds: int) -> tuple[FiniteElements | TimeSlabs, Tensor, dict[str, float]]:
        """Values (N,) at the nodes of the trained discretisation for scaled parameters (K,), corrected `rounds` times.

        A round is the Krylov steps with the shared P, of a nonlinear family for a step of Newton's method. One more tells what is
        left to correct, the training error; one on the finer discretisation, from there, the total error.
        """
        (coarse, P, nodal), (fine, Q, _), one = self._coarse, self._fine, z[None]
        v = nodal.values(one)
        for _ in range(rounds):
            v = corrected(coarse, P, v, one).target
        here = corrected(coarse, P, v, one, damped=False)
        there = corrected(fine, Q, self._raised(v), one, damped=False)
        apart = fine.relative(self._raised(here.whole) - there.whole, there.whole)
        found = {"training": here.errors, "discretisation": apart, "estimate": there.errors}
        errors = {key: float(e[0]) for key, e in found.items()}
        return coarse.discretisation(self.family.value(z)), v[0], errors

    def _errors(self, z: Tensor) -> dict[str, Tensor]:
        (coarse, P, nodal), (fine, Q, _) = self._coarse, self._fine
        here = corrected(coarse, P, nodal.values(z), z, damped=False, enough=_ENOUGH)
        w, raised = self._fine_nodal.values(z), self._raised(here.whole)
        start = torch.where(torch.isfinite(raised).all(1, keepdim=True), raised, w)
        there = corrected(fine, Q, start, z, damped=False, enough=_ENOUGH_OF_REST).whole
        return {
            "total": fine.relative(w - there, there),
            "training": here.errors,
            "discretisation": fine.relative(raised - there, there),
        }

    @cached_property
    def _coarse(self) -> tuple[AnySystem, Anchors, NodalNetwork]:
        device = self.network.theta.device
        system, P = self._given
        system = assembled_once(system or make_system(self.family, self.mesh, self.settings, device), self.settings)
        P = P or self._anchors(system)
        return system, P, NodalNetwork(self.network, system.nodes)

    @cached_property
    def _fine(self) -> tuple[AnySystem, Anchors, str]:
        system, how = make_finer(self.family, self.mesh, self.settings, self.network.theta.device)
        P = self._anchors(assembled_once(system, self.settings))
        return system, P, how

    @cached_property
    def _fine_nodal(self) -> NodalNetwork:
        return NodalNetwork(self.network, self._fine[0].nodes)

    def _anchors(self, system: AnySystem) -> Anchors:
        """P at the same anchors; of a nonlinear family at the network's own values."""
        P = Anchors(system, lambda form: make_preconditioner(self.settings, form), self.settings.loss.krylov_steps)
        u = None if system.linear else NodalNetwork(self.network, system.nodes).values(self.z)
        P.build(self.z, u)
        P.find_symmetry()
        if system.one_matrix:
            P.answers = superposition(system, P).at
        return P

    def _raised(self, u: Tensor) -> Tensor:
        """Values of the trained discretisation (S, N) at the nodes of the finer one."""
        coarse, fine = self._coarse[0], self._fine[0]
        if isinstance(coarse, Assembly):
            return (self._prolongation @ u.T).T
        scheme, layers = coarse.form.scheme, fine.form.scheme.layers  # type: ignore[union-attr]
        table = u.unflatten(1, (-1, coarse.form.layer_size))
        in_time = torch.from_numpy(scheme.interpolation(layers).toarray()).to(u)
        at = torch.einsum("kl,sln->skn", in_time, table)
        return torch.stack([(self._prolongation @ level.T).T for level in at]).flatten(1)

    @cached_property
    def _prolongation(self) -> Tensor:
        coarse, fine = self._coarse[0], self._fine[0]
        matrix = prolongation(coarse.form.space, fine.form.space)
        return csr_tensor(matrix, torch.float64, self.network.theta.device)
