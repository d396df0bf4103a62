"""Functions of the place that span the answers of a family: proper orthogonal decomposition of answers at some parameters."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..network.activations import ACTIVATIONS
from ..network.trunk_solve import Reduced
from .sizes import Sizes, factors
from .superposition import Superposition
from .system import System

LEAST = 0.05  # of a field's usual size: where it is smaller, relative errors do not count in full


@dataclass(frozen=True)
class Units:
    """Hidden units of one layer: activation(weight x + bias) of what they see of places: scaled coordinates, features.

    Attributes:
        activation: its name.
        weight, bias: (w, inputs), (w,).
        left: relative error with which they fit what they were chosen for.
    """

    activation: str
    weight: Tensor
    bias: Tensor
    left: float = float("inf")

    def at(self, x: Tensor) -> Tensor:
        """(n, w) for (n, inputs)."""
        return ACTIVATIONS[self.activation].value(nn.functional.linear(x, self.weight, self.bias))


@dataclass(frozen=True)
class Span:
    """u ~ y V, field by field: each function is of one field, and coordinates y are in units of that field's usual size.

    Attributes:
        V: (r, N) functions at the nodes.
        D: (N, r) from values to coordinates: the orthogonal projection.
        sizes: (r,) root mean square of the coordinates of answers that have all the same size.
        field_of: (r,) which field each function is of.
        usual: (F,) root mean square size of the fields.
        left: mean relative error of the projection, at parameters that it was not made of.
        z, u: (S, K), (S, N) the answers that it was made of.
        reduced: the equations in it, where a branch is to solve these.
        units: that a trunk begins with.
        scale: the logarithm of sizes that coordinates are divided by, where answers vary over powers of ten.
    """

    V: Tensor
    D: Tensor
    sizes: Tensor
    field_of: Tensor
    usual: Tensor
    left: float
    z: Tensor
    u: Tensor
    reduced: Reduced | None = None
    units: Units | None = None
    scale: Sizes | None = None

    @property
    def count(self) -> int:
        """Number r of functions."""
        return len(self.V)

    @property
    def answers(self) -> Superposition:
        """The functions, as large as they are in answers, as what a trunk is to fit."""
        v = self.sizes[:, None] * self.V
        nothing = torch.zeros(self.count, dtype=torch.float64)
        return Superposition(nothing, torch.ones_like(nothing), torch.cat([torch.zeros_like(v[:1]), v]))

    def coordinates(self, z: Tensor, u: Tensor) -> Tensor:
        """(S, r) of answers (S, N) at scaled parameters (S, K)."""
        return u @ self.D / factors(self.scale, z.to(u), len(self.usual))[:, self.field_of]

    def weights(self, system: System, z: Tensor, u: Tensor) -> Tensor:
        """(S, F) what relative errors are to errors of coordinates, for answers (S, N) at scaled parameters (S, K)."""
        size = system.sizes(u) / (self.usual * factors(self.scale, z.to(u), len(self.usual)))
        return 1 / size.clamp(min=LEAST)


def span_of(system: System, z: Tensor, u: Tensor, left: float, most: int) -> Span:
    """As few functions as leave the part `left` of answers u (S, N), at most `most` for each field.

    One answer in eight is kept apart, to tell what is left of those that nothing was made of.
    """
    usual = system.sizes(u).square().mean(0).sqrt()
    usual = torch.where(usual > 0, usual, 1.0)
    size = torch.maximum(system.sizes(u), LEAST * usual)
    root = system.weights.clamp(min=0).sqrt()
    made = torch.arange(len(u), device=u.device) % 8 != 7
    V, D, sizes, fields = [], [], [], []
    for k in range(len(usual)):
        own = system.field_of == k
        alike = u[made] * own / size[made, k : k + 1]
        U, s, _ = torch.linalg.svd(alike * root, full_matrices=False)
        rest = (s**2).flip(0).cumsum(0).flip(0)
        count = max(1, min(int((rest > left**2 * rest[0]).sum()), most))
        modes = (U[:, :count] / s[:count].clamp(min=1e-150)).T @ alike  # at nodes of weight zero, too
        V.append(modes * usual[k])
        D.append((modes * system.weights / usual[k]).T)
        sizes.append(s[:count] / float(made.sum()) ** 0.5)
        fields.append(torch.full((count,), k, device=u.device))
    functions, dual = torch.cat(V), torch.cat(D, 1)
    apart = u[~made]
    missed = float(system.relative(apart @ dual @ functions - apart, apart).mean()) if len(apart) else 0.0
    return Span(functions, dual, torch.cat(sizes), torch.cat(fields), usual, missed, z, u)
