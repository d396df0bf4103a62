"""L-BFGS by torch, its state kept as plain tensors so that checkpoints can hold it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch

from .loss import Loss
from .optimiser import OPTIMISERS, Optimiser, State

_LINE_SEARCH = 25  # evaluations in one, at most
_LISTS = ("old_dirs", "old_stps", "ro")


@OPTIMISERS.register
@dataclass(frozen=True)
class LBFGS(Optimiser):
    """Quasi-Newton steps with a strong Wolfe line search.

    Attributes:
        pairs: steps and changes of the gradient that are remembered.
    """

    pairs: int = 50
    iterations: int = field(default=2_000, kw_only=True)

    name: ClassVar[str] = "lbfgs"
    positive: ClassVar[tuple[str, ...]] = ("pairs",)

    def start(self, problem: Loss, seed: int) -> State:
        """No memory yet."""
        return {}

    def step(self, problem: Loss, state: State) -> float:
        """One iteration (several evaluations in its line search); returns the loss before it."""
        theta = problem.theta
        # Absolute tolerances off; torch counts the line search's evaluations against max_eval, which is 1 for one iteration.
        optimiser = torch.optim.LBFGS(
            [theta],
            lr=1.0,
            max_iter=1,
            max_eval=1 + _LINE_SEARCH,
            tolerance_grad=0.0,
            tolerance_change=0.0,
            history_size=self.pairs,
            line_search_fn="strong_wolfe",
        )
        if state:
            optimiser.state[theta] = _unpack(state)

        def closure() -> torch.Tensor:
            optimiser.zero_grad()
            value = problem.loss()
            value.backward()
            return value

        before = float(optimiser.step(closure).detach())
        theta.grad = None
        state.clear()
        state.update(_pack(optimiser.state[theta]))
        return before


def _pack(inner: dict[str, Any]) -> State:
    """Lists of tensors are stacked; numbers become tensors."""
    packed: State = {}
    for key, value in inner.items():
        if key in _LISTS:
            if value:
                packed[key] = torch.stack([torch.as_tensor(v) for v in value])
        elif isinstance(value, torch.Tensor):
            packed[key] = value.clone()
        elif isinstance(value, int | float):
            packed[key] = torch.tensor(value, dtype=torch.int64 if isinstance(value, int) else torch.float64)
    return packed


def _unpack(state: State) -> dict[str, Any]:
    inner: dict[str, Any] = {key: [] for key in _LISTS}
    for key, value in state.items():
        if key in _LISTS:
            inner[key] = list(value.unbind(0))
        elif value.ndim == 0 and key in ("func_evals", "n_iter"):
            inner[key] = int(value)
        elif value.ndim == 0 and key in ("t", "prev_loss"):
            inner[key] = float(value)
        else:
            inner[key] = value
    return inner
