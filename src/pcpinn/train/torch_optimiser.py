"""Any optimiser of torch.optim, its state kept as plain tensors so that checkpoints can hold it."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ..errors import PcpinnError
from ..recipes import Registry
from .loss import Loss
from .optimiser import OPTIMISERS, Advance, Optimiser, State

ALGORITHMS: Registry[type[torch.optim.Optimizer]] = Registry("torch optimiser", "torch_optimisers")
for _key, _value in sorted(vars(torch.optim).items()):
    if isinstance(_value, type) and issubclass(_value, torch.optim.Optimizer) and _value is not torch.optim.Optimizer:
        ALGORITHMS.add(_key.lower(), _value)

_BEGUN = "begun"  # whether a step has been taken: the first one may differ from the others
_SUPPORTED = (Tensor, int, float, type(None))
_OTHERS = "use another, such as torch.optim.NAdam, or one of pcpinn's own: GaussNewton, Adam, LBFGS, SOAP"


@OPTIMISERS.register
@dataclass(frozen=True, init=False)
class TorchOptimiser(Optimiser):
    """An optimiser of torch.optim, such as TorchOptimiser(torch.optim.NAdam, lr=1e-3).

    One parameter group, no schedule.

    Attributes:
        algorithm: its name in small letters, such as nadam or rmsprop. In Python also a class, which is known by its full name
            from then on.
        options: of the algorithm, as torch documents them, such as lr=0.1, momentum=0.9. In Python also as keyword arguments.
    """

    algorithm: str = "nadam"
    options: str = ""
    iterations: int = field(default=20_000, kw_only=True)

    name: ClassVar[str] = "torch"

    def __init__(
        self,
        algorithm: str | type[torch.optim.Optimizer] = "nadam",
        options: str = "",
        *,
        iterations: int = 20_000,
        patience: int | None = None,
        **more: Any,
    ) -> None:
        chosen = {**_parsed(options), **more}
        values = {
            "algorithm": _named(algorithm),
            "options": ", ".join(f"{key}={value!r}" for key, value in sorted(chosen.items())),
            "iterations": iterations,
            "patience": patience,
        }
        for key, value in values.items():
            object.__setattr__(self, key, value)
        self.__post_init__()
        if self.arguments != chosen:
            raise PcpinnError(f"{self.options} are not plain values", "give numbers, tuples, True, False or None")
        self._made(nn.Parameter(torch.zeros(2)))

    @property
    def kind(self) -> type[torch.optim.Optimizer]:
        """The class."""
        return ALGORITHMS.find(self.algorithm)

    @property
    def label(self) -> str:
        """Whose it is, and which."""
        return f"torch {self.algorithm}"

    @property
    def arguments(self) -> dict[str, Any]:
        """The options, as keyword arguments of the class."""
        return _parsed(self.options)

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
            return self.kind([theta], **self.arguments)
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


def _named(algorithm: object) -> str:
    """The name under which an optimiser is known; a class of the user's own becomes known by its full name."""
    if isinstance(algorithm, str):
        name = algorithm if algorithm in ALGORITHMS else algorithm.lower()
        ALGORITHMS.find(name)
        return name
    if not (isinstance(algorithm, type) and issubclass(algorithm, torch.optim.Optimizer)):
        raise PcpinnError(f"{algorithm!r} is not a class of optimisers", "give a class such as torch.optim.NAdam")
    short = algorithm.__name__.lower()
    if short in ALGORITHMS and ALGORITHMS.find(short) is algorithm:
        return short
    full = f"{algorithm.__module__}.{algorithm.__qualname__}"
    ALGORITHMS.add(full, algorithm)
    return full


def _parsed(options: str) -> dict[str, Any]:
    """`lr=0.1, momentum=0.9` as keyword arguments; values are Python's literals, nothing is run."""
    try:
        call = ast.parse(f"f({options})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or any(k.arg is None for k in call.keywords):
            raise ValueError
        return {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
    except (SyntaxError, ValueError, TypeError):
        raise PcpinnError(f"options={options!r} cannot be read", "write them as in lr=0.1, momentum=0.9") from None


def _packed(value: Tensor | float, device: torch.device) -> Tensor:
    """As a tensor on the device; an int as int64, a float as float64."""
    if isinstance(value, Tensor):
        return value.detach().to(device)
    return torch.tensor(value, dtype=torch.int64 if isinstance(value, int) else torch.float64, device=device)


def _unpacked(tensor: Tensor, like: Tensor | float) -> Tensor | float:
    """A copy of the kind, precision and device that torch's optimiser uses itself."""
    return tensor.to(like, copy=True) if isinstance(like, Tensor) else type(like)(tensor.item())
