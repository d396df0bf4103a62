"""The error of a network against a reference: at the end, and now and then on the way."""

from __future__ import annotations

import math

import numpy as np
import torch

from ..network.protocol import Network
from ..solution.reference import Reference, metrics
from ..train import History, Watch
from ..train.watch import CADENCE

_MOST_POINTS = 10_000  # of a reference, spread evenly, while training; at its end all are compared


def evaluate(network: Network, x: np.ndarray) -> np.ndarray:
    """(n, outputs) values of a network at points (n, d)."""
    with torch.no_grad():
        return network(torch.as_tensor(x).to(network.theta)).double().cpu().numpy()


def watch_error(network: Network, reference: Reference | None, iterations: int) -> Watch | None:
    """What measures L2RE along a training of at most so many iterations; None without a reference."""
    if reference is None:
        return None
    every = -(-len(reference.points) // _MOST_POINTS)
    x, values, columns = reference.points[::every], reference.values[::every], list(reference.components)

    def l2re() -> float | None:
        error = metrics(evaluate(network, x)[:, columns], values)["l2re"]
        return error if error is not None and math.isfinite(error) else None

    return Watch.of_training(l2re, iterations)


def errors_so_far(u: np.ndarray, reference: Reference, ends: np.ndarray) -> dict[int, float]:
    """L2RE of a march up to the ends of its windows, by their numbers from 1: of CADENCE windows or so.

    Args:
        u: (n, C) its values at the points of the reference, time last.
        ends: (k,) of the windows.
    """
    order = np.argsort(reference.points[:, -1], kind="stable")
    off = np.cumsum(((u[:, list(reference.components)] - reference.values)[order] ** 2).sum(1))
    size = np.cumsum((reference.values[order] ** 2).sum(1))
    passed = np.searchsorted(reference.points[order, -1], ends + 1e-9 * abs(ends[-1]), side="right")
    every = max(1, len(ends) // CADENCE)
    known = (n for n in range(every, len(ends) + 1, every) if passed[n - 1] and size[passed[n - 1] - 1] > 0)
    return {n: float(np.sqrt(off[passed[n - 1] - 1] / size[passed[n - 1] - 1])) for n in known}


def known_errors(history: History, final: float | None) -> list[list[float]]:
    """Iteration, seconds and L2RE along the training, for the record; the last is that of the answer."""
    if final is not None and history.rows:
        history.errors[history.rows[-1][0]] = final
    return history.measured
