"""The distance from interfaces: an input whose slope jumps where those of the solution do."""

from __future__ import annotations

import torch
from torch import Tensor

_AT_ONCE = 64  # pieces; not by the number of points, which a recorded graph does not know
_ROUNDED = (
    1e-12  # of the box: the distance is a little more than zero on an interface, so that it has a derivative there
)


def distance(x: Tensor, pieces: Tensor, extent: Tensor) -> Tensor:
    """(..., 1) from points (..., d) to the nearest of pieces (k, d, d): points of a line, or pieces of lines by their two ends.

    In units of `extent`, the size of the box.
    """
    nearest: Tensor | None = None
    for some in pieces.split(_AT_ONCE):
        away = x[..., None, :] - some[:, 0]
        if some.shape[1] > 1:
            along = some[:, 1] - some[:, 0]
            place = (away * along).sum(-1) / (along**2).sum(-1)
            away = away - place.clamp(0.0, 1.0)[..., None] * along
        least = (away**2).sum(-1).amin(-1, keepdim=True)
        nearest = least if nearest is None else torch.minimum(nearest, least)
    assert nearest is not None
    return torch.sqrt(nearest / extent**2 + _ROUNDED**2)
