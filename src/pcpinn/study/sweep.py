"""Networks of a sweep trained together: their weights are stacked, and vmap runs all of them, each on its own problem.

The networks share nothing but the points; each takes the very steps it would take alone, interrupted or not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap

from ..checkpoint import Checkpoint, Shape
from ..network.dense import split_layers
from ..network.initialisation import initialise_layer
from ..progress import Progress
from .family import Family, Located, compose
from .jets import network_jets, network_values
from .unfinished import batch_checkpoint, make_folder

_CHANNELS = 5  # value, two slopes, two second derivatives
_STATE = ("step", "exp_avg", "exp_avg_sq")  # of Adam
_KEPT = 3  # numbers that training keeps per channel, unit and point, roughly


@dataclass(frozen=True)
class Training:
    """How all networks of a sweep are trained; the defaults are the paper's (its appendix on global settings).

    Attributes:
        width, depth: hidden layers, tanh, Glorot normal.
        points: collocation points, a scrambled Sobol sequence drawn once.
        batch: how many of them a step sees, consecutive ones and so evenly spread; all of them as in the paper, if not fewer.
        iterations, learning_rate, beta1, beta2: of Adam.
        records: how often, at least, loss and error are noted.
        test: points per axis of the grid on which errors are measured.
        dtype: of the networks.
    """

    width: int = 100
    depth: int = 5
    points: int = 8192
    batch: int = 8192
    iterations: int = 20_000
    learning_rate: float = 1e-3
    beta1: float = 0.99
    beta2: float = 0.99
    records: int = 100
    test: int = 101
    dtype: torch.dtype = torch.float32


@dataclass
class Histories:
    """Of k networks: iterations (r,), losses (r, k) and relative errors (r, k); the last row is that of the result."""

    parameters: list[float]
    seeds: list[int]
    iterations: list[int] = field(default_factory=list)
    losses: list[np.ndarray] = field(default_factory=list)
    errors: list[np.ndarray] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def final_errors(self) -> np.ndarray:
        """(k,) L2RE of the trained networks."""
        return self.errors[-1]


def train_sweep(
    family: Family,
    parameters: Sequence[float],
    seeds: Sequence[int],
    training: Training,
    device: torch.device | str = "cpu",
    progress: Progress | None = None,
    seed: int = 0,
    folder: Path | None = None,
) -> Histories:
    """Train one network per parameter and seed, in as few batches as memory allows.

    Args:
        family: the problems.
        parameters, seeds: every combination is a network.
        training: the same for all.
        device: where.
        progress: told of the iterations.
        seed: of the points.
        folder: where batches keep what they need to go on after a kill, and find it again.
    """
    cases = [(p, s) for p in parameters for s in seeds]
    size = max(1, min(len(cases), _at_once(training, torch.device(device))))
    groups = [cases[i : i + size] for i in range(0, len(cases), size)]
    progress = progress or Progress()
    total = training.iterations * len(groups)
    progress.stage(f"{len(cases)} networks" + (f" in {len(groups)} batches" if len(groups) > 1 else ""), total)
    parts = []
    for number, group in enumerate(groups):
        done = number * training.iterations
        batch = Batch(family, [p for p, _ in group], [s for _, s in group], training, device, seed)
        what = [family.name, group, asdict(training), seed]
        kept = None if folder is None else batch_checkpoint(folder, number, what)
        parts.append(batch.train(lambda i, loss, done=done: progress.update(done + i, loss), kept))  # type: ignore[misc]
    return _joined(parts)


class Batch:
    """k networks, trained together."""

    def __init__(
        self,
        family: Family,
        parameters: Sequence[float],
        seeds: Sequence[int],
        training: Training,
        device: torch.device | str = "cpu",
        seed: int = 0,
    ) -> None:
        self.family, self.training = family, training
        self.parameters, self.seeds = list(parameters), list(seeds)
        like = torch.empty(0, dtype=training.dtype, device=device)
        self.shapes = _shapes(training)
        self.theta = torch.stack([_initial(self.shapes, s) for s in seeds]).to(like).requires_grad_(True)
        lower, upper = family.box
        sobol = torch.quasirandom.SobolEngine(2, scramble=True, seed=seed)
        inside = lower + (upper - lower) * sobol.draw(training.points, dtype=torch.float64)
        unit = torch.linspace(0, 1, training.test, dtype=torch.float64)
        grid = lower + (upper - lower) * torch.cartesian_prod(unit, unit)
        different = sorted(set(self.parameters))  # seeds share what depends on the parameter alone
        which = torch.tensor([different.index(p) for p in self.parameters], device=device)
        numbers = torch.tensor(different, dtype=torch.float64)
        self.inside = _cast(family.place(inside, numbers), like, which)
        self.grid = _cast(family.place(grid, numbers), like, which)
        self.exact = family.values(grid, different).to(like)[which]

    def losses(self, step: int = 0) -> Tensor:
        """Mean squared residuals (k,) at the points of a step, differentiable in the weights."""
        at = _part(self.inside, step, self.training.batch)

        def of_one(theta: Tensor, p: Tensor, lift: Tensor, distance: Tensor) -> Tensor:
            u = compose(lift, distance, network_jets(split_layers(theta, self.shapes), at.points))
            return self.family.residual(at.points, p, u[0], u[1:3].T, u[3:5].T).square().mean()

        result: Tensor = vmap(of_one)(self.theta, at.parameters, at.lift, at.distance)
        return result

    @torch.no_grad()
    def errors(self) -> Tensor:
        """L2RE (k,) on the grid."""
        at = self.grid

        def of_one(theta: Tensor, lift: Tensor, distance: Tensor, exact: Tensor) -> Tensor:
            u = lift[0] + distance[0] * network_values(split_layers(theta, self.shapes), at.points)
            return (u - exact).norm() / exact.norm()

        result: Tensor = vmap(of_one, chunk_size=16)(self.theta, at.lift, at.distance, self.exact)
        return result

    def train(self, told: Callable[[int, float], None], kept: Checkpoint | None = None) -> Histories:
        """All iterations that are left; `told` hears of the median loss now and then."""
        t = self.training
        adam = torch.optim.Adam([self.theta], t.learning_rate, (t.beta1, t.beta2))
        history = Histories(self.parameters, self.seeds)
        first = 0 if kept is None or not kept.exists() else self._go_on(adam, history, kept)
        every = max(1, t.iterations // t.records)
        started = time.perf_counter() - history.seconds
        for i in range(first, t.iterations + 1):
            losses = self.losses(i)
            if i % every == 0 or i == t.iterations:
                history.iterations.append(i)
                history.losses.append(losses.detach().cpu().double().numpy())
                history.errors.append(self.errors().cpu().double().numpy())
                told(i, float(np.median(history.losses[-1])) / 2)
            if i < t.iterations:
                (self.theta.grad,) = torch.autograd.grad(losses.sum(), self.theta)
                adam.step()
            if kept is not None and (i == t.iterations or kept.due()):
                history.seconds = time.perf_counter() - started
                self._keep(adam, history, kept, i + 1)
        history.seconds = time.perf_counter() - started
        return history

    def _keep(self, adam: torch.optim.Adam, history: Histories, kept: Checkpoint, iteration: int) -> None:
        tensors = {"theta": self.theta.detach()} | {k: adam.state[self.theta][k] for k in _STATE}
        arrays = {k: v.cpu().numpy() for k, v in tensors.items()}
        arrays |= {"iterations": np.array(history.iterations)}
        arrays |= {"losses": np.array(history.losses), "errors": np.array(history.errors)}
        make_folder(kept.path.parent)
        kept.write(arrays, {"iteration": iteration, "seconds": history.seconds})

    def _go_on(self, adam: torch.optim.Adam, history: Histories, kept: Checkpoint) -> int:
        """The iteration to begin with; weights, Adam's state and history as they were before it."""
        shape, table = tuple(self.theta.shape), (None, len(self.seeds))
        shapes: dict[str, Shape] = {"theta": shape, "exp_avg": shape, "exp_avg_sq": shape, "step": ()}
        found = kept.read(shapes | {"iterations": (None,), "losses": table, "errors": table})
        arrays = found.tensors
        try:
            iteration, history.seconds = int(found.facts["iteration"]), float(found.facts["seconds"])
        except (KeyError, TypeError, ValueError) as error:
            raise kept.damaged(repr(error)) from error
        with torch.no_grad():
            self.theta.copy_(torch.from_numpy(arrays["theta"]))
        state = {k: torch.from_numpy(arrays[k].copy()) for k in _STATE}
        adam.load_state_dict({"state": {0: state}, "param_groups": adam.state_dict()["param_groups"]})
        history.iterations = arrays["iterations"].tolist()
        history.losses, history.errors = list(arrays["losses"]), list(arrays["errors"])
        return iteration


