"""A march as one formula: each point gathers the weights of its own windows, and nothing branches on numbers.

`MarchedNetwork` sorts points by step instead, which is faster and needs less memory; programs that record a network as a graph of
operations (torch.export, ONNX) cannot follow that.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from ..discretize.step_scheme import StepScheme
from ..errors import PcpinnError
from .dense import DenseNetwork


class Steps(Protocol):
    """What is read of the plan of a march."""

    @property
    def steps(self) -> StepScheme:
        """The scheme of a step."""

    @property
    def layers(self) -> int:
        """New time levels per window."""

    @property
    def components(self) -> int:
        """Number of scalar components."""


def gather_march(
    base: DenseNetwork, plan: Steps, times: Tensor, weights: tuple[Tensor, Tensor, Tensor], shown: int, x: Tensor
) -> Tensor:
    """(n, shown) values of a march at points (n, d + 1), time last.

    Args:
        base: the network of space of all windows; its own weights are not used.
        plan: the steps.
        times: (S + 1,) ends of all steps.
        weights: trunks (k, q), heads (windows + 1, h), and for each window the number of its trunk (windows + 1,).
        shown: number of components of the answer, the first ones.
        x: the points.
    """
    if base.ansatz is not None:
        raise PcpinnError("a march under an ansatz cannot be recorded", "solve it without hard conditions")
    scheme, t, place = plan.steps, x[:, -1], x[:, :-1]
    step = (times[1:-1] < t.detach().to(times)[:, None]).sum(-1)
    start, end = times[step].to(t), times[step + 1].to(t)
    inside = (t - start) / (end - start)
    levels = np.concatenate([scheme.past, scheme.nodes])
    share = _lagrange(levels, inside)
    if scheme.starter is not scheme:
        first = _lagrange(np.concatenate([scheme.starter.past, scheme.starter.nodes]), inside)
        first = [torch.zeros_like(inside)] * (len(levels) - len(first)) + first
        share = [torch.where(step == 0, early, usual) for early, usual in zip(first, share, strict=True)]
    window = _Windows(base, plan, weights, place)
    total = x.new_zeros(x.shape[0], shown)  # len(x) would fix the number of points
    for j, weight in enumerate(share):
        number = ((step + 1) * scheme.order - len(levels) + 1 + j).clamp(min=0)
        total = total + weight[:, None] * window.level(number)[:, :shown]
    return total


def _lagrange(levels: np.ndarray, at: Tensor) -> list[Tensor]:
    """For each level its polynomial, one there and zero at the others, at places (n,)."""
    result = []
    for j, own in enumerate(levels):
        weight = torch.ones_like(at)
        for other in np.delete(levels, j):
            weight = weight * (at - other) / (own - other)
        result.append(weight)
    return result


class _Windows:
    """The networks of all windows at points (n, d), each point with the window of its own."""

    def __init__(self, base: DenseNetwork, plan: Steps, weights: tuple[Tensor, Tensor, Tensor], x: Tensor) -> None:
        self._base, self._levels, self._components = base, plan.layers, plan.components
        self._trunks, self._heads, self._which = weights
        self._encoded = base.encode(x)
        self._shared = self._hidden(self._trunks[0]) if len(self._trunks) == 1 else None

    def level(self, number: Tensor) -> Tensor:
        """(n, C) values at time levels (n,), numbered from the start; 0 has the initial values."""
        before = number + self._levels - 1
        row, head = torch.div(before, self._levels, rounding_mode="floor"), before % self._levels
        hidden = self._hidden(self._trunks[self._which[row]]) if self._shared is None else self._shared
        outputs, inputs = self._base.layer_shapes[-1]
        shape = (-1, self._levels, self._components)
        weight = self._heads[:, : outputs * inputs].reshape(*shape, inputs)[row, head]
        bias = self._heads[:, outputs * inputs :].reshape(shape)[row, head]
        unit = self._base.output_scale.expand(outputs).reshape(self._levels, self._components)[head]
        return ((weight @ hidden[..., None])[..., 0] + bias) * unit

    def _hidden(self, trunk: Tensor) -> Tensor:
        """(n, width) what the last layer sees, for weights of hidden layers (q,), or (n, q) for each point its own."""
        a, at = self._encoded, 0
        for out, inputs in self._base.layer_shapes[:-1]:
            weight = trunk[..., at : at + out * inputs].reshape(*trunk.shape[:-1], out, inputs)
            at += out * inputs
            a = self._base.activation((weight @ a[..., None])[..., 0] + trunk[..., at : at + out])
            at += out
        return a
