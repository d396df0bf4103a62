"""Preconditioners by name, and what all of their recipes share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from ..discretize.system import Discretisation
from ..recipes import Recipe, Registry

ORDERINGS = {"colamd": "COLAMD", "mmd": "MMD_AT_PLUS_A"}  # SuperLU's names

Ordering = Literal["colamd", "mmd"]


@dataclass(frozen=True)
class Preconditioning(Recipe):
    """How to make P ~ A.

    Attributes:
        refinement: steps x <- x + P^-1 (r - A x) after each application of P^-1.
    """

    refinement: int = field(default=0, kw_only=True)

    not_negative: ClassVar[tuple[str, ...]] = ("refinement",)
    near_identity: ClassVar[bool] = True  # whether P^-1 A is near the identity, as Gauss-Newton's Gram matrix assumes


@dataclass(frozen=True)
class Assembled(Preconditioning):
    """A preconditioner of an assembled matrix.

    Attributes:
        dense: hold P^-1 A as a dense matrix; auto does so where thousands of cheap steps make it pay.
    """

    dense: Literal["auto", "true", "false"] = field(default="auto", kw_only=True)

    def fitted(self, discretisation: Discretisation, memory: float) -> Any:
        """The preconditioner for a discretisation, with `memory` GiB; by default itself."""
        return self


PRECONDITIONERS: Registry[type[Preconditioning]] = Registry("preconditioner", "preconditioners")
