"""The loss of Algorithm 1, ||P^-1 (A u_theta - b)||^2, from a system, a network and settings."""

from __future__ import annotations

import numpy as np
import torch

from ..discretize.system import LinearSystem
from ..network.protocol import Network
from ..precondition import Kept, Schwarz
from ..precondition.operator import PreconditionedResidual
from ..train import GaussNewton, LeastSquares, rescale_outputs
from .build import make_preconditioner
from .settings import Settings


def preconditioned_loss(
    system: LinearSystem, network: Network, settings: Settings, kept: Kept | None = None, rescale: bool = True
) -> LeastSquares:
    """Build P and with it the loss of Algorithm 1, on the network's device and in its precision.

    Args:
        system: A and b.
        network: u_theta.
        settings: which P.
        kept: an earlier P to take instead.
        rescale: choose the unit of the network's outputs again.
    """
    operator = PreconditionedResidual(
        system.A,
        system.b,
        kept or make_preconditioner(settings, system.discretisation),
        weights=scaled_weights(
            system.weights if settings.loss.norm == "mass" else np.full(system.size, 1 / system.size),
            settings,
            np.asarray(system.discretisation.unknown_components),
        ),
        dense=_dense(settings),
        dtype=getattr(torch, settings.run.precision),
        device=network.theta.device,
        nodes=system.discretisation.unknown_nodes if kept is None else None,
        components=system.discretisation.unknown_components,
    )
    if kept is not None:
        operator.quality = kept.quality
    if rescale:
        rescale_outputs(network, operator)
    return LeastSquares(network, system.nodes.at(operator.here), operator)


def scaled_weights(weights: np.ndarray, settings: Settings, components: np.ndarray) -> np.ndarray:
    """Weights (N,) of a norm, with components (N,) in units of their own if the settings have them."""
    if settings.loss.scales is None:
        return weights
    return weights / np.asarray(settings.loss.scales)[components] ** 2


def _dense(settings: Settings) -> bool | str:
    """A dense P^-1 A pays for itself over thousands of cheap steps, not over tens of expensive ones."""
    if isinstance(settings.preconditioner, Schwarz):
        return False
    dense: str = settings.preconditioner.dense
    if dense == "auto":
        return False if isinstance(settings.optimiser, GaussNewton) else "auto"
    return dense == "true"
