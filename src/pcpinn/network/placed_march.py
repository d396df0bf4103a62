"""A march of networks at points of space that stay where they are, at many moments."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from .marched import MarchedNetwork

_ROWS = 16_384
_KEPT = 5e7  # values that are kept, of windows that share their hidden layers
_BACK = 3  # windows: a polynomial in time reaches back


class PlacedMarch:
    """Evaluates hidden layers once for many windows in a row that share them, and each window once for all moments in a row.

    Args:
        network: the march.
        points: (n, d) of space.
    """

    def __init__(self, network: MarchedNetwork, points: Tensor) -> None:
        self._network, self._points = network, points
        self._windows: dict[int, Tensor] = {}

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
            near = {k: values for k, values in self._windows.items() if window - _BACK <= k < window}
            self._windows = near | self._evaluate(window)
        return self._windows[window][:, head, : self._network.outputs]

    def _evaluate(self, first: int) -> dict[int, Tensor]:
        """(n, heads, C) of a window, and of those after it that share its hidden layers, as far as there is room."""
        base, plan = self._network.base, self._network.plan
        thetas = self._network.theta[first + 1 : first + 1 + self._alike(first)].to(self._points)
        weights, biases = zip(*(base.layers(theta)[-1] for theta in thetas), strict=True)
        weight, bias = torch.cat(weights), torch.cat(biases)
        parts = []
        for x in self._points.split(_ROWS):
            if base.ansatz is None:
                values = nn.functional.linear(base.hidden(thetas[0], base.encode(x)), weight, bias)
                parts.append(values.unflatten(1, (len(thetas), -1)) * base.output_scale)
            else:
                parts.append(base.evaluate(thetas[0], x)[:, None])
        every = torch.cat(parts).unflatten(2, (plan.layers, plan.components))
        return {first + k: every[:, k] for k in range(len(thetas))}

    def _alike(self, first: int) -> int:
        """Windows from one on with the same hidden layers, of which so much can be kept."""
        base, thetas = self._network.base, self._network.theta[first + 1 :]
        if base.ansatz is not None:
            return 1
        most = max(1, int(_KEPT / max(1, len(self._points) * base.outputs)))
        hidden = thetas[:most, : thetas.shape[1] - base.head_size]
        other = (hidden != hidden[0]).any(dim=1).nonzero()
        return int(other[0]) if len(other) else len(hidden)
