"""Which parameters a step is trained on: fresh ones, and ones near those where the error was large."""

from __future__ import annotations

import torch
from torch import Tensor

from .family import Parameters

_KEPT = 8  # steps whose errors are remembered
_NEAR = 0.15  # how far from remembered parameters new ones are drawn, in scaled parameters


class Sampling:
    """Scaled parameters (S, K) step by step; all that changes is in `state`.

    Args:
        parameters: what to draw.
        count: samples S of a step.
        adaptive: part of them that is drawn near remembered ones, in proportion to the error there.
        seed: of the random numbers.
    """

    def __init__(self, parameters: Parameters, count: int, adaptive: float, seed: int) -> None:
        self.parameters, self.count, self.adaptive = parameters, count, adaptive
        self._random = torch.Generator().manual_seed(seed)
        self._z = torch.empty(0, parameters.count, dtype=torch.float64)
        self._errors = torch.empty(0, dtype=torch.float64)

    def draw(self) -> Tensor:
        """Parameters of the next step."""
        K, near = self.parameters.count, round(self.adaptive * self.count) if len(self._z) else 0
        uniform = torch.rand(self.count - near, K, generator=self._random, dtype=torch.float64)
        fresh = self.parameters.draw(uniform.clamp(1e-12, 1 - 1e-12))
        if not near or not float(self._errors.sum()) > 0:
            more = torch.rand(near, K, generator=self._random, dtype=torch.float64)
            return torch.cat([fresh, self.parameters.draw(more.clamp(1e-12, 1 - 1e-12))])
        which = torch.multinomial(self._errors, near, replacement=True, generator=self._random)
        step = _NEAR * torch.randn(near, K, generator=self._random, dtype=torch.float64)
        return torch.cat([fresh, (self._z[which] + step).clamp(-1, 1)])

    def fresh(self, errors: Tensor) -> Tensor:
        """Those of the errors (S,) of a step that belong to parameters drawn afresh."""
        return errors[: self.count - round(self.adaptive * self.count)]

    def learn(self, z: Tensor, errors: Tensor) -> None:
        """Remember the errors (S,) at parameters (S, K)."""
        keep = _KEPT * self.count
        usable = torch.nan_to_num(errors.detach().cpu(), nan=0.0, posinf=0.0)
        self._z, self._errors = torch.cat([self._z, z.cpu()])[-keep:], torch.cat([self._errors, usable])[-keep:]

    def state(self) -> dict[str, Tensor]:
        """For checkpoints."""
        return {"random": self._random.get_state(), "pool": self._z, "pool_errors": self._errors}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Inverse of `state`."""
        self._random.set_state(state["random"].cpu())
        self._z, self._errors = state["pool"].cpu(), state["pool_errors"].cpu()
