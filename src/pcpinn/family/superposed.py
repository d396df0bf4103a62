"""The loss of a family whose answers are affine in its parameters: the mean over *all* parameters, not over samples of them.

With independent parameters the mean squared error is a sum over K + 1 functions of the place (see superposition.py), and the best
last layer for given hidden ones is a least-squares problem with one matrix for all of them: every trial of a step solves for it
(projected.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import PcpinnError
from ..network.trunk_branch import TrunkBranchNetwork
from ..train.damping import Nielsen
from ..train.forms import allowed
from ..train.loss import Loss
from ..train.model import Forms, Model
from ..train.optimiser import State
from .anchors import Anchors
from .loss import ROUND
from .projected import STEEPNESS, Fit, fitted, hidden_model
from .superposition import Superposition
from .system import System

PATIENCE = 8  # steps of a loss without noise after which a gain below one percent is none


@dataclass(frozen=True)
class Part:
    """Components whose degrees of freedom are at the same points: (C, n) of them, and targets (K + 1, C, n)."""

    components: list[int]
    points: Tensor
    weights: Tensor
    target: Tensor
    unit: Tensor

    def beside(self, other: Part) -> Part:
        """At the places of both, each of which count as much in all."""
        weights = torch.cat([own.weights / own.weights.sum() for own in (self, other)])
        points, target = torch.cat([self.points, other.points]), torch.cat([self.target, other.target], 2)
        return Part(self.components, points, weights, target, self.unit)


class SuperposedLoss(Loss):
    """0.5 times the mean squared error of the family, relative to the mean square of its answers, the fields counted alike.

    Args:
        network: trunk and branch, with one hidden layer in the trunk and none in the branch.
        system, anchors: the equations, P: for the report.
        answers: what to fit.
        parts: where it is fitted; at all nodes if not given.
        points: (n, d) places that parts count; the nodes if not given.

    Attributes:
        fresh: the relative error before each step: that of parameters that no step saw, since none sees any.
        since: steps that were taken with smaller networks.
        patience, round: of the stopping of its training; steps between two looks at the error.

    Raises:
        PcpinnError: for another network.
    """

    rule = Nielsen()
    patience = PATIENCE
    round = ROUND

    def __init__(
        self,
        network: Any,
        system: System,
        anchors: Anchors,
        answers: Superposition,
        parts: list[Part] | None = None,
        points: np.ndarray | None = None,
    ) -> None:
        if not isinstance(network, TrunkBranchNetwork) or network.branch[1] or network.architecture.depth != 1:
            raise PcpinnError(
                "loss=superposed needs a trunk of one hidden layer and a branch of none",
                "leave the network out, or give network=trunk-branch with depth=1 and branch_depth=0",
            )
        self.network, self.system, self.anchors, self.answers = network, system, anchors, answers
        self.fresh: list[float] = []
        self.since = 0
        theta = network.theta
        places = system.nodes.points if points is None else points
        self._encoded = network.encode(torch.as_tensor(places, dtype=theta.dtype, device=theta.device))
        self._parts = parts_of(system, answers) if parts is None else parts
        width, inputs = network.layers(theta)[0][0][0].shape
        self._hidden = width * (inputs + 1)  # weights of the trunk: the first of theta

    @property
    def theta(self) -> nn.Parameter:
        """The weights (p,)."""
        return self.network.theta

    @property
    def size(self) -> int:
        """Number of residuals."""
        return len(self.answers.v) * self.system.size

    def adapt(self, iteration: int) -> int:
        """Solve for the last layer; nothing is drawn."""
        self.fresh.append(math.sqrt(2 * self.value()))
        return 1

    def settle(self, iteration: int) -> None:
        """Nothing: there is no noise to be averaged."""

    def prepare(self) -> None:
        """Give the hidden layer the steepness with which it fits best before any training."""
        start, hidden = self.theta.detach().clone(), self._hidden
        found = []
        for factor in STEEPNESS:
            with torch.no_grad():
                self.theta[:hidden] = factor * start[:hidden]
            found.append((self.value(), self.theta.detach().clone()))
        with torch.no_grad():
            self.theta.copy_(min(found, key=lambda pair: pair[0])[1])

    # --- the last layer -----------------------------------------------------------------------------------------------

    def _fits(self, phi: Tensor) -> list[Fit]:
        return [fitted(phi, part.points, part.weights, part.target.permute(1, 2, 0)) for part in self._parts]

    def _write(self, fits: list[Fit]) -> None:
        """Into the branch: its coefficients are affine in z."""
        weight, bias = self.network.layers(self.theta.detach())[1][0]
        outputs = self.network.outputs
        mean, std = self.answers.mean.to(weight), self.answers.std.to(weight)
        scale = self.network.output_scale.expand(outputs)
        W, b = weight.unflatten(0, (outputs, -1)), bias.unflatten(0, (outputs, -1))  # views
        for part, fit in zip(self._parts, fits, strict=True):
            for o, unit, best in zip(part.components, part.unit, fit.best, strict=True):
                own = best * unit / scale[o]
                W[o] = own[:, 1:] / std
                b[o] = own[:, 0] - W[o] @ mean

    @torch.no_grad()
    def value(self) -> float:
        """The loss with the best last layer, which the network has then."""
        fits = self._fits(self.network.hidden(self.theta, self._encoded))
        self._write(fits)
        return sum(fit.loss for fit in fits)

    @torch.no_grad()
    def error(self) -> float:
        """Relative, with the last layer that there is."""
        return math.sqrt(2 * float(self.loss()))

    def loss(self) -> Tensor:
        """The loss with the last layer that there is, differentiable in all weights."""
        network, z = self.network, self.answers.design.to(self.theta)
        phi, c = network.hidden(self.theta, self._encoded, fused=True), network.head(self.theta, z)
        scale = network.output_scale.expand(network.outputs)
        total = phi.new_zeros(())
        for part in self._parts:
            at = torch.cat([phi[part.points], torch.ones_like(phi[part.points, :1])], 1)
            root = (part.weights / part.weights.sum()).sqrt()
            for k, o in enumerate(part.components):
                u = c[:, o] @ at.T * (scale[o] / part.unit[k])
                v = torch.cat([u[:1], u[1:] - u[:1]])
                total = total + 0.5 * ((v - part.target[:, k]) * root).square().sum()
        return total

    # --- what Gauss-Newton asks -----------------------------------------------------------------------------------------

    def resolve(self, recipe: Forms) -> tuple[str, int]:
        """The exact matrix of the hidden layer, on all nodes.

        Raises:
            PcpinnError: for another one, or if it does not fit into memory.
        """
        if recipe.matrix not in ("auto", "exact") or recipe.sample or recipe.even:
            raise PcpinnError(
                "loss=superposed has the exact matrix of its hidden layer, on all nodes: matrix, sample and even are not read",
                "leave them out, or take loss=sampled",
            )
        rows = max(len(part.points) for part in self._parts)
        needed = 8 * (2 * rows * self._hidden + 4 * self._hidden**2) / 2**30
        most = allowed(recipe, self.theta.device)
        if needed > most:
            raise PcpinnError(
                f"the matrix of {self._hidden} hidden weights on {rows} nodes needs {needed:.1f} GiB",
                f"take a narrower network (width), or raise memory (now {most:g} GiB for it)",
            )
        return "exact", rows

    @torch.no_grad()
    def model_here(self, recipe: Forms, state: State) -> Model:
        """At the present hidden weights, with the best last layer; its second derivative is not known."""
        network = self.network

        def fit(phi: Tensor) -> list[Fit]:
            fits = self._fits(phi)
            self._write(fits)
            return fits

        layer, *_ = network.layers(self.theta.detach())[0]
        return hidden_model(layer, network.activation, self._encoded, fit, self.theta.detach())

    # --- record ---------------------------------------------------------------------------------------------------------

    def describe(self) -> dict[str, Any]:
        """Of the anchors, for the report."""
        return self.anchors.describe()

    def state(self) -> dict[str, Tensor]:
        """What was seen."""
        return {"fresh": torch.tensor(self.fresh, dtype=torch.float64), "since": torch.tensor(self.since)}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Inverse of `state`."""
        self.fresh, self.since = state["fresh"].tolist(), int(state["since"])

    def continued_by(self, other: SuperposedLoss) -> None:
        """Hand over to the loss of a larger network."""
        other.fresh, other.since = self.fresh, len(self.fresh)


