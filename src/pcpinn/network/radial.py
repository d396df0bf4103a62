"""Gaussian units spread as the cells of the mesh are: many and narrow ones where it is fine.

With x and its squares as inputs, exp of a linear function is a Gaussian about any centre; along a periodic axis, where x is seen
through one sine and cosine, it is its periodic counterpart. Unlike units that vary along one direction only, such a network
resolves what is local at the cost of a few units, and its last layer is a well-posed least-squares problem.

Where the distance from interfaces is an input, units beside these have a twin that is narrower and falls with that distance: its
slope jumps there, as that of the solution does.
"""

from __future__ import annotations

import numpy as np
import torch
from scipy.spatial import cKDTree

from .dense import DenseNetwork
from .interfaces import distance

_WIDTH = (
    2.5  # of a unit, in distances to its neighbours: marches of narrower ones are unstable, of wider ones sums cancel
)
_NEIGHBOURS = {1: 2, 2: 6, 3: 12}
_TWIN = 1.5  # width of a unit whose slope jumps
_FALLS = 1.0  # by so many powers of e over the distance of neighbours
_BESIDE = {1: 3.0, 2: 1.5}  # distances of neighbours: units so near to an interface have a twin
_SAMPLES = 30  # random points per unit, among which the units are spread
_ROUNDS = 12


@torch.no_grad()
def spread_units(network: DenseNetwork, corners: np.ndarray, seed: int) -> None:
    """Give every unit of the only hidden layer a centre and a width.

    Args:
        network: with radial units.
        corners: (c, d + 1, d) of the cells of the mesh.
        seed: of the random choices.
    """
    weight, bias = network.layers(network.theta)[0]
    middle, half = network.centre.double().cpu().numpy(), network.half_width.double().cpu().numpy()
    centres, spacing, twins = _with_twins(network, corners, len(bias), seed)
    wide = np.where(np.arange(len(bias)) < len(bias) - twins, _WIDTH, _TWIN)[:, None]
    at, width = (centres - middle) / half, wide * spacing / half  # in scaled coordinates, along each axis
    features = network.architecture.features
    plain = [a for a in range(network.inputs) if a not in features.periodic]
    rows, shift = np.zeros(weight.shape), np.zeros(len(bias))
    for column, axis in enumerate(plain):
        rows[:, column] = at[:, axis] / width[:, axis] ** 2
        rows[:, len(rows[0]) - len(plain) + column] = -0.5 / width[:, axis] ** 2
        shift -= 0.5 * (at[:, axis] / width[:, axis]) ** 2
    if twins:
        fall = _FALLS * 2 * half.max() / spacing[-twins:].mean(axis=1)
        rows[-twins:, len(rows[0]) - len(plain) - 1] = -fall
    waves = network.frequencies.shape[1]
    for number, axis in enumerate(features.periodic):
        sharpness, phase = 1 / (np.pi * width[:, axis]) ** 2, np.pi * at[:, axis]
        rows[:, len(plain) + number * features.count] = sharpness * np.sin(phase)
        rows[:, len(plain) + waves + number * features.count] = sharpness * np.cos(phase)
        shift -= sharpness
    weight.copy_(torch.from_numpy(rows))
    bias.copy_(torch.from_numpy(shift))


def _with_twins(
    network: DenseNetwork, corners: np.ndarray, count: int, seed: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """Centres (count, d) and distances (count, d) of units; the last ones, so many, are twins of units beside interfaces."""
    if not len(network.interfaces):
        return *spread(corners, count, seed), 0
    single = count
    for _ in range(2):  # fewer units are further apart, and more of them beside interfaces
        centres, spacing = spread(corners, single, seed)
        far = distance(torch.from_numpy(centres), network.interfaces.double().cpu(), torch.ones(())).numpy()[:, 0]
        beside = far / spacing.mean(axis=1)
        twins = int((beside < _BESIDE[network.inputs]).sum())
        if single < count:
            break
        single = max(1, count - int(twins * count / (count + twins)))
    twin = np.argsort(beside, kind="stable")[: count - single]
    return np.concatenate([centres, centres[twin]]), np.concatenate([spacing, spacing[twin]]), len(twin)


def spread(corners: np.ndarray, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Points (count, d) as dense as the cells, evenly so, and their distances from neighbours along each axis (count, d).

    Where cells are mostly longer along one axis, so are the distances.
    """
    random = np.random.default_rng([seed, 19])
    cells, dimension = len(corners), corners.shape[-1]
    unit = np.exp(np.log(np.ptp(corners, axis=1)).mean(axis=0))
    unit, corners = unit / unit.max(), corners / (unit / unit.max())
    each = -(-_SAMPLES * count // cells)
    inside = random.dirichlet(np.ones(dimension + 1), size=(cells, each))
    samples = np.einsum("cpk,ckd->cpd", inside, corners).reshape(-1, dimension)
    points = samples[random.choice(len(samples), count, replace=False)]
    for _ in range(_ROUNDS):  # Lloyd's method
        nearest = cKDTree(points).query(samples)[1]
        number = np.bincount(nearest, minlength=count)
        mean = np.stack([np.bincount(nearest, line, minlength=count) for line in samples.T], axis=1)
        points = np.where(number[:, None] > 0, mean / np.maximum(number, 1)[:, None], points)
    neighbours = min(_NEIGHBOURS[dimension], count - 1)
    spacing = cKDTree(points).query(points, k=neighbours + 1)[0][:, 1:].mean(axis=1)
    return points * unit, spacing[:, None] * unit
