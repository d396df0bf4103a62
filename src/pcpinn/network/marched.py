"""The answer of a march: a network per window of time, with a head per time level, as one function of space and time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..discretize.step_scheme import StepScheme, step_scheme
from .dense import DenseNetwork
from .gathered import gather_march


@dataclass(frozen=True)
class Plan:
    """The steps of a march.

    Attributes:
        scheme, order: of each step (see step_scheme).
        per_window: steps per window.
        components: number of scalar components C.
        shown: how many of them, the first ones, are values of the answer; None for all. Others are rates of its fields.
    """

    scheme: str
    order: int
    per_window: int
    components: int
    shown: int | None = None

    @property
    def steps(self) -> StepScheme:
        """The scheme of a step."""
        return step_scheme(self.scheme, self.order)

    @property
    def layers(self) -> int:
        """New time levels per window."""
        return self.per_window * self.steps.order

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


class MarchedNetwork(nn.Module):
    """u(x, t) from the weights of all windows; in a step, by the polynomial of its scheme through the time levels.

    Args:
        base: a network of space with C outputs per time level of a window; its own weights are not used.
        plan: the steps.
        times: (S + 1,) ends of all steps.
        thetas: (windows + 1, p): row 0 has the initial values in every head.
    """

    times: Tensor

    def __init__(self, base: DenseNetwork, plan: Plan, times: np.ndarray, thetas: Tensor) -> None:
        super().__init__()
        self.base, self.plan = base, plan
        self.theta = nn.Parameter(thetas)
        self.register_buffer("times", torch.as_tensor(times, dtype=torch.float64))
        self.outputs = plan.shown or plan.components
        self._scheme = plan.steps

    @property
    def parameter_count(self) -> int:
        """Number of weights of all windows."""
        return self.theta.numel()

    @property
    def inputs(self) -> int:
        """Number of coordinates, time included."""
        return self.base.inputs + 1

    @property
    def windows(self) -> int:
        """Number of windows."""
        return len(self.theta) - 1

    def forward(self, x: Tensor) -> Tensor:
        """Points (..., d + 1), time last -> (..., C)."""
        flat = x.reshape(-1, x.shape[-1])
        if torch.compiler.is_compiling():  # a graph of operations cannot branch on numbers
            trunks, heads = self.theta.tensor_split([self.theta.shape[1] - self.base.head_size], dim=1)
            every = torch.arange(len(self.theta), device=x.device)
            values = gather_march(self.base, self.plan, self.times, (trunks, heads, every), self.outputs, flat)
            return values.reshape(*x.shape[:-1], self.outputs)
        result = torch.zeros(len(flat), self.outputs, dtype=flat.dtype, device=flat.device)
        t = flat[:, -1]
        with torch.no_grad():
            found = torch.searchsorted(self.times.to(t.device), t.double().contiguous()) - 1
            step = found.clamp(0, len(self.times) - 2)
        for k in torch.unique(step).tolist():
            own = (step == k).nonzero()[:, 0]
            result = result.index_put((own,), self._in_step(k, flat[own]))
        return result.reshape(*x.shape[:-1], self.outputs)

    def _in_step(self, k: int, x: Tensor) -> Tensor:
        scheme = self._scheme.starter if k == 0 else self._scheme
        start, end = float(self.times[k]), float(self.times[k + 1])
        place = (x[:, -1] - start) / (end - start)
        layers = np.concatenate([scheme.past, scheme.nodes])
        last = (k + 1) * self._scheme.order  # time levels are numbered from the start: 0 has the initial values
        numbers = range(last - len(layers) + 1, last + 1)
        total = torch.zeros(len(x), self.outputs, dtype=x.dtype, device=x.device)
        cache: dict[int, Tensor] = {}
        for j, (at, number) in enumerate(zip(layers, numbers, strict=True)):
            weight = torch.ones_like(place)
            for i, other in enumerate(layers):
                if i != j:
                    weight = weight * (place - other) / (at - other)
            total = total + weight[:, None] * self._layer(number, x[:, :-1], cache)
        return total

    def _layer(self, number: int, x: Tensor, cache: dict[int, Tensor]) -> Tensor:
        """As `layer`, with all heads of a window evaluated once."""
        window, head = divmod(max(number, 0) - 1, self.plan.layers)
        if window not in cache:
            values = self.base.evaluate(self.theta[window + 1].to(x), x)
            cache[window] = values.unflatten(1, (self.plan.layers, self.plan.components))
        return cache[window][:, head, : self.outputs]


class RecordedMarch(nn.Module):
    """A march as a graph of operations records it, with hidden layers once for all windows that share them."""

    times: Tensor
    trunks: Tensor
    heads: Tensor
    which: Tensor

    def __init__(self, march: MarchedNetwork) -> None:
        super().__init__()
        packed = pack_windows(march.theta.detach().cpu().numpy(), march.base.head_size)
        rows = _trunk_of(packed["since"], march.windows + 1)
        self.base, self.plan, self.outputs = march.base, march.plan, march.outputs
        for name, array in (("times", march.times), ("trunks", packed["trunks"]), ("heads", packed["heads"])):
            self.register_buffer(name, torch.as_tensor(array))
        self.register_buffer("which", torch.as_tensor(rows))

    def forward(self, x: Tensor) -> Tensor:
        """Points (n, d + 1), time last -> (n, C)."""
        weights = (self.trunks, self.heads, self.which)
        return gather_march(self.base, self.plan, self.times, weights, self.outputs, x)


def pack_windows(thetas: np.ndarray, head_size: int) -> dict[str, np.ndarray]:
    """(windows + 1, p) -> hidden layers, once for all windows in a row that share them, and the last layer of each window."""
    trunks = thetas[:, : thetas.shape[1] - head_size]
    new = np.concatenate([[True], np.any(trunks[1:] != trunks[:-1], axis=1)])
    return {
        "trunks": np.ascontiguousarray(trunks[new]),
        "since": np.flatnonzero(new),
        "heads": np.ascontiguousarray(thetas[:, thetas.shape[1] - head_size :]),
    }


def unpack_windows(tensors: Mapping[str, np.ndarray]) -> np.ndarray:
    """Inverse of `pack_windows`.

    Raises:
        KeyError, ValueError: when the tensors are not those of a march.
    """
    since, heads, trunks = tensors["since"], tensors["heads"], tensors["trunks"]
    if since.ndim != 1 or heads.ndim != 2 or trunks.ndim != 2 or not len(since) == len(trunks) > 0:
        raise ValueError("its parts do not fit each other")
    if since[0] != 0 or (np.diff(since) <= 0).any() or since[-1] >= len(heads):
        raise ValueError("its windows are not in order")
    return np.concatenate([trunks[_trunk_of(since, len(heads))], heads], axis=1)


def _trunk_of(since: np.ndarray, rows: int) -> np.ndarray:
    """(rows,) for each window the number of its hidden layers."""
    return np.searchsorted(since, np.arange(rows), side="right") - 1
