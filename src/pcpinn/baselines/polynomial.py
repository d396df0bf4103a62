"""Polynomial interpolation of direct solutions: each nodal value as a polynomial of the parameters, by least squares."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement

import torch
from torch import Tensor

from ..family.discretise import AnySystem
from ..solve.method import FAMILY_METHODS
from ..solve.settings import Settings
from .family_recipes import Polynomials
from .family_tables import Values, table_method

_ROOM = 1.5  # solutions per coefficient, at least


def polynomial(system: AnySystem, z: Tensor, u: Tensor, settings: Settings) -> Values:
    """Total degree `order`, or the largest that the solutions determine."""
    order = max(
        (p for p in range(settings.loss.order + 1) if _ROOM * math.comb(z.shape[1] + p, p) <= len(z)), default=0
    )
    terms = [t for p in range(order + 1) for t in combinations_with_replacement(range(z.shape[1]), p)]
    c = torch.linalg.lstsq(_basis(z, terms, order), u, driver="gelsd").solution
    return lambda at: _basis(at.double(), terms, order) @ c


def _basis(z: Tensor, terms: list[tuple[int, ...]], order: int) -> Tensor:
    """(S, n) products of Legendre polynomials; a term names each parameter as often as its degree."""
    legendre = [torch.ones_like(z), z]
    for n in range(1, order):
        legendre.append(((2 * n + 1) * z * legendre[n] - n * legendre[n - 1]) / (n + 1))
    columns = []
    for term in terms:
        column = torch.ones_like(z[:, 0])
        for k in set(term):
            column = column * legendre[term.count(k)][:, k]
        columns.append(column)
    return torch.stack(columns, dim=1)


FAMILY_METHODS.register(table_method("polynomial", polynomial, Polynomials()))
