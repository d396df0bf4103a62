"""What an answer is made of: a network that was trained, one whose last layer alone was, or a fixed basis of waves."""

from __future__ import annotations

from ..train.last_layer import LastLayer
from .settings import Settings

TRAINED, LAST_LAYER, SPECTRAL = "trained network", "last layer only", "spectral basis"
KINDS = (TRAINED, LAST_LAYER, SPECTRAL)


def kind_of(settings: Settings, iterations: int | None = None) -> str:
    """The kind of the answers that settings make; "" where there is no network.

    Args:
        settings: of the run.
        iterations: that its optimiser has done; None: as many as the settings say. A march that was content with its last
            layer has done none. (What a march trains on its initial values does not count: later windows keep it.)
    """
    network = settings.recipes.get("network")
    if network is None:
        return ""
    if getattr(network, "depth", None) == 0:  # outputs are linear in features that nothing changes
        return SPECTRAL
    if isinstance(settings.optimiser, LastLayer):
        return LAST_LAYER
    done = settings.optimiser.iterations if iterations is None else iterations
    return TRAINED if done else LAST_LAYER
