"""Training with a look at the network now and then."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from ..progress import Progress
from ..train import Loss, Optimiser


def follow(
    loss: Loss,
    optimiser: Optimiser,
    marks: Sequence[int],
    observe: Callable[[int], None],
    progress: Progress | None = None,
    name: str = "training",
    seed: int = 0,
) -> None:
    """Train for marks[-1] iterations; `observe` is called after each number of iterations in `marks` (0: before any)."""
    progress = progress or Progress()
    progress.stage(name, marks[-1])
    advance = optimiser.bind(loss, optimiser.start(loss, seed))
    done = 0
    for mark in marks:
        while done < mark:
            losses = advance(mark - done)
            done += len(losses)
            progress.update(done, losses[-1])
        with torch.no_grad():
            observe(done)


def logarithmic_marks(iterations: int, count: int) -> list[int]:
    """0 and up to `count` iterations from 1 to the last, evenly on a logarithmic scale."""
    return [0, *np.unique(np.geomspace(1, iterations, count).round().astype(int)).tolist()]


def even_marks(iterations: int, count: int) -> list[int]:
    """Up to `count` iterations from 0 to the last, evenly."""
    return np.unique(np.linspace(0, iterations, count).round().astype(int)).tolist()
