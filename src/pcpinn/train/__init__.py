"""Training: losses, optimisers, the loop, its history and its checkpoints."""

from ..recipes import import_all
from .adam import Adam
from .checkpoint import Checkpoints, Snapshot
from .gauss_newton import GaussNewton
from .history import History
from .lbfgs import LBFGS
from .least_squares import LeastSquares, rescale_outputs
from .loop import Stopping, Training, train
from .loss import Loss
from .optimiser import OPTIMISERS, Optimiser, State
from .soap import SOAP
from .torch_optimiser import TorchOptimiser
from .watch import Watch

import_all(__name__)  # a new file registers itself

__all__ = [
    "LBFGS",
    "OPTIMISERS",
    "SOAP",
    "Adam",
    "Checkpoints",
    "GaussNewton",
    "History",
    "LeastSquares",
    "Loss",
    "Optimiser",
    "Snapshot",
    "State",
    "Stopping",
    "TorchOptimiser",
    "Training",
    "Watch",
    "rescale_outputs",
    "train",
]
