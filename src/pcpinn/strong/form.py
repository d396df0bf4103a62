"""The PDE and its conditions at points, for a network: derivatives by reverse-mode automatic differentiation, or by jets.

Reverse over reverse mode is the fastest of the ways that torch has to the second derivatives of a small network on a CPU
(forward over forward costs twice as much, `vmap` of `jacfwd` of `jacrev` half as much again). Where the points stay and the
network shows its layers, derivatives go forward with the values instead: see jetted.py.

The problem's functions are evaluated in float64 whatever the network's precision: their constants may be float64 tensors,
and their cost is small beside the network's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.func import jvp

from ..discretize.pointwise import BoundaryFlux, Pointwise
from ..network.protocol import Network
from .jetted import Jetted


def state_at(network: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Value and gradient of each output at points x (n, d) that require gradients: (n, C, 1 + d), differentiable."""
    if isinstance(network, Jetted):
        network = network.network
    u = network(x)
    gradients = [torch.autograd.grad(column.sum(), x, create_graph=True)[0] for column in u.unbind(1)]
    return torch.cat([u[:, :, None], torch.stack(gradients, dim=1)], dim=2)


def weight_state_at(network: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """The same at points that stay where they are, differentiable in the network's weights alone.

    Slopes of one output are one reverse pass, which is fewer operations than jets take; those of several are as many.
    """
    if isinstance(network, Jetted) and network.network.outputs > 1:
        return network.state(x)
    return state_at(network, x.detach().requires_grad_())


def strong_residual(pointwise: Pointwise, network: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """source - div flux of the network at points x (n, d): (n, C), differentiable in its weights.

    Over time the divergence is that in space and time, with -density as the flux through time: a `pointwise` that is strong.
    """
    if isinstance(network, Jetted):
        return network.residual(pointwise, x)
    return residual_at(pointwise, network, x.detach().requires_grad_())


def residual_at(pointwise: Pointwise, network: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """The same at points that require gradients: differentiable in them, too."""
    out = pointwise.evaluate(x.double(), state_at(network, x).double())
    residual = out[:, :, 0]
    if not pointwise.has_flux:
        return residual.to(x.dtype)
    return residual.to(x.dtype) - torch.stack([divergence(flux, x) for flux in out[:, :, 1:].unbind(1)], dim=1)


def residual_of_jets(pointwise: Pointwise, x: Tensor, u: Tensor, slopes: Tensor, second: Tensor) -> Tensor:
    """The same for one scalar field whose value (n,), slopes and second derivatives along the axes (n, d) are known: (n,).

    Nothing is known of mixed derivatives: each component of the flux may depend on the slope along its own axis alone.
    """
    state = torch.cat([u[:, None], slopes], dim=1)[:, None]
    divergence = torch.zeros_like(u)
    for j in range(x.shape[1]):
        along = torch.zeros_like(x)
        along[:, j] = 1.0
        change = torch.cat([slopes[:, j, None], second * along], dim=1)[:, None]
        out, rates = jvp(pointwise.evaluate, (x, state), (along, change))  # type: ignore[misc]
        divergence = divergence + rates[:, 0, 1 + j]
    return out[:, 0, 0] - divergence


def normal_flux(pointwise: Pointwise, network: Network, x: Tensor, n: Tensor) -> tuple[Tensor, Tensor]:
    """flux . n of the network (m, C) at points x with normals n (m, d), and the state there; both float64."""
    state, out = image_at(pointwise, network, x)
    return torch.einsum("mcd,md->mc", out[:, :, 1:], n.double()), state


def image_at(pointwise: Pointwise, network: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    """The state at points x (m, d) that stay where they are, and its source and flux: (m, C, 1 + d) each, float64."""
    if isinstance(network, Foreseen):
        return network.image(pointwise, x)
    state = weight_state_at(network, x).double()
    return state, pointwise.evaluate(x.detach().double(), state)


class Foreseen:
    """A network whose states, and their images under the PDE, are known at some points, by the tensors that hold these."""

    def __init__(self, network: Any, pointwise: Pointwise, known: dict[int, tuple[Tensor, Tensor]]) -> None:
        self._network, self._pointwise, self._known = network, pointwise, known

    def __call__(self, x: Tensor) -> Tensor:
        """The network itself."""
        values: Tensor = self._network(x)
        return values

    def image(self, pointwise: Pointwise, x: Tensor) -> tuple[Tensor, Tensor]:
        """As `image_at`."""
        if pointwise is self._pointwise and id(x) in self._known:
            return self._known[id(x)]
        return image_at(pointwise, self._network, x)


def divergence(flux: Tensor, x: Tensor) -> Tensor:
    """Total derivatives of flux (n, d), a function of x (n, d) row by row: (n,)."""
    parts = [torch.autograd.grad(flux[:, j].sum(), x, create_graph=True)[0][:, j] for j in range(x.shape[1])]
    return torch.stack(parts).sum(0)


class Term(Protocol):
    """Part of the residual of the conditions."""

    @property
    def size(self) -> int:
        """Number of residuals."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """The same by kind, point and component."""

    def residual(self, network: Network) -> Tensor:
        """(size,), scaled so that the sum of squares is the weighted mean over the points, summed over the conditions."""


@dataclass(frozen=True)
class PrescribedValues:
    """u_component(x) = target, for all Dirichlet and initial conditions and pins of a problem together."""

    x: Tensor  # (m, d)
    component: Tensor  # (m,)
    target: Tensor  # (m,)
    scale: Tensor  # (m,)

    @property
    def size(self) -> int:
        """Number of residuals."""
        return len(self.x)

    @property
    def shape(self) -> tuple[int, int, int]:
        """The same by kind, point and component."""
        return (1, len(self.x), 1)

    def residual(self, network: Network) -> Tensor:
        """Scaled mismatch."""
        u = network(self.x).gather(1, self.component[:, None])[:, 0]
        return (u - self.target) * self.scale


@dataclass(frozen=True)
class PrescribedFlux:
    """flux . n = g on one boundary, for some components."""

    pointwise: Pointwise
    prescribed: BoundaryFlux
    x: Tensor
    normals: Tensor
    components: Tensor  # a tensor, since a list would be copied to the device in every step
    weight: float

    @property
    def size(self) -> int:
        """Number of residuals."""
        return len(self.x) * len(self.components)

    @property
    def shape(self) -> tuple[int, int, int]:
        """The same by kind, point and component."""
        return (1, len(self.x), len(self.components))

    @property
    def flux_points(self) -> list[Tensor]:
        """Where it takes fluxes: always the same tensors."""
        return [self.x]

    def residual(self, network: Network) -> Tensor:
        """Scaled mismatch."""
        flux, state = normal_flux(self.pointwise, network, self.x, self.normals)
        g = self.prescribed.evaluate(self.x.double(), self.normals.double(), state)
        return _scaled((flux - g)[:, self.components], self)


@dataclass(frozen=True)
class EqualSides:
    """u(x) = u(x + shift), and the flux that leaves at one of the points enters at the other."""

    pointwise: Pointwise
    x: Tensor
    normals: Tensor
    shift: Tensor
    components: Tensor  # a tensor, since a list would be copied to the device in every step
    weight: float

    @property
    def size(self) -> int:
        """Number of residuals."""
        return 2 * len(self.x) * len(self.components)

    @property
    def shape(self) -> tuple[int, int, int]:
        """The same by kind, point and component."""
        return (2, len(self.x), len(self.components))

    @property
    def flux_points(self) -> list[Tensor]:
        """Where it takes fluxes: always the same tensors."""
        return [self.x, self.opposite]

    @cached_property
    def opposite(self) -> Tensor:
        """The points on the other side."""
        return self.x + self.shift

    def residual(self, network: Network) -> Tensor:
        """Scaled mismatches of value and flux."""
        here, state_here = normal_flux(self.pointwise, network, self.x, self.normals)
        there, state_there = normal_flux(self.pointwise, network, self.opposite, self.normals)
        mismatch = torch.stack([state_here[:, :, 0] - state_there[:, :, 0], here - there])
        return _scaled(mismatch[:, :, self.components], self)


def _scaled(mismatch: Tensor, term: PrescribedFlux | EqualSides) -> Tensor:
    return mismatch.to(term.x.dtype).reshape(-1) * (term.weight / len(term.x)) ** 0.5
