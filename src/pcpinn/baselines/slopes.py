"""LAAF and GAAF (Jagtap et al. 2020): trainable slopes of the activations, per layer or one for all, and slope recovery."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from ..errors import PcpinnError
from ..network.adaptive import GAAF, LAAF
from ..network.module import ModuleNetwork
from ..solve.method import LOSSES, METHODS
from .piece import Piece, Seen
from .recipe import Collocation
from .strong_method import strong_method


def slopes_of(loss: Seen) -> Tensor:
    """(k,) trainable slopes of the network's activations; means over neurons where these have slopes of their own.

    Raises:
        PcpinnError: when it has none.
    """
    slopes = loss.network.parts(loss.theta).get("slopes") if isinstance(loss.network, ModuleNetwork) else None
    if slopes is None:
        raise PcpinnError("slope recovery needs a network with trainable slopes", "use network=laaf or network=gaaf")
    return slopes if slopes.ndim == 1 else slopes.mean(1)


@dataclass(frozen=True)
class SlopeRecovery(Piece):
    """weight / mean(exp(a)) over the slopes a: it pushes them up, which speeds up the training at its start."""

    weight: float = 1.0

    def penalty(self, loss: Seen) -> Tensor | None:
        """The term, where it has a weight."""
        return self.weight / slopes_of(loss).exp().mean() if self.weight else None

    def describe(self, loss: Seen) -> dict[str, Any]:
        """The slopes as they are now."""
        return {"slopes": slopes_of(loss).tolist()}


@LOSSES.register
@dataclass(frozen=True)
class SlopeCollocation(Collocation):
    """The strong form, and a term that pushes slopes of activations up.

    Attributes:
        slope_weight: of the slope recovery, 1 / mean(exp(a)); 0 for none.
    """

    slope_weight: float = 1.0

    name: ClassVar[str] = "slopes"
    not_negative: ClassVar[tuple[str, ...]] = ("slope_weight",)

    def pieces(self) -> list[Piece]:
        """The term."""
        return [SlopeRecovery(self.slope_weight)]


METHODS.register(strong_method("laaf", SlopeCollocation(), network=LAAF(), factor=10.0, per="neuron", slope_weight=0.0))
METHODS.register(strong_method("gaaf", SlopeCollocation(slope_weight=0.0), network=GAAF(), factor=10.0))
