"""What weak forms over simplices, over slabs of time and at the moments of a march have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from torch import Tensor

from ..problem.problem import Problem
from .batches import Batch, batch_on, carrying, cell_batches, facet_batch
from .edge_pieces import BrokenEdges, broken_edges, edges_in_pieces
from .integrand import Integrand
from .pointwise import BoundaryFlux, Pointwise
from .space import Space


class WeakForm:
    """A problem tested with the functions of a space.

    Attributes:
        inside, through: what is integrated over cells, and over a boundary with natural conditions.
        coefficients: (n, K) nodal values that a problem on extended points sees there (see problem/family.py); None for others.
        not_facets: conditions that are not on boundaries of the space's mesh.
    """

    not_facets: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        problem: Problem,
        space: Space,
        inside: Callable[[Pointwise], Integrand],
        through: Callable[[BoundaryFlux], Integrand],
        coefficients: Tensor | None = None,
    ) -> None:
        self.problem, self.space, self.coefficients = problem, space, coefficients
        # Whether points have values of functions before their places, here and in copies.
        self._extended = coefficients is not None
        self.pointwise = Pointwise(problem)
        self.inside, self.through = inside(self.pointwise), through

    @property
    def components(self) -> int:
        """Number of scalar components C of all fields."""
        return self.space.components

    def with_coefficients(self, c: Tensor) -> Self:
        """The same with other coefficients (n, K); what does not depend on them is shared."""
        found = {name for cls in type(self).__mro__ for name, v in vars(cls).items() if isinstance(v, cached_property)}
        other = object.__new__(type(self))  # all checks have been made
        other.__dict__ |= {k: v for k, v in vars(self).items() if k not in found} | {"coefficients": c}
        return other

    def cells(self, first: int = 0, end: int | None = None) -> Iterator[Batch]:
        """All cells, or those from `first` up to `end`."""
        return (carrying(batch, self.coefficients) for batch in cell_batches(self.space, first, end))

    def facets(self) -> Iterator[tuple[BoundaryFlux, Batch]]:
        """Facets with natural conditions, and these."""
        for name in self.problem.conditions:
            flux = BoundaryFlux(self.problem, name)
            if name not in self.not_facets and not flux.vanishes:
                for batch in self._on_facets(name):
                    yield flux, carrying(batch, self.coefficients)

    def _on_facets(self, boundary: str) -> Iterator[Batch]:
        """The facets of a boundary; edges along which the flux jumps apart, in pieces."""
        facets, broken = self.space.mesh.facets(boundary), self._broken.get(boundary)
        if broken is None:
            yield facet_batch(self.space, facets)
            return
        whole = np.delete(facets, broken.rows)
        if len(whole):
            yield facet_batch(self.space, whole)
        order = self.space.quadrature_order
        yield batch_on(self.space, edges_in_pieces(self.space.mesh, facets[broken.rows], broken.breaks, order))

    @cached_property
    def _broken(self) -> Mapping[str, BrokenEdges]:
        plain = self.space.mesh.dimension == 2 and not self._extended
        return broken_edges(self.problem, self.space.mesh) if plain else {}

    def parts(self) -> Iterator[tuple[Integrand, Batch]]:
        """All that is integrated, and where."""
        yield from ((self.inside, batch) for batch in self.cells())
        yield from ((self.through(flux), batch) for flux, batch in self.facets())

    def samples(self, count: int) -> np.ndarray:
        """Some quadrature points (m, d) of the space, spread over its mesh."""
        x = self.space.quadrature.x.reshape(-1, self.space.mesh.dimension)
        x = x[np.linspace(0, len(x) - 1, min(count, len(x))).astype(int)]
        if self.coefficients is None:
            return x
        return np.column_stack([self.space.scalar[0].interpolation(x) @ self.coefficients.numpy(), x])
