"""Cosines and plane waves at the points of a grid, by their factors along the axes: the table of all features is never stored.

cos(k x) cos(l y) is a product of one function of each axis, and so is exp(i (k x + l y)). On a grid of points, products with the
table of features and with its transpose are then products with one small matrix per axis, one after the other: of 24 227 cosines
at 148 225 points, the table has 27 GiB, and its factors one MiB.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .features import Features

LARGE = 5 * 10**8  # numbers in a table of features: from here on it is not stored, nor are its orthogonal factors
_SAME = 1e-12  # scaled coordinates that differ by less are the same
_SPARSE = 4  # the grid may have so many times as many places as there are points


class Separated:
    """The table (n, k) of features at points, as an operator.

    Args:
        lines: for each axis (places, waves), real for cosines, complex for plane waves.
        place: (n, d) which place of each axis a point has.
        wave: (f, d) which waves of the axes a feature, or a sine and a cosine, is the product of.
    """

    def __init__(self, lines: list[Tensor], place: Tensor, wave: Tensor) -> None:
        self._lines = lines
        self._places, self._waves = ([len(line) for line in lines], [line.shape[1] for line in lines])
        self._at, self._of = _flat(place, self._places), _flat(wave, self._waves)
        self._complex = lines[0].is_complex()
        self.shape = (len(place), (1 + self._complex) * len(wave))

    @property
    def squares(self) -> Tensor:
        """(k,) about the mean square of each feature over the box."""
        if self._complex:
            return self._lines[0].real.new_full((self.shape[1],), 0.5)
        result = self._lines[0].new_ones(self._waves)
        for axis, count in enumerate(self._waves):
            half = self._lines[0].new_full((count,), 0.5)
            half[0] = 1.0
            result = result * half.reshape([-1 if a == axis else 1 for a in range(len(self._waves))])
        return result.flatten()[self._of]

    def product(self, weights: Tensor) -> Tensor:
        """(k, h) -> (n, h): the features, each times its weight, added up at the points; differentiable."""
        if self._complex:
            sines, cosines = weights.chunk(2)
            weights = torch.complex(cosines, -sines)
        table = weights.new_zeros(_size(self._waves), weights.shape[1]).index_put((self._of,), weights)
        for line, count in zip(self._lines, self._waves, strict=True):
            table = torch.tensordot(table.reshape(count, -1), line.to(table.dtype), dims=([0], [1])).flatten()
        values = table.reshape(weights.shape[1], -1).T[self._at]
        return values.real if self._complex else values

    def transposed(self, values: Tensor) -> Tensor:
        """(n, h) -> (k, h): the products of each feature with values at the points."""
        heads = values.shape[1]
        table = values.new_zeros(_size(self._places), heads).index_put((self._at,), values)
        table = table.to(self._lines[0].dtype)
        for line, count in zip(self._lines, self._places, strict=True):
            table = torch.tensordot(table.reshape(count, -1), line.to(table.dtype), dims=([0], [0])).flatten()
        found = table.reshape(heads, -1).T[self._of]
        return torch.cat([found.imag, found.real]) if self._complex else found


def separate(features: Features, scaled: Tensor, frequencies: Tensor) -> Separated | None:
    """Features at scaled points (n, d); None where they do not separate, or points are not on a grid."""
    alone = not (any(features.kinks) or features.corners or features.stretch or features.start or features.squares)
    if features.kind not in ("cosines", "waves") or not alone:
        return None
    places, axes = [], []
    for x in scaled.unbind(1):
        own, number = torch.unique((x / (100 * _SAME)).round(), return_inverse=True)
        axis = x.new_zeros(len(own)).index_put((number,), x)  # one of those that are the same
        if float((axis[number] - x).abs().max()) > _SAME:
            return None
        places.append(number)
        axes.append(axis)
    if _size([len(axis) for axis in axes]) > _SPARSE * len(scaled):
        return None
    if features.kind == "cosines":
        numbers = torch.arange(features.count + 1).to(scaled)
        lines = [torch.cos((axis[:, None] + 1) * (torch.pi / 2) * numbers) for axis in axes]
        wave = features.half_waves(scaled.shape[1]).long()
    else:
        numbers = torch.arange(-features.count, features.count + 1).to(scaled)
        lines = [torch.exp(1j * torch.pi * axis[:, None] * numbers) for axis in axes]
        wave = (frequencies.T / torch.pi).round().long() + features.count
    return Separated(lines, torch.stack(places, 1), wave.to(scaled.device))


def _flat(index: Tensor, sizes: list[int]) -> Tensor:
    result = index[:, 0]
    for axis in range(1, len(sizes)):
        result = result * sizes[axis] + index[:, axis]
    return result


def _size(sizes: list[int]) -> int:
    result = 1
    for size in sizes:
        result *= size
    return result
