"""Several steps of an optimiser as one piece of work without a word to the host; on a GPU one captured graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from . import graph, turns
from .host_tables import HostTables

AT_ONCE = 20  # steps in a graph: between two graphs the GPU waits for the host, a tenth of a step or so
SOON = 5  # where the graph will not last: recording a step takes some ten times as long as the step


class Steps:
    """Steps in batches: the losses of all are read at the end of a batch.

    Args:
        update: one step; returns the loss before it.
        theta: the weights.
        live: what a step changes besides.
        at_once: steps in the largest batch. Batches are half as large, and half of that, where fewer may be taken.
    """

    def __init__(
        self,
        update: Callable[[], Tensor],
        theta: Tensor,
        live: Sequence[Tensor],
        at_once: int = AT_ONCE,
    ) -> None:
        self._update, self._live = update, [theta, *live]
        self._losses = torch.zeros(at_once, dtype=theta.dtype, device=theta.device)
        self._sizes = [at_once]
        while self._sizes[-1] % 2 == 0:
            self._sizes.append(self._sizes[-1] // 2)
        self._sizes += [1] if self._sizes[-1] > 1 else []
        self._graphs: dict[int, Callable[[], None]] = {}
        self._tables = HostTables()

    def try_out(self) -> bool:
        """Warm up and capture; whether that succeeded. Weights and state are as before, either way."""
        k = self._sizes[0]
        captured = graph.try_capture(lambda: self._steps(k), self._live, lambda: self._steps(1), self._tables)
        if captured is not None:
            self._graphs[k] = captured
        return captured is not None

    def __call__(self, most: int) -> list[float]:
        """The largest batch that is allowed."""
        k = next(size for size in self._sizes if size <= max(1, most))
        turns.outside(self._graph(k))
        graph.mark_changed(self._live)
        return self._losses[:k].tolist()

    def _graph(self, k: int) -> Callable[[], None]:
        if k not in self._graphs:
            self._graphs[k] = graph.capture(lambda: self._steps(k), self._tables)
        return self._graphs[k]

    def _steps(self, k: int) -> None:
        for i in range(k):
            self._losses[i].copy_(self._update().detach())
