"""Parameters of a family from data, through its surrogate: Gauss-Newton, and the posterior of `pcpinn.infer` around the result.

Derivatives are those of the network, so nothing is solved. What the surrogate itself may be wrong by counts as noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import PcpinnError
from ..invert.posterior import Block, Linearised
from .surrogate import Surrogate

_STEPS = 30
_SMALL = 1e-8
_DRAWN = 4096  # samples that tell the spread of the prior
_REACH = 0.3  # longest step, in scaled parameters


@dataclass(frozen=True)
class Calibration:
    """What data say of parameters.

    Attributes:
        labels: names of the numbers.
        mean: (K,) most likely values.
        scaled_mean, scaled_factor: (K,) and (K, r), of the posterior of scaled parameters: its covariance is F F^T.
        parameters: of the family.
        misfit: sum of squared differences in units of the noise.
        model_error: standard deviation that stands for the surrogate's own error.
        steps: of Gauss-Newton.
    """

    labels: tuple[str, ...]
    mean: np.ndarray
    scaled_mean: np.ndarray
    scaled_factor: np.ndarray
    parameters: Any
    misfit: float
    model_error: float
    steps: int

    def sample(self, count: int, seed: int = 0) -> np.ndarray:
        """(count, K) values of the posterior, kept inside the ranges."""
        random = np.random.default_rng(seed).normal(size=(count, self.scaled_factor.shape[1]))
        z = np.clip(self.scaled_mean + random @ self.scaled_factor.T, -1, 1)
        values: np.ndarray = self.parameters.value(torch.from_numpy(z)).numpy()
        return values

    @property
    def std(self) -> np.ndarray:
        """(K,) standard deviations of the values, to first order."""
        z = torch.from_numpy(self.scaled_mean)
        slope = torch.autograd.functional.jacobian(self.parameters.value, z).numpy()
        return np.sqrt(((slope @ self.scaled_factor) ** 2).sum(axis=1))


def calibrate(surrogate: Surrogate, points: Any, values: Any, noise: float, field: str | None = None) -> Calibration:
    """The parameters that data speak for, and how far they may be off.

    Args:
        surrogate: of the family.
        points: (m, d) places of the data.
        values: (m,) data.
        noise: their standard deviation.
        field: which field they are of, where there are several.

    Raises:
        PcpinnError: for data that do not fit.
    """
    x, y = (np.asarray(a, dtype=np.float64) for a in (points, values))
    if y.ndim != 1 or len(x) != len(y) or not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise PcpinnError(f"{len(x)} points and values of shape {y.shape}", "give one finite number per point")
    if not noise > 0:
        raise PcpinnError(f"noise={noise:g} must be positive", "give the standard deviation of the data")
    parameters = surrogate.parameters
    places = torch.from_numpy(x)

    def predicted(z: Tensor) -> Tensor:
        found: Tensor = surrogate(places, parameters.value(z), field).double().cpu()
        if found.ndim != 1:
            raise PcpinnError("data of several fields at once", "name one: field=...")
        return found

    random = torch.rand(_DRAWN, parameters.count, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    prior = parameters.draw(random)
    spread, centre = prior.std(0).numpy(), prior.mean(0).numpy()
    z, model, done = centre, 0.0, 0
    for done in range(1, _STEPS + 1):
        at = torch.from_numpy(z)
        u = predicted(at).detach().numpy()
        J = torch.autograd.functional.jacobian(predicted, at).numpy()
        model = _model_error(surrogate, parameters.value(at), u) if done > 1 else 0.0
        size = np.hypot(noise, model)
        found = Linearised((y - u) / size, [Block(None, J / size, J, z, spread, centre)], u).posterior([None])
        step = found.means[0] - z
        z = np.clip(z + step * min(1.0, _REACH / max(float(np.abs(step).max()), 1e-300)), -1, 1)
        if float(np.abs(step).max()) <= _SMALL:
            break
    mean = parameters.value(torch.from_numpy(z)).numpy()
    return Calibration(parameters.labels, mean, z, found.factors[0], parameters, found.misfit, float(model), done)


def _model_error(surrogate: Surrogate, mu: Tensor, u: np.ndarray) -> float:
    """What the surrogate may be wrong by at the data: its estimated relative error times their usual size."""
    if surrogate.family is None:
        return 0.0
    return float(surrogate.estimate(mu)) * float(np.sqrt(np.mean(u**2)))
