"""The reduced basis method: proper orthogonal decomposition of direct solutions, and Galerkin projection onto it.

Matrices of a query are assembled whole and then projected: nothing is supposed about how they depend on the parameters.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..family.discretise import AnySystem
from ..solve.method import FAMILY_METHODS
from ..solve.settings import Settings
from .family_recipes import ReducedBasis
from .family_tables import Values, table_method

_NEWTON = 12  # steps of a nonlinear query
_SMALL = 1e-10  # corrections relative to the coefficients at which they end
_LEAST = 1e-9  # singular values relative to the first that still count


def pod(system: AnySystem, z: Tensor, u: Tensor, settings: Settings) -> Values:
    """u = mean, with the values that are prescribed, + V c; V^T F(u) = 0."""
    mean = u.mean(0)
    size = system.sizes(u).square().mean(0).sqrt()
    scale = (system.weights.sqrt() / torch.where(size > 0, size, 1.0)[system.field_of]).clamp(min=1e-150)
    centred = (u - _lifted(system, mean, z)) * scale
    _, s, Vt = torch.linalg.svd(centred, full_matrices=False)
    count = min(settings.loss.modes, int((s > _LEAST * s[0]).sum())) if float(s[0]) > 0 else 0
    V = (Vt[:count] / scale).T
    coefficients = centred @ Vt[:count].T

    def values(at: Tensor) -> Tensor:
        return torch.stack([_query(system, V, mean, at[k : k + 1].double(), z, coefficients) for k in range(len(at))])

    return values


def _lifted(system: AnySystem, mean: Tensor, z: Tensor) -> Tensor:
    return system.satisfied(mean.expand(len(z), -1), system.family.value(z))


def _query(system: AnySystem, V: Tensor, mean: Tensor, z: Tensor, known: Tensor, coefficients: Tensor) -> Tensor:
    """(N,) for scaled parameters (1, K); Newton's method begins from the nearest solution."""
    mu, base = system.family.value(z), _lifted(system, mean, z)
    c = coefficients[int(torch.cdist(z, known).argmin())] if not system.linear else torch.zeros_like(V[0])
    for _ in range(1 if system.linear else _NEWTON):
        u = base + (V @ c)[None]
        A = system.linearise(None if system.linear else u, mu)
        r = V.T @ system.residual(u, mu)[0]
        reduced = V.T @ torch.from_numpy(A.to_scipy(0) @ V.numpy())
        step = torch.linalg.lstsq(reduced, r[:, None], driver="gelsd").solution[:, 0]
        c = c - step
        if float(step.norm()) <= _SMALL * float(c.norm()):
            break
    return base[0] + V @ c


FAMILY_METHODS.register(table_method("pod", pod, ReducedBasis()))
