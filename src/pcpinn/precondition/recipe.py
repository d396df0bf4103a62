"""Preconditioners by name, and what all of their recipes share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import torch

from ..discretize.system import Discretisation
from ..recipes import Recipe, Registry
from .protocol import DeviceSolver

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
    at_most: ClassVar[Mapping[str, float]] = {"refinement": 1000}
    near_identity: ClassVar[bool] = True  # whether P^-1 A is near the identity, as Gauss-Newton's Gram matrix assumes


@dataclass(frozen=True)
class Assembled(Preconditioning):
    """A preconditioner of an assembled matrix.

    Attributes:
        dense: hold P^-1 A as a dense matrix; auto does so where thousands of cheap steps make it pay.
    """

    dense: Literal["auto", "true", "false"] = field(default="auto", kw_only=True)

    prefers_torch: ClassVar[bool] = False

    def fitted(self, discretisation: Discretisation, memory: float) -> Any:
        """The preconditioner for a discretisation, with `memory` GiB; by default itself."""
        return self

    def on_device(
        self, state: Any, dtype: torch.dtype, device: torch.device | str, columns: int = 1
    ) -> DeviceSolver | None:
        """P^-1 for tensors on a device (see `Preconditioner`); here there is the host form alone."""
        return None

    def describe(self, state: Any) -> dict[str, Any]:
        """Facts for the report; here none."""
        return {}


PRECONDITIONERS: Registry[type[Preconditioning]] = Registry("preconditioner", "preconditioners")