def _shapes(training: Training) -> list[tuple[int, int]]:
    sizes = [2] + [training.width] * training.depth + [1]
    return list(zip(sizes[1:], sizes[:-1], strict=True))


def _initial(shapes: Sequence[tuple[int, int]], seed: int) -> Tensor:
    """Weights of one network, the same whichever others it is trained with."""
    generator = torch.Generator().manual_seed(seed)
    parts = []
    for out, inputs in shapes:
        weight, bias = torch.empty(out, inputs, dtype=torch.float64), torch.empty(out, dtype=torch.float64)
        initialise_layer(weight, bias, "glorot-normal", generator)
        parts += [weight.reshape(-1), bias]
    return torch.cat(parts)


def _cast(at: Located, like: Tensor, which: Tensor) -> Located:
    """In the networks' precision, on their device, once for each of them."""
    lift, distance = at.lift.to(like)[which], at.distance.to(like)[which]
    return Located(at.points.to(like), at.parameters.to(like)[which], lift, distance)


def _part(at: Located, step: int, size: int) -> Located:
    """The points of a step: one batch after the other, then from the start again."""
    count = at.points.shape[0]
    if size >= count:
        return at
    start = step % (count // size) * size
    here = slice(start, start + size)
    return Located(at.points[here], at.parameters, at.lift[..., here], at.distance[..., here])


def _at_once(training: Training, device: torch.device) -> int:
    """How many networks fit into the memory of the device, or into 1.5 GiB of the host's."""
    size = torch.finfo(training.dtype).bits // 8
    each = _KEPT * _CHANNELS * min(training.batch, training.points) * training.width * training.depth * size
    free = 0.6 * torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else 1.5 * 2**30
    return int(free // each)


def _joined(parts: Sequence[Histories]) -> Histories:
    first = parts[0]
    rows = range(len(first.iterations))
    return Histories(
        [p for part in parts for p in part.parameters],
        [s for part in parts for s in part.seeds],
        first.iterations,
        [np.concatenate([part.losses[i] for part in parts]) for i in rows],
        [np.concatenate([part.errors[i] for part in parts]) for i in rows],
        sum(part.seconds for part in parts),
    )
