"""The loss in coordinates (spanned.py) by Gauss-Newton: a branch of one hidden layer, whose last one is solved for.

Answers so far are a regression of smooth functions. The last layer is solved for over all of them in every trial of a step, and
Gauss-Newton trains the hidden one: some tens of steps learn what takes Adam many thousands. Few parameters have first answers as
dense towards the ends of their ranges as Chebyshev's points, from which a dozen tell all that there is to know of one parameter.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ..errors import PcpinnError
from ..network.dense import split_layers
from ..network.initialisation import initialise_layer
from ..train.damping import Nielsen
from ..train.forms import allowed
from ..train.model import Forms, Model
from ..train.optimiser import State
from .budget import DRAWS, Budget
from .projected import RIDGE, STEEPNESS, Fit, fitted, hidden_model
from .sensed import sensing_layer
from .settled import FEWEST
from .sizes import Sizes, factors
from .spanned import SpannedLoss

_PER_WEIGHT = 16  # answers of a full pool, for each weight of one coordinate
PATIENCE = 20  # steps without a gain, with few parameters
_LOOK = 2  # draws of fresh parameters between two looks at the error
_RIDGES = (RIDGE, 1e-5, 1e-3, 1e-2)  # that are tried for few answers
_PLENTY = 4  # answers for each unit: then they need none
_TINY = 1e-3  # of usual sizes: relative errors of smaller answers tell nothing
_APART = 5  # one answer in so many tells how steep units are to be


class FittedLoss(SpannedLoss):
    """0.5 times the mean squared relative error of coordinates, over all answers so far, with the best last layer for these.

    Args:
        args, options: as of SpannedLoss; the branch has one hidden layer.

    Raises:
        PcpinnError: for another network.
    """

    rule = Nielsen()
    tolerance, rounds = 1e-4, 6
    wrong = 0.02  # one that is far off would be fitted like all others

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._first_ridge = RIDGE
        self.patience = PATIENCE if self.family.count == 1 else 0  # more go on learning from new samples
        self.round = _LOOK * self._steps
        if len(self._shapes) != 2:
            raise PcpinnError(
                "optimiser=gauss-newton solves for the last layer of a branch with one hidden layer",
                "leave the network out, give branch_depth=1, or take optimiser=adam",
            )

    @property
    def most(self) -> int:
        """Many times as many answers as weights could fit exactly: more would only take time."""
        (units, inputs), (outputs, _) = self._shapes
        return max(_PER_WEIGHT * (units + 1 + units * (inputs + 1) // outputs), len(self.span.z))

    def prepare(self, budget: Budget | None = None) -> None:
        """Fit the trunk, then the branch to the first answers, with what tells others best: steepness of units, sizes or none."""
        super().prepare(budget)
        scales = [self.span.scale] if self.span.scale is None else [self.span.scale, None]
        found = [(self._tried(scale), scale) for scale in scales]
        (_, self._first_ridge, w, b), scale = min(found, key=lambda one: one[0][0])
        self._begin_with(scale)
        (weight, bias), _ = split_layers(self._theta.detach(), self._shapes)
        weight.copy_(w)
        bias.copy_(b)
        self.value()
        self.settle(1)
        if self.family.count > FEWEST:
            self._gather(budget or Budget())

    def _tried(self, scale: Sizes | None) -> tuple[float, float, Tensor, Tensor]:
        """The least error at answers that a fit has not seen, with its ridge and hidden layer, of some steepnesses and ridges."""
        self._begin_with(scale)
        (weight, bias), _ = split_layers(self._theta.detach(), self._shapes)
        self._start_units(weight, bias)
        start, found = (weight.clone(), bias.clone()), []
        apart = torch.arange(self._drawn, device=weight.device) % _APART == _APART - 1
        for factor in STEEPNESS:
            weight.copy_(factor * start[0])
            bias.copy_(factor * start[1])
            for ridge in _RIDGES:
                self._first_ridge = ridge
                self._fit_last(~apart if bool(apart.any()) else None)
                found.append((self._error(apart), ridge, weight.clone(), bias.clone()))
        return min(found, key=lambda one: one[0])

    def _begin_with(self, scale: Sizes | None) -> None:
        """The first answers alone, in coordinates that are divided by these sizes."""
        self.span, self._drawn = replace(self.span, scale=scale), 0
        self._pool = [p[:0] for p in self._pool]
        self._remember(self.span.z, self.span.u)

    def _gather(self, budget: Budget) -> None:
        """Draw until there are plenty, with the last layer alone solved for."""
        draws = 0
        most = budget.most(DRAWS, -(-2 * self._plenty // self.sampling.count))  # some may not be answers
        while self._known < min(self._plenty, self.most) and draws < most and budget.seconds(DRAWS) > 0:
            self._learn()
            self.value()
            self.settle(1)
            draws += 1
        budget.done[DRAWS] = draws

    @property
    def _ridge(self) -> float:
        """While answers are few, the one with which others were told best: as many as units tell nothing of what is between."""
        return self._first_ridge if self._known < self._plenty else RIDGE

    @property
    def _plenty(self) -> int:
        """Answers that need no ridge, and from which Gauss-Newton learns more than these answers themselves."""
        return _PLENTY * self._shapes[0][0]

    def _start_units(self, weight: Tensor, bias: Tensor) -> None:
        """Steep anywhere in the ranges; where a parameter is a function, units see it at places."""
        own, c = torch.empty(weight.shape, dtype=torch.float64), torch.empty(bias.shape, dtype=torch.float64)
        initialise_layer(own, c, "spread", torch.Generator().manual_seed(self._seed))
        places = torch.as_tensor(self.system.nodes.points, dtype=torch.float64)
        sensing_layer(self.family, places, own, c, self._seed)
        weight.copy_(own)
        bias.copy_(c)

    def _error(self, which: Tensor) -> float:
        """Mean squared error of coordinates at some answers, relative to these but for tiny ones, with the present last layer."""
        z, y = (p[: self._known][which] for p in self._pool[:2])
        layers = split_layers(self._theta.detach(), self._shapes)
        fields = len(self.span.usual)
        coordinate = factors(self.span.scale, z, fields)[:, self.span.field_of]
        size = torch.stack([(coordinate * y)[:, self.span.field_of == k].norm(dim=1) for k in range(fields)], 1)
        off = (self._through(z, layers) - y) * coordinate / size.clamp(min=_TINY)[:, self.span.field_of]
        return float(off.square().sum(1).clamp(max=1.0).mean())

    def settle(self, iteration: int) -> None:
        """The network gets the present weights."""
        if iteration:
            self._mean.copy_(self._theta.detach())
            self._publish()

    # --- the last layer -----------------------------------------------------------------------------------------------

    def _fits(self, phi: Tensor, which: Tensor | None = None) -> list[Fit]:
        """By field: answers count by the size of that field in them."""
        _, y, weight = (p[: self._known] for p in self._pool)
        result = []
        points = torch.arange(self._known, device=phi.device)
        points = points if which is None else points[which]
        for k in range(weight.shape[1]):
            w, own = weight[points, k] ** 2, self.span.field_of == k
            result.append(fitted(phi, points, w, y[points][:, own][None], float(w.mean()), self._ridge))
        return result

    def _write(self, fits: list[Fit]) -> None:
        _, (weight, bias) = split_layers(self._theta.detach(), self._shapes)
        for k, fit in enumerate(fits):
            own = self.span.field_of == k
            weight[own], bias[own] = fit.best[0, :-1].T, fit.best[0, -1]

    @torch.no_grad()
    def _fit_last(self, which: Tensor | None = None) -> float:
        layer = split_layers(self._theta.detach(), self._shapes)[0]
        fits = self._fits(self._units(self._pool[0][: self._known], layer), which)
        self._write(fits)
        return sum(fit.loss for fit in fits)

    def value(self) -> float:
        """The loss with the best last layer, which the branch has then."""
        return self._fit_last()

    # --- what Gauss-Newton asks -----------------------------------------------------------------------------------------

    def resolve(self, recipe: Forms) -> tuple[str, int]:
        """The exact matrix of the hidden layer, over all answers.

        Raises:
            PcpinnError: for another one.
        """
        if recipe.matrix not in ("auto", "exact") or recipe.sample or recipe.even:
            raise PcpinnError(
                "loss=spanned with few parameters has the exact matrix of its branch: matrix, sample and even are not read",
                "leave them out, or take loss=sampled",
            )
        (units, inputs), _ = self._shapes
        hidden = units * (inputs + 1)
        needed, most = 8 * (3 * self.most * hidden + 4 * hidden**2) / 2**30, allowed(recipe, self._theta.device)
        if needed > most:
            raise PcpinnError(
                f"the matrix of {hidden} hidden weights of the branch, for {self.most} answers, needs {needed:.1f} GiB",
                f"take a narrower branch (branch_width), optimiser=adam, or raise memory (now {most:g} GiB for it)",
            )
        return "exact", self.size

    @torch.no_grad()
    def model_here(self, recipe: Forms, state: State) -> Model:
        """At the present hidden weights, with the best last layer."""
        layer = split_layers(self._theta.detach(), self._shapes)[0]

        def fit(phi: Tensor) -> list[Fit]:
            fits = self._fits(phi)
            self._write(fits)
            return fits

        seen = self._pool[0][: self._known]
        return hidden_model(layer, self.network.branch_activation, seen, fit, self._theta.detach())
