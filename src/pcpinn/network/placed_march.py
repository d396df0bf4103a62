"""A march of networks at points of space that stay where they are, at many moments."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from .marched import MarchedNetwork

_ROWS = 16_384
_KEPT = 5e7  # values of hidden layers that are kept, where windows share them
_WINDOWS = 3  # whose values are kept: a polynomial in time reaches back


class PlacedMarch:
    """Evaluates hidden layers once for all windows that share them, and each window once for all moments in a row.

    Args:
        network: the march.
        points: (n, d) of space.
    """

    def __init__(self, network: MarchedNetwork, points: Tensor) -> None:
        self._network, self._points = network, points
        self._windows: dict[int, Tensor] = {}
        self._trunk: Tensor | None = None
        self._hidden: list[Tensor] = []

    @torch.no_grad()
    def at(self, t: float) -> Tensor:
        """(n, C) values at a moment."""
        network = self._network
        k = int(np.clip(np.searchsorted(network.times.cpu().numpy(), t) - 1, 0, len(network.times) - 2))
        scheme = network.plan.steps.starter if k == 0 else network.plan.steps
        start, end = float(network.times[k]), float(network.times[k + 1])
        place, levels = (t - start) / (end - start), np.concatenate([scheme.past, scheme.nodes])
        last = (k + 1) * network.plan.steps.order
        total = torch.zeros(len(self._points), network.outputs).to(self._points)
        for j, at in enumerate(levels):
            others = np.delete(levels, j)
            weight = float(np.prod((place - others) / (at - others)))
            total += weight * self._level(last - len(levels) + 1 + j)
        return total

    def _level(self, number: int) -> Tensor:
        """(n, C) at a time level, numbered from the start; 0 has the initial values."""
        plan = self._network.plan
        window, head = divmod(max(number, 0) - 1, plan.layers)
        if window not in self._windows:
            if len(self._windows) >= _WINDOWS:
                del self._windows[min(self._windows)]
            values = torch.cat([self._evaluate(window, k) for k in range(0, len(self._points), _ROWS)])
            self._windows[window] = values.unflatten(1, (plan.layers, plan.components))
        return self._windows[window][:, head, : self._network.outputs]

    def _evaluate(self, window: int, first: int) -> Tensor:
        """All heads of a window at some of the points."""
        base, x = self._network.base, self._points[first : first + _ROWS]
        theta = self._network.theta[window + 1].to(x)
        weight, bias = base.layers(theta)[-1]
        if base.ansatz is not None or len(self._points) * weight.shape[1] > _KEPT:
            return base.evaluate(theta, x)
        trunk = theta[: len(theta) - base.head_size]
        if self._trunk is None or not torch.equal(trunk, self._trunk):
            self._trunk, self._hidden = trunk.clone(), []
        k = first // _ROWS
        if k == len(self._hidden):
            self._hidden.append(base.hidden(theta, base.encode(x)))
        return torch.nn.functional.linear(self._hidden[k], weight, bias) * base.output_scale
