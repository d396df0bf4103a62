"""Any optimiser of torch.optim, its state kept as plain tensors so that checkpoints can hold it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import PcpinnError
from .loss import Loss
from .optimiser import Advance, Optimiser, State

_BEGUN = "begun"  # whether a step has been taken: the first one may differ from the others
_SUPPORTED = (Tensor, int, float, type(None))


@dataclass(frozen=True, init=False)
class TorchOptimiser(Optimiser):
    """A class of torch.optim with its options, such as TorchOptimiser(torch.optim.NAdam, lr=1e-3) or TorchOptimiser("nadam").

    Attributes:
        kind: the class; by its name, in any case, if it is one of torch's own.
        options: its keyword arguments, as torch documents them. One parameter group, no schedule.
    """

    kind: type[torch.optim.Optimizer]
    options: Mapping[str, Any] = field(hash=False)

    def __init__(self, kind: type[torch.optim.Optimizer] | str, **options: Any) -> None:
        object.__setattr__(self, "kind", _named(kind) if isinstance(kind, str) else kind)
        object.__setattr__(self, "options", dict(options))
        if not (isinstance(self.kind, type) and issubclass(self.kind, torch.optim.Optimizer)):
            raise PcpinnError(f"{kind!r} is not a class of optimisers", "give a class such as torch.optim.NAdam")
        self._made(nn.Parameter(torch.zeros(2)))

    @property
    def name(self) -> str:  # type: ignore[override]
        """How reports refer to it."""
        return self.kind.__name__.lower()

    def start(self, problem: Loss, seed: int) -> State:
        """Room for all that torch's optimiser remembers, on the device of the weights; no step is taken yet."""
        theta = problem.theta.detach()
        state = {
            k: torch.zeros_like(_packed(v, theta.device)) for k, v in self._after_steps(theta).items() if v is not None
        }
        return state | {_BEGUN: torch.zeros((), dtype=torch.int64, device=theta.device)}

    def step(self, problem: Loss, state: State) -> float:
        """One update; returns the loss before it."""
        return self.bind(problem, state)(1)[0]

    def bind(self, problem: Loss, state: State) -> Advance:
        """Steps of one torch optimiser; after each, its state is copied into ours."""
        theta = problem.theta
        optimiser = self._made(theta)
        if bool(state[_BEGUN]):
            kept = self._after_steps(theta.detach())
            optimiser.state[theta] = {k: None if v is None else _unpacked(state[k], v) for k, v in kept.items()}

        def closure() -> float:
            with torch.enable_grad():
                loss = problem.loss()
            (theta.grad,) = torch.autograd.grad(loss, theta)
            return float(loss.detach())

        def advance(most: int) -> list[float]:
            before: Any = optimiser.step(closure)
            theta.grad = None
            for key, value in optimiser.state[theta].items():
                if value is not None:
                    state[key].copy_(_packed(value, theta.device))
            state[_BEGUN].fill_(1)
            return [float(before)]

        return advance

    def _made(self, theta: nn.Parameter) -> torch.optim.Optimizer:
        """Torch's optimiser of theta.

        Raises:
            PcpinnError: when it does not take the options, or cannot train one vector.
        """
        try:
            return self.kind([theta], **self.options)
        except (TypeError, ValueError, RuntimeError) as error:
            known = ", ".join(list(inspect.signature(self.kind).parameters)[1:])
            raise PcpinnError(f"{self.kind.__name__}: {error}", f"its options are {known}; or {_OTHERS}") from error

    def _after_steps(self, theta: Tensor) -> dict[str, Any]:
        """What torch's optimiser remembers of weights like theta (p,), by steps on a copy of them.

        Raises:
            PcpinnError: when it cannot take a step, or remembers more than tensors and numbers.
        """
        trial = nn.Parameter(theta.clone())
        trial.grad = torch.ones_like(theta)
        optimiser = self._made(trial)
        try:
            for _ in range(2):
                optimiser.step(lambda: 0.0)
        except Exception as error:
            raise PcpinnError(f"{self.kind.__name__} cannot train one vector of weights: {error}", _OTHERS) from error
        state: dict[str, Any] = optimiser.state[trial]
        strange = [k for k, v in state.items() if not isinstance(v, _SUPPORTED)]
        if strange:
            raise PcpinnError(
                f"the state of {self.kind.__name__} cannot be kept in checkpoints: {', '.join(strange)} are not tensors",
                _OTHERS,
            )
        return state


_OTHERS = "use another, such as torch.optim.NAdam, or one of pcpinn's own: GaussNewton, Adam, LBFGS, SOAP"


def _named(name: str) -> type[torch.optim.Optimizer]:
    """One of torch's own, by its name in any case."""
    own = {
        k.lower(): v
        for k, v in vars(torch.optim).items()
        if isinstance(v, type) and issubclass(v, torch.optim.Optimizer) and v is not torch.optim.Optimizer
    }
    if name.lower() not in own:
        raise PcpinnError(f"torch has no optimiser {name!r}", f"it has {', '.join(sorted(own))}")
    return own[name.lower()]


def _packed(value: Tensor | float, device: torch.device) -> Tensor:
    """As a tensor on the device; an int as int64, a float as float64."""
    if isinstance(value, Tensor):
        return value.detach().to(device)
    return torch.tensor(value, dtype=torch.int64 if isinstance(value, int) else torch.float64, device=device)


def _unpacked(tensor: Tensor, like: Tensor | float) -> Tensor | float:
    """A copy of the kind, precision and device that torch's optimiser uses itself."""
    return tensor.to(like, copy=True) if isinstance(like, Tensor) else type(like)(tensor.item())
