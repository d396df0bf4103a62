"""u = g + d N: a network N under a formula that makes it take given values on given walls, whatever its weights are.

Everything is numbers, so that it is stored beside the weights and loading it runs no code:
  * a wall is a polynomial of degree two, s(x), zero on the wall and positive inside the domain. s / sqrt((s^2 + width^2) / 2)
    is smooth, too, one where s = width, and levels off beyond. d is the product of these over the walls;
  * g is one Chebyshev polynomial P per part, a part being the walls on which P has the right values. With several parts g is
    their mean, weighted by the squares of the other parts' products: smooth, since parts do not touch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Part:
    """Walls (by number) on which one output of the network has the values of a polynomial."""

    component: int
    walls: Sequence[int]
    coefficients: Tensor  # (k1, ..., kd), of products of Chebyshev polynomials over the box


class Ansatz(nn.Module):
    """The formula; its buffers are all of it.

    Args:
        walls: quadratic (K, d, d), linear (K, d), constant (K,): their polynomials; width (K,): the distance at which their
            factors level off; lower, upper (d,): the box on which the parts' coefficients are meant.
        parts: each wall in at most one part of a component.
    """

    quadratic: Tensor
    linear: Tensor
    constant: Tensor
    width: Tensor
    lower: Tensor
    upper: Tensor
    members: Tensor
    component: Tensor

    def __init__(self, walls: Mapping[str, Tensor], parts: Sequence[Part]) -> None:
        super().__init__()
        count, d = walls["linear"].shape
        shapes = {"quadratic": (count, d, d), "linear": (count, d), "constant": (count,), "width": (count,)}
        for name, shape in (shapes | {"lower": (d,), "upper": (d,)}).items():
            if walls[name].shape != shape:
                raise ValueError(f"{name} of the ansatz has shape {tuple(walls[name].shape)}")
            self.register_buffer(name, walls[name])
        if not (self.width > 0).all() or not (self.upper > self.lower).all():
            raise ValueError("the ansatz has walls or a box of no width")
        members = torch.zeros(len(parts), count, dtype=torch.int64)
        for g, part in enumerate(parts):
            if part.coefficients.ndim != d or not part.walls:
                raise ValueError("a part of the ansatz does not fit its walls")
            members[g, list(part.walls)] = 1
            self.register_buffer(f"coefficients{g}", part.coefficients)
        self.register_buffer("members", members)
        self.register_buffer("component", torch.tensor([part.component for part in parts], dtype=torch.int64))
        # Python's own numbers: reading them from the device in every step would be slow, and is forbidden in a CUDA graph
        self._parts = [(part.component, tuple(part.walls)) for part in parts]
        self._curved = bool(self.quadratic.any())

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor]) -> Ansatz:
        """From the state dict of another; ValueError, KeyError or IndexError where the tensors are not one."""
        members, component = tensors["members"], tensors["component"]
        parts = [
            Part(int(c), row.nonzero()[:, 0].tolist(), tensors[f"coefficients{g}"])
            for g, (c, row) in enumerate(zip(component, members, strict=True))
        ]
        return cls(tensors, parts)

    @property
    def components(self) -> set[int]:
        """Outputs that it holds on some wall."""
        return {component for component, _ in self._parts}

    def forward(self, x: Tensor, values: Tensor) -> Tensor:
        """Points (..., d) and the bare network's values there (..., C) -> (..., C)."""
        sides = self._sides(x).unbind(-1)
        columns = list(values.unbind(-1))
        for component in self.components:
            own = [(g, _product([sides[k] for k in ks])) for g, (c, ks) in enumerate(self._parts) if c == component]
            columns[component] = self._extension(x, own) + _product([d for _, d in own]) * columns[component]
        return torch.stack(columns, dim=-1)

    def _sides(self, x: Tensor) -> Tensor:
        level = x @ self.linear.T + self.constant
        if self._curved:
            level = level + torch.einsum("...i,kij,...j->...k", x, self.quadratic, x)
        return level * torch.rsqrt(0.5 * (level**2 + self.width**2))

    def _extension(self, x: Tensor, own: Sequence[tuple[int, Tensor]]) -> Tensor:
        if len(own) == 1:
            return self._polynomial(own[0][0], x)
        weights = torch.stack([_product([other**2 for h, other in own if h != g]) for g, _ in own])
        values = torch.stack([self._polynomial(g, x) for g, _ in own])
        return (weights * values).sum(0) / weights.sum(0)

    def _polynomial(self, g: int, x: Tensor) -> Tensor:
        return polynomial(getattr(self, f"coefficients{g}"), 2 * (x - self.lower) / (self.upper - self.lower) - 1)


class Located:
    """An ansatz near fixed points (n, d), by its Taylor polynomials there: exact up to second derivatives, and cheap."""

    def __init__(self, ansatz: Ansatz, x: Tensor, outputs: int) -> None:
        self._x = x
        with torch.no_grad():
            zero, one = (torch.full((outputs,), v, dtype=x.dtype, device=x.device) for v in (0.0, 1.0))

            def g_and_d(p: Tensor) -> Tensor:
                g = ansatz(p, zero)
                return torch.stack([g, ansatz(p, one) - g])

            first = torch.func.jacrev(g_and_d)
            self._value = torch.func.vmap(g_and_d)(x)  # (n, 2, C)
            self._slope = torch.func.vmap(first)(x)  # (n, 2, C, d)
            self._bend = 0.5 * torch.func.vmap(torch.func.jacfwd(first))(x)  # (n, 2, C, d, d)

    def __call__(self, x: Tensor, values: Tensor) -> Tensor:
        """As the ansatz, for x equal to the fixed points in value (they may require gradients)."""
        step = (x - self._x)[:, None, None, :]
        slope = self._slope + (self._bend * step[..., None, :]).sum(-1)
        g, d = (self._value + (slope * step).sum(-1)).unbind(1)
        return g + d * values


def _product(factors: Sequence[Tensor]) -> Tensor:
    return reduce(torch.mul, factors)


def polynomial(coefficients: Tensor, x: Tensor) -> Tensor:
    """Sum of products of Chebyshev polynomials, coefficients (k1, ..., kd), at points (..., d) of [-1, 1]^d: (...,)."""
    first, *others = coefficients.shape
    value = _chebyshev(x[..., 0], first) @ coefficients.reshape(first, -1)
    for axis, count in enumerate(others, start=1):
        value = (_chebyshev(x[..., axis], count)[..., None] * value.unflatten(-1, (count, -1))).sum(-2)
    return value[..., 0]


def _chebyshev(s: Tensor, count: int) -> Tensor:
    """T_0 .. T_{count - 1} of s (...,): (..., count)."""
    terms = [torch.ones_like(s), s][:count]
    while len(terms) < count:
        terms.append(2 * s * terms[-1] - terms[-2])
    return torch.stack(terms, dim=-1)
