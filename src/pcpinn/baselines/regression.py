"""Supervised regression of a family: the same network and optimiser, fitted to direct solutions at a fixed set of parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ..family.anchors import Anchors
from ..family.direct import direct_solutions
from ..family.discretise import make_system
from ..family.family import Family
from ..family.loss import FamilyLoss
from ..family.run import FamilyRun
from ..family.sampling import Sampling
from ..family.surrogate import Surrogate
from ..family.system import System
from ..network.protocol import Network
from ..solve.method import FAMILY_METHODS, Method
from ..solve.settings import Settings, problem_is_over_time, resolve
from .family_recipes import offer_regression
from .family_tables import drawn


class LabelledLoss(FamilyLoss):
    """The relative misfit to solutions u (M, N) at scaled parameters z (M, K); a step sees some of them, in turn."""

    def __init__(
        self, network: Network, system: System, anchors: Anchors, sampling: Sampling, z: Tensor, u: Tensor
    ) -> None:
        super().__init__(network, system, anchors, sampling)
        self._z, self._u = z, u

    def adapt(self, iteration: int) -> int:
        """The next solutions."""
        count = min(self.sampling.count, len(self._z))
        some = torch.arange(iteration * count, (iteration + 1) * count) % len(self._z)
        self._inner = self._least_squares(self._z[some], self._u[some.to(self._u.device)])
        self.layout += 1
        return 1

    def settle(self, iteration: int) -> None:
        """Nothing: errors at other parameters are not known to this method."""


class RegressionRun(FamilyRun):
    """A run of a family on labels."""

    def make_loss(self) -> FamilyLoss:
        """The solutions are made here: they are part of the set-up."""
        loss, seed = self.settings.loss, self.settings.run.seed
        self.progress.stage("direct solutions")
        z = drawn(self.family, loss.solves, seed)
        host = make_system(self.family, self.mesh, self.settings, torch.device("cpu"))
        u = torch.from_numpy(direct_solutions(host, self.family.value(z))).to(self.own.device)
        return LabelledLoss(
            self.network, self.system, self.anchors, Sampling(self.family, loss.samples, 0.0, seed), z, u
        )


def solve_regression(family: Family, settings: Settings | Mapping[str, Any] | None = None, **options: Any) -> Surrogate:
    """A network for all problems of a family by regression; arguments as of `pcpinn.solve`."""
    return by_run(RegressionRun, "regression", family, settings, options)


def by_run(
    kind: type[FamilyRun],
    name: str,
    family: Family,
    settings: Settings | Mapping[str, Any] | None,
    options: Mapping[str, Any],
) -> Surrogate:
    """Carry out a run with the settings of a method; options that are not those of a run are settings."""
    own = {k: v for k, v in options.items() if k in ("out", "progress", "record", "resume", "on")}
    choices = {k: v for k, v in options.items() if k not in own}
    if not isinstance(settings, Settings):
        over_time = problem_is_over_time(family.base)
        settings = resolve(FAMILY_METHODS.find(name), over_time, {**(settings or {}), **choices})
    return kind(family, settings, **own).carry_out()


FAMILY_METHODS.register(Method("regression", offer_regression, solve_regression, family=True))
