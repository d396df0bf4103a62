"""The derivative of a PDE in strong form, at points: F'(u) v as coefficients times value, gradient and second derivatives of v.

This is the limit of (F(u + epsilon v) - F(u)) / epsilon for epsilon to 0, taken exactly by automatic differentiation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import jacfwd, jacrev, vmap

from ..discretize.guarded import guard
from ..discretize.pointwise import BoundaryFlux, Pointwise

PointFunction = Callable[[Tensor], Tensor]  # (d,) -> (C,)


@dataclass(frozen=True)
class Jets:
    """Value (n, ..., ), gradient (n, ..., d) and second derivatives (n, ..., d, d) of functions at points."""

    value: Tensor
    gradient: Tensor
    second: Tensor

    @property
    def state(self) -> Tensor:
        """(n, ..., 1 + d)."""
        return torch.cat([self.value[..., None], self.gradient], dim=-1)


def jets_of(function: PointFunction, x: Tensor) -> Jets:
    """Of a function of one point, at points x (n, d)."""
    return Jets(vmap(function)(x), vmap(jacrev(function))(x), vmap(jacfwd(jacrev(function)))(x))


def many_jets_of(function: PointFunction, x: Tensor) -> Jets:
    """The same where values are many more than coordinates."""
    slopes = jacfwd(function)
    return Jets(vmap(function)(x), vmap(slopes)(x), vmap(jacfwd(slopes))(x))


def first_jets_of(function: PointFunction, x: Tensor) -> Tensor:
    """Value and gradient of a function of one point: (n, ..., 1 + d)."""
    return torch.cat([vmap(function)(x)[..., None], vmap(jacfwd(function))(x)], dim=-1)


@dataclass(frozen=True)
class LinearOperator:
    """F'(u) v at n points = by_state . (v, grad v) + by_second . (second derivatives of v).

    Attributes:
        by_state: (n, C, C, 1 + d).
        by_second: (n, C, C, d, d).
    """

    by_state: Tensor
    by_second: Tensor

    def apply(self, jets: Jets) -> Tensor:
        """(n, C) for jets of one function of C components; (n, C, K) for K of them, each of one component: (n, C, K, ...)."""
        if jets.value.ndim == 2:
            return torch.einsum("nabm,nbm->na", self.by_state, jets.state) + torch.einsum(
                "nabij,nbij->na", self.by_second, jets.second
            )
        return torch.einsum("nabm,nbkm->nabk", self.by_state, jets.state) + torch.einsum(
            "nabij,nbkij->nabk", self.by_second, jets.second
        )


def linearise(pointwise: Pointwise, base: PointFunction, x: Tensor) -> LinearOperator:
    """The derivative of source - div flux at a function, at points x (n, d); over time of a `pointwise` that is strong."""

    def jacobian(p: Tensor) -> Tensor:  # (C, 1 + d, C, 1 + d), along the function
        state = torch.cat([base(p)[:, None], jacrev(base)(p)], dim=1)
        return jacfwd(pointwise.at_point, argnums=1)(p, state)

    J = guard(vmap(jacobian), x)
    by_state = J[:, :, 0].clone()
    if not pointwise.has_flux:
        d = x.shape[1]
        return LinearOperator(by_state, x.new_zeros(*J.shape[:2], J.shape[3], d, d))
    slopes = guard(vmap(jacfwd(jacobian)), x)[:, :, 1:]  # (n, C, d, C, 1 + d, d)
    by_state -= torch.einsum("najbmj->nabm", slopes)
    flux = J[:, :, 1:]  # (n, C, j, C, 1 + d): d_j of (v, d_i v) is (d_j v, d_ij v)
    by_state[..., 1:] -= torch.einsum("najb->nabj", flux[..., 0])
    return LinearOperator(by_state, -torch.einsum("najbi->nabij", flux[..., 1:]))


def linearise_flux(pointwise: Pointwise, base: PointFunction, x: Tensor, normals: Tensor) -> Tensor:
    """The derivative of flux . n at a function, at points of the boundary: (m, C, C, 1 + d)."""

    def jacobian(p: Tensor, n: Tensor) -> Tensor:
        state = torch.cat([base(p)[:, None], jacrev(base)(p)], dim=1)
        J = jacfwd(pointwise.at_point, argnums=1)(p, state)[:, 1:]
        return torch.einsum("ajbm,j->abm", J, n)

    return guard(vmap(jacobian), x, normals)


def linearise_condition(condition: BoundaryFlux, base: PointFunction, x: Tensor, normals: Tensor) -> Tensor:
    """The derivative of the prescribed flux g(x, n, u) at a function: (m, C, C, 1 + d)."""
    state = first_jets_of(base, x)
    return condition.jacobian(x, normals, state)