def grouped(system: System) -> list[tuple[list[int], Tensor, Tensor]]:
    """Components, their degrees of freedom (C, n) and points (n,), for each set of points that some have in common."""
    nodes = system.nodes
    point_of, component_of = torch.as_tensor(nodes.point_of), torch.as_tensor(nodes.component_of)
    result: list[tuple[list[int], list[Tensor], Tensor]] = []
    for component in range(int(component_of.max()) + 1):
        rows = (component_of == component).nonzero()[:, 0]
        rows = rows[point_of[rows].argsort()]
        same = [g for g in result if torch.equal(g[2], point_of[rows])]
        if same:
            same[0][0].append(component)
            same[0][1].append(rows)
        else:
            result.append(([component], [rows], point_of[rows]))
    return [(components, torch.stack(rows), points) for components, rows, points in result]


def units(system: System, answers: Superposition) -> Tensor:
    """(N,) root mean square of the field that each degree of freedom is of, over place and parameters."""
    first = torch.as_tensor(system.nodes.component_of, device=system.device) == 0
    sizes = (system.sizes(answers.v).square().sum(0) / system.weights[first].sum()).sqrt()
    return torch.where(sizes > 0, sizes, 1.0)[system.field_of]


def parts_of(system: System, answers: Superposition, most: int | None = None, seed: int = 0) -> list[Part]:
    """All degrees of freedom, by sets of points; at most so many points of each, drawn at random."""
    unit, device = units(system, answers), system.device
    result = []
    for components, rows, points in grouped(system):
        if most is not None and most < len(points):
            some = torch.randperm(len(points), generator=torch.Generator().manual_seed(seed))[:most].sort().values
            rows, points = rows[:, some], points[some]
        own, at = rows.to(device), points.to(device)
        target, scale = answers.v[:, own] / unit[own], unit[own[:, 0]]
        result.append(Part(components, at, system.weights[own[0]], target, scale))
    return result
