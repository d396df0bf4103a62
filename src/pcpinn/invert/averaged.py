"""The posterior averaged over the parameters of the priors, which the data do not determine either.

Kernels, lengths and scales near the best ones, each as often as its evidence says; together a posterior with heavier tails
than that of the best ones alone, which takes them as certain.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy.linalg as la
from scipy.special import ndtr

from .posterior import Linearised, Posterior
from .prior import Hyper

_STEP = 0.5  # between lengths, and between scales, as logarithms
_LEAST = 4.0  # log evidence below the best at which priors no longer count
_TRIED, _TAKEN = 80, 24  # priors whose evidence is asked for, and most of those that are averaged
_LOST = 1e-3  # largest part of any variance that compression leaves out

Hypers = list[Hyper | None]


def nearby(linearised: Linearised, best: Sequence[Hyper | None]) -> list[tuple[float, Hypers]]:
    """Hyper-parameters with their weights, the likeliest first: by a walk from the best of each kind of process."""
    starts = [list(best), *linearised.of_other_kinds(best, doubts=True)]
    found = {_key(h): (linearised.evidence(h), h) for h in starts}
    heap = [(-value, k, h) for k, (value, h) in enumerate(found.values())]
    heapq.heapify(heap)
    while heap and len(found) < _TRIED:
        value, _, here = heapq.heappop(heap)
        if -value < max(v for v, _ in found.values()) - _LEAST:
            break
        for trial in _neighbours(linearised, here):
            if _key(trial) not in found:
                found[_key(trial)] = linearised.evidence(trial), trial
                heapq.heappush(heap, (-found[_key(trial)][0], len(found), trial))
    ranked = sorted(found.values(), key=lambda pair: -pair[0])[:_TAKEN]
    weights = np.exp([v - ranked[0][0] for v, _ in ranked])
    kept = weights > np.exp(-_LEAST)
    weights = weights[kept] / weights[kept].sum()
    return [(float(w), hypers) for w, (_, hypers) in zip(weights, ranked, strict=False)]


def _neighbours(linearised: Linearised, hypers: Hypers) -> list[Hypers]:
    result = []
    for i, block in enumerate(linearised.blocks):
        own = hypers[i]
        if block.prior is None or own is None:
            continue
        others = block.prior.neighbours(own, _STEP)
        others += block.prior.alternatives(own, doubts=True)
        result += [[*hypers[:i], other, *hypers[i + 1 :]] for other in others]
    return result


def _key(hypers: Sequence[Hyper | None]) -> tuple[object, ...]:
    return tuple(
        None if h is None else (h.kernel, round(np.log(h.length), 3), round(np.log(h.scale), 3), len(h.modes), h.local)
        for h in hypers
    )


def averaged(linearised: Linearised, best: Sequence[Hyper | None]) -> Posterior:
    """Second moments about the point of linearisation, which is the answer: covariances, and how far the means are apart.

    Standard deviations are such that one of them holds as much as one of a normal distribution does. A mixture of narrow and
    wide ones has long tails, and the root of its second moment holds more than that.
    """
    members = nearby(linearised, best)
    own = linearised.posterior(best)
    if len(members) == 1:
        return own
    sizes = [len(block.at) for block in linearised.blocks]
    at = np.concatenate([block.at for block in linearised.blocks])
    total, effective = np.zeros((len(at), len(at))), 0.0
    shifts, widths = [], []
    for weight, hypers in members:
        means, factors, dof = linearised.moments(hypers)
        F, shift = np.concatenate(factors), np.concatenate(means) - at
        shifts.append(shift)
        widths.append(np.linalg.norm(F, axis=1))
        total += weight * (F @ F.T + np.outer(shift, shift))
        effective += weight * dof
    factors = np.split(_root(total), np.cumsum(sizes)[:-1])
    u_factor = sum(block.G @ F for block, F in zip(linearised.blocks, factors, strict=True))
    held = _half_width([w for w, _ in members], np.array(shifts), np.array(widths))
    size = np.sqrt(np.diag(total))
    parts = np.split(np.divide(held, size, out=np.ones_like(size), where=size > 0), np.cumsum(sizes)[:-1])
    factors = [part[:, None] * F for part, F in zip(parts, factors, strict=True)]
    return replace(own, factors=tuple(factors), u_factor=np.asarray(u_factor), effective=effective)


def _half_width(weights: Sequence[float], shifts: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """(n,) r: a mixture of normals with means and deviations (k, n) is within -r and r as often as one is within its own."""
    w, inside = np.asarray(weights)[:, None], float(ndtr(1.0) - ndtr(-1.0))
    widths = np.maximum(widths, np.finfo(float).tiny)
    low, high = np.zeros(shifts.shape[1]), (np.abs(shifts) + 2 * widths).max(axis=0)
    for _ in range(40):
        r = (low + high) / 2
        little = (w * (ndtr((r - shifts) / widths) - ndtr((-r - shifts) / widths))).sum(axis=0) < inside
        low, high = np.where(little, r, low), np.where(little, high, r)
    return high


def _root(C: np.ndarray) -> np.ndarray:
    """(n, r) a factor of a covariance, of as few columns as keep all variances."""
    size = np.sqrt(np.maximum(np.diag(C), 0.0))
    there = size > 0
    result = C[np.ix_(there, there)] / np.outer(size[there], size[there])
    values, vectors = la.eigh(result)
    values = np.maximum(values, 0.0)
    kept = np.cumsum(values) > _LOST  # of variances that are one each
    factor = np.zeros((len(C), int(kept.sum())))
    factor[there] = size[there, None] * vectors[:, kept] * np.sqrt(values[kept])
    return factor
