"""Where the network of a march begins: its hidden weights, the initial values, and each window's first guess."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ...discretize.equation import Nodes
from ...discretize.window import MarchSpace
from ...network.dense import DenseNetwork
from ...network.marched import Plan
from ...network.placed import PlacedNetwork
from ...precondition import Schwarz, misfit
from ...precondition.window_parts import fitted_to_levels
from ...progress import Progress
from ...team import ALONE
from ...train import LeastSquares, Stopping, rescale_outputs, train
from ..build import make_optimiser
from ..loss import scaled_weights
from ..settings import Settings
from .deadline import Deadline
from .training import WindowTrainer

_REFITS = 3  # least-squares steps: damping takes a little from each


def spread_biases(network: DenseNetwork, seed: int) -> None:
    """Without sines and cosines as inputs: hidden biases from [-1, 1], since with none all features are odd about the centre."""
    if network.frequencies.shape[1] or network.architecture.initialisation in ("cells", "radial"):
        return
    generator = torch.Generator().manual_seed(seed + 1)
    with torch.no_grad():
        for _, bias in network.layers(network.theta)[:-1]:
            bias.copy_((2 * torch.rand(len(bias), generator=generator, dtype=torch.float64) - 1).to(bias))


def space_weights(space: MarchSpace, settings: Settings) -> np.ndarray:
    """(n,) weights of the norm in space."""
    weights = np.full(space.size, 1 / space.size) if settings.loss.norm == "uniform" else space.weights
    return scaled_weights(weights, settings, space.form.space.unknown_components)


def fit_start(
    network: DenseNetwork,
    space: MarchSpace,
    plan: Plan,
    initial: Tensor,
    settings: Settings,
    progress: Progress,
    deadline: Deadline,
    trainer: WindowTrainer,
) -> Tensor:
    """Train the network on the initial values, in one head; all heads get its weights.

    Features are those of the trainer, where it has them for the same points.

    Raises:
        OutOfTime: when the time limit is over before that.
    """
    one = _single_head(network, network.theta.detach(), plan)
    loss = _of_start(one, space, initial, settings, trainer)
    rescale_outputs(one, loss.operator)
    optimiser, _ = make_optimiser(settings, one, loss.size)
    stopping = Stopping(
        settings.time.start_iterations,
        0.1 * settings.time.tolerance,
        deadline.left,
        settings.optimiser.patience or 0,
    )
    heads = trainer.heads.anew()
    if settings.time.head_steps:
        heads.step(loss)
    if settings.time.start_iterations:
        train(loss, optimiser, stopping, optimiser.start(loss, settings.run.seed), progress, name="initial values")
        deadline.check()
    for _ in range(min(2, settings.time.head_steps)):
        heads.step(loss, afresh=False)
    with torch.no_grad():
        if not network.output_scale.ndim:
            network.output_scale.copy_(one.output_scale)
        network.theta.copy_(_in_all_heads(network, one, plan))
    return network.theta.detach().clone()


def refit_start(
    network: DenseNetwork,
    theta: Tensor,
    space: MarchSpace,
    plan: Plan,
    values: Tensor,
    settings: Settings,
    trainer: WindowTrainer,
) -> Tensor:
    """The weights theta of the start with another last layer: values (n,) of some fields are known after the first step only."""
    one = _single_head(network, theta, plan)
    with torch.no_grad():
        for own, whole in zip(one.layers(one.theta)[-1], network.layers(theta)[-1], strict=True):
            own.copy_(whole[: plan.components])
        if not network.output_scale.ndim:
            one.output_scale.copy_(network.output_scale)
    loss, heads = _of_start(one, space, values, settings, trainer), trainer.heads.anew()
    for _ in range(_REFITS):
        heads.step(loss, afresh=False)
    return _in_all_heads(network, one, plan)


def _of_start(
    one: DenseNetwork, space: MarchSpace, values: Tensor, settings: Settings, trainer: WindowTrainer
) -> LeastSquares:
    """How far a network of one time level is from values (n,)."""
    here, team = None, ALONE
    if isinstance(P := settings.preconditioner, Schwarz):
        fitted = fitted_to_levels(P, space, 1)
        here, team = fitted.shards.here, fitted.team
    weights, theta = space_weights(space, settings), one.theta
    operator = misfit(values.cpu().numpy(), weights, theta.dtype, theta.device, here=here, team=team)
    own = space.nodes(1).at(here)
    return LeastSquares(one, own, operator, placed=_placed_alike(one, own, trainer))


def _in_all_heads(network: DenseNetwork, one: DenseNetwork, plan: Plan) -> Tensor:
    """Weights of the network with those of one time level for all of them."""
    theta, whole = one.theta.detach(), network.theta.detach().clone()
    trunk = theta[: -one.head_size]
    whole[: len(trunk)] = trunk
    for own, repeated in zip(one.layers(theta)[-1], network.layers(whole)[-1], strict=True):
        repeated.copy_(own.repeat(plan.layers, *(1,) * (own.ndim - 1)))
    return whole


def _placed_alike(one: DenseNetwork, nodes: Nodes, trainer: WindowTrainer) -> PlacedNetwork:
    """A network with the features of the trainer's at nodes that are the trainer's, too, unless parts are dealt out otherwise."""
    points, known = torch.as_tensor(nodes.points).to(one.theta), trainer.placed
    same = points.shape == known.points.shape and torch.equal(points, known.points)
    return PlacedNetwork(one, points, known.room, known.encoded if same else None)


def _single_head(network: DenseNetwork, theta: Tensor, plan: Plan) -> DenseNetwork:
    """A network with the hidden layers of theta, for one time level."""
    lower = (network.centre - network.half_width).tolist()
    upper = (network.centre + network.half_width).tolist()
    one = DenseNetwork(
        network.architecture, lower, upper, plan.components, torch.Generator().manual_seed(0), network.theta.dtype
    )
    one = one.to(network.theta.device)
    with torch.no_grad():
        one.frequencies.copy_(network.frequencies)
        if network.output_scale.ndim:
            one.output_scale = network.output_scale[: plan.components].clone()
        trunk = theta[: -network.head_size]
        one.theta[: len(trunk)] = trunk
    return one


def guesses_for(network: DenseNetwork, theta: Tensor, plan: Plan, number: int) -> list[Tensor]:
    """Weights to begin a window with: the last layer repeated, or all time levels continued by their polynomial in time."""
    C, L = plan.components, plan.layers

    def with_heads(table: np.ndarray) -> Tensor:
        result = theta.clone()
        weight, bias = network.layers(result)[-1]
        mix = torch.from_numpy(table).to(theta)
        weight.copy_(torch.einsum("ij,jcw->icw", mix, weight.clone().unflatten(0, (L, C))).flatten(0, 1))
        bias.copy_((mix @ bias.clone().unflatten(0, (L, C))).flatten())
        return result

    last = np.zeros((L, L))
    last[:, -1] = 1.0
    guesses = [with_heads(last)]
    if number and plan.per_window == 1 and L > 1:
        nodes = plan.steps.nodes
        table = np.stack(
            [
                np.prod([(1 + nodes - other) / (own - other) for i, other in enumerate(nodes) if i != j], axis=0)
                for j, own in enumerate(nodes)
            ],
            axis=1,
        )
        guesses.append(with_heads(table))
    return guesses
