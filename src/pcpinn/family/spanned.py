"""The loss of a family in coordinates: functions that span the answers are found first, then a branch learns their coordinates.

Answers at some parameters (by corrections with the shared P, as in every loss of families) have a few functions of the place in
common. A trunk is fitted to these once, as to those of a superposition. What is left to learn is how coordinates depend on the
parameters, and no point of the mesh takes part in that: a step of Adam costs what a small perceptron costs. Fresh parameters come
all the time; the network's values there are corrected, and the coordinates of what comes of it join a pool that steps draw from.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import PcpinnError
from ..network.dense import split_layers
from ..network.trunk_branch import TrunkBranchNetwork
from ..train import GaussNewton, Stopping, train
from ..train.loss import Loss
from .anchors import Anchors
from .between import Between
from .budget import BETWEEN, FUNCTIONS, Budget
from .discretise import AnySystem
from .family import Family
from .loss import ROUND
from .nodal import NodalNetwork
from .sampling import Sampling
from .sensed import sensing_layer
from .settled import settled
from .span import Span
from .superposed import PATIENCE, Part, SuperposedLoss, parts_of
from .units import nodes_for

_TRUNK_STEPS = 60
_BETWEEN = 3.0  # of an error at nodes: one that is more is one between them
_POOL = 32_768  # parameters of the pool, the latest ones
_FIRST = 0.1  # size of the last layer's first weights, relative to those of coordinates
_MEMORY = 0.1  # of all steps so far: over so many weights are averaged


class SpannedLoss(Loss):
    """0.5 times the mean squared relative error of coordinates, over parameters of a pool.

    Its weights are those of a perceptron from parameters to coordinates. The network of the family, whose branch ends in the
    trunk's last layer, is the mean of these weights over the last tenth of all steps, put together with the trunk (`settle`).

    Args:
        network: trunk and branch; the trunk has one hidden layer.
        functions: the same with a branch of no hidden layer, on r coordinates: it is trained to be the functions of the span.
        family, system, anchors: parameters, equations, P.
        span: the functions.
        sampling: which parameters.
        steps: of the optimiser between fresh parameters.
        batch: parameters in a step.
        seed: of the first weights and of what is drawn from the pool.

    Attributes:
        fresh: the mean error over parameters that the network had not seen, each time that some are drawn.
        since: always 0: such a network does not grow.
        round: steps between two looks at the error.
        trunk_error: relative error of the trunk's functions: at nodes, and where that is not all, between them, the larger one.

    Raises:
        PcpinnError: for another network.
    """

    patience = 0
    since = 0
    tolerance, rounds = (
        0.01,
        4,
    )  # of corrections: relative size of the last one of a sample (what is left is far less), the most

    wrong = 0.3  # relative size of the last correction of a sample that is no answer

    def __init__(
        self,
        network: Any,
        functions: Any,
        family: Family,
        system: AnySystem,
        anchors: Anchors,
        span: Span,
        sampling: Sampling,
        steps: int,
        batch: int,
        seed: int,
    ) -> None:
        if not isinstance(network, TrunkBranchNetwork) or not network.branch[1] or network.architecture.depth != 1:
            raise PcpinnError(
                "loss=spanned needs a trunk of one hidden layer and a branch with hidden layers",
                "leave the network out, or give network=trunk-branch with depth=1 and branch_depth=1 or more",
            )
        self.network, self.functions, self.family = network, functions, family
        self.system, self.anchors, self.span, self.sampling = system, anchors, span, sampling
        self.nodal = NodalNetwork(network, system.nodes)
        self._steps, self.round = steps, ROUND * steps
        self.fresh: list[float] = []
        self.trunk_error = float("inf")
        components = torch.tensor([f.components for f in family.base.unknowns])
        self._field_of_output = torch.arange(len(components)).repeat_interleave(components)
        self._random, self._seed = torch.Generator().manual_seed(seed), seed
        self._theta = self._first_weights(seed)
        like, K, r, fields = self._theta.data, family.count, span.count, len(span.usual)
        self._mean, self._rate = like.clone(), torch.ones((), dtype=like.dtype, device=like.device)
        self._pool = [like.new_zeros(0, k) for k in (K, r, fields)]
        self._drawn = 0  # parameters that the pool has had
        self._order = torch.zeros(steps, batch, dtype=torch.long, device=like.device)
        self._at = torch.zeros(1, dtype=torch.long, device=like.device)
        self._adapted = -1

    def _first_weights(self, seed: int) -> nn.Parameter:
        """Of the perceptron of coordinates: some units sense functions; it begins with the mean of the coordinates."""
        hidden = self.network.layers(self.network.theta.detach())[1][:-1]
        self._shapes = [(len(w), w.shape[1]) for w, _ in hidden] + [(self.span.count, len(hidden[-1][0]))]
        theta = torch.zeros(sum(o * i + o for o, i in self._shapes), dtype=torch.float64)
        layers, generator = split_layers(theta, self._shapes), torch.Generator().manual_seed(seed)
        for w, _ in layers:
            nn.init.xavier_normal_(w, generator=generator)
        places = torch.as_tensor(self.system.nodes.points, dtype=torch.float64)
        sensing_layer(self.family, places, *layers[0], seed)
        layers[-1][0].mul_(_FIRST * self.span.sizes.cpu()[:, None])  # small coordinates begin with small ones
        layers[-1][1].copy_(self.span.coordinates(self.span.z, self.span.u).mean(0))
        return nn.Parameter(theta.to(self.network.theta))

    @property
    def theta(self) -> nn.Parameter:
        """The weights (p,) of the perceptron of coordinates."""
        return self._theta

    @property
    def size(self) -> int:
        """Number of residuals of a step."""
        return self._order.shape[1] * self.span.count

    # --- the trunk ------------------------------------------------------------------------------------------------------

    def prepare(self, budget: Budget | None = None) -> None:
        """Fit the trunk to the functions, as well as a budget allows."""
        self._fit_trunk(budget or Budget())
        (weight, bias), *_ = self.functions.layers(self.functions.theta.detach())[1]
        own = self.network.layers(self.network.theta.detach())[0][0]
        for mine, its in zip(own, self.functions.layers(self.functions.theta.detach())[0][0], strict=True):
            mine.copy_(its)
        self._head = weight / self.span.sizes.to(weight), bias  # of coordinates
        self._publish()

    def _fit_trunk(self, budget: Budget) -> None:
        """At nodes; where it is wrong between them, anew at both, if that is of use."""
        system, answers = self.system, self.span.answers
        some = nodes_for(self.functions.architecture.width)
        nodes, between = parts_of(system, answers, some), Between(system, some, self._seed)
        everywhere = np.concatenate([system.nodes.points, between.points])
        beside = between.parts(answers, len(system.nodes.points))

        def at_both(parts: list[Part]) -> SuperposedLoss:
            both = [own.beside(other) for own, other in zip(parts, beside, strict=True)]
            return SuperposedLoss(self.functions, system, self.anchors, answers, both, everywhere)

        of_nodes = SuperposedLoss(self.functions, system, self.anchors, answers)
        of_others = SuperposedLoss(self.functions, system, self.anchors, answers, beside, everywhere)
        fit = SuperposedLoss(self.functions, system, self.anchors, answers, nodes)
        self.trunk_error = self._fit_functions(FUNCTIONS, fit, of_nodes, budget)
        off = of_others.error()
        if off > _BETWEEN * max(self.trunk_error, self.span.left):
            kept = self.functions.theta.detach().clone()
            self._fit_functions(BETWEEN, at_both(nodes), at_both(parts_of(system, answers)), budget)
            worst = max(of_nodes.error(), of_others.error())
            if off > _BETWEEN * worst:
                self.trunk_error = worst
            else:  # that is what polynomials in cells are off
                with torch.no_grad():
                    self.functions.theta.copy_(kept)

    def _fit_functions(self, part: str, fit: SuperposedLoss, whole: SuperposedLoss, budget: Budget) -> float:
        """Train the trunk from the units of the span on; the last layer is that of the whole loss. Returns its error."""
        (weight, bias), *_ = self.functions.layers(self.functions.theta.detach())[0]
        assert self.span.units is not None
        weight.copy_(self.span.units.weight)
        bias.copy_(self.span.units.bias)
        most = budget.most(part, _TRUNK_STEPS)
        fitted = train(fit, GaussNewton(), Stopping(most, 0.0, budget.seconds(part), PATIENCE))
        budget.done[part] = fitted.iterations
        return math.sqrt(2 * whole.value())

    @torch.no_grad()
    def _publish(self) -> None:
        """Give the network the mean weights: its branch ends in coordinates, and these in the trunk's last layer."""
        *hidden, (weight, bias) = split_layers(self._mean, self._shapes)
        *own, (W, b) = self.network.layers(self.network.theta.detach())[1]
        for (mine, mine_b), (its, its_b) in zip(own, hidden, strict=True):
            mine.copy_(its)
            mine_b.copy_(its_b)
        size = self.network.size_layer(self.network.theta.detach())
        if size is not None:
            for k, mine in enumerate(size):
                mine.copy_(
                    torch.zeros_like(mine) if self.span.scale is None else self.span.scale[k][self._field_of_output]
                )
        M, at_zero = self._head
        W.copy_(M @ weight)
        b.copy_(M @ bias + at_zero)

    # --- the pool ---------------------------------------------------------------------------------------------------------

    def adapt(self, iteration: int) -> int:
        """Every so many steps, draw parameters, correct the network's values there, and remember their coordinates."""
        at = iteration % self._steps
        if at == 0 and self._adapted != iteration:
            self._adapted = iteration
            self.settle(iteration)
            if not self._drawn:
                self._remember(self.span.z, self.span.u)
            self._learn()
            self._order.copy_(torch.randint(self._known, self._order.shape, generator=self._random))
            self._rate.fill_(1 / (1 + _MEMORY * iteration))
        self._at.fill_(at)
        return self._steps - at

    def _learn(self) -> None:
        """Draw parameters, correct the network's values there, remember what is an answer."""
        z = self.sampling.draw()
        found = settled(self.system, self.anchors, z, self.nodal.values(z), self.tolerance, self.rounds)
        self.fresh.append(float(found.first.mean()))
        good = (found.last <= self.wrong).cpu()
        self._remember(z[good], found.u[good.to(found.u.device)])

    def _remember(self, z: Tensor, u: Tensor) -> None:
        """Coordinates of answers (S, N); the oldest parameters of a full pool give way."""
        good = torch.isfinite(u).all(1)
        z, u = z.to(u.device)[good], u[good]
        new = z, self.span.coordinates(z, u), self.span.weights(self.system, z, u)
        room, wanted = len(self._pool[0]), self._drawn + len(u)
        if room < min(wanted, self.most):
            room = min(self.most, max(2 * room, wanted, 1024))
            self._pool = [torch.cat([p, p.new_zeros(room - len(p), p.shape[1])]) for p in self._pool]
            self.layout += 1
        where = (self._drawn + torch.arange(len(u), device=u.device)) % room
        for pool, rows in zip(self._pool, new, strict=True):
            pool[where.to(pool.device)] = rows.to(pool)
        self._drawn += len(u)

    @property
    def _known(self) -> int:
        """Parameters of the pool now."""
        return min(self._drawn, self.most)

    @property
    def most(self) -> int:
        """Parameters of a full pool."""
        return _POOL

    def settle(self, iteration: int) -> None:
        """The network becomes the mean of the last weights."""
        if iteration:
            self._publish()

    # --- what optimisers ask ----------------------------------------------------------------------------------------------

    def loss(self) -> Tensor:
        """Of the next part of the pool; each call takes the mean of the weights one step further."""
        with torch.no_grad():
            self._mean.lerp_(self._theta, self._rate)
            rows = self._order[self._at % self._steps][0]
            self._at += 1
        z, y, weight = (p[rows] for p in self._pool)
        off = (self._coordinates(z) - y) * weight[:, self.span.field_of]
        return 0.5 * off.square().sum() / len(rows)

    def _coordinates(self, z: Tensor) -> Tensor:
        """(S, r) for scaled parameters (S, K), differentiable in theta."""
        return self._through(z, split_layers(self._theta, self._shapes))

    def _units(self, z: Tensor, *hidden: tuple[Tensor, Tensor]) -> Tensor:
        a, activation = z, self.network.branch_activation.fused
        for w, c in hidden:
            a = activation(nn.functional.linear(a, w, c))
        return a

    def _through(self, z: Tensor, layers: list[tuple[Tensor, Tensor]]) -> Tensor:
        """Coordinates (S, r) for scaled parameters (S, K)."""
        *hidden, last = layers
        return nn.functional.linear(self._units(z, *hidden), *last)

    def describe(self) -> dict[str, Any]:
        """Of the anchors, for the report."""
        return self.anchors.describe()

    # --- record -------------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Tensor]:
        """Pool, random numbers, mean of the weights."""
        z, y, weight = self._pool
        return {
            **self.sampling.state(),
            "pool_random": self._random.get_state(),
            "fresh": torch.tensor(self.fresh, dtype=torch.float64),
            "mean": self._mean.clone(),
            "rate": self._rate.clone(),
            "counts": torch.tensor([self._drawn, self._adapted]),
            "order": self._order,
            "known_z": z,
            "known_y": y,
            "known_weight": weight,
        }

    def restore(self, state: dict[str, Tensor]) -> None:
        """Inverse of `state`."""
        self.sampling.restore(state)
        self._random.set_state(state["pool_random"].cpu())
        self.fresh = state["fresh"].tolist()
        self._drawn, self._adapted = (int(n) for n in state["counts"])
        for own, key in ((self._mean, "mean"), (self._rate, "rate"), (self._order, "order")):
            own.copy_(state[key])
        self._pool = [state[f"known_{k}"].to(self._theta) for k in ("z", "y", "weight")]
        self.layout += 1
        self._publish()
