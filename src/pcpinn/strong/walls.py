"""Fluxes at the points of several conditions at once: one pass through the network and one evaluation of the PDE for all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from .form import EqualSides, Foreseen, PrescribedFlux, Term, image_at


class Walls:
    """The points at which conditions look at fluxes.

    Whoever wants the gradient of each condition alone must not take them together: it would run through all points.
    """

    def __init__(self, terms: Sequence[Term]) -> None:
        looking = [term for term in terms if isinstance(term, PrescribedFlux | EqualSides)]
        self._pointwise = looking[0].pointwise if looking else None
        self._places = [x for term in looking if term.pointwise is self._pointwise for x in term.flux_points]
        self._x = torch.cat(self._places) if len(self._places) > 1 else None

    def seen(self, network: Any) -> Any:
        """The network as the conditions are to see it, with what they ask for computed ahead, for its present weights."""
        if self._x is None or self._pointwise is None:
            return network
        sizes = [len(x) for x in self._places]
        images = zip(*(part.split(sizes) for part in image_at(self._pointwise, network, self._x)), strict=True)
        return Foreseen(network, self._pointwise, dict(zip(map(id, self._places), images, strict=True)))
