"""Methods on the strong form from their parts: a recipe of the loss, an optimiser, a network. All else is the same for all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from ..network.recipe import MLP, NetworkRecipe
from ..problem.problem import Problem
from ..solution.solution import Solution
from ..solve.linear import solve_with
from ..solve.method import ALL_FIXED, Chosen, Method, Offer, Options, Refusal, offer_optimisers
from ..solve.settings import Settings
from ..solve.without_system import mesh_for_points, run_without_system
from ..train import Adam, GaussNewton, Optimiser
from .collocation import collocation_loss
from .recipe import Collocation, offer_all_at_once

# The settings of PINNacle (Hao et al. 2023), whose figures the paper compares with: network, points, Adam.
PINNACLE: dict[str, Any] = {
    "width": 100,
    "depth": 5,
    "activation": "tanh",
    "initialisation": "glorot-normal",
    "features": "none",
    "collocation": 8192,
    "boundary_points": 2048,
    "learning_rate": 1e-3,
    "beta1": 0.9,
    "beta2": 0.999,
    "iterations": 20_000,
    "precision": "float32",
    "certify": False,
}
# The same in small, to see on a CPU that everything runs.
PINNACLE_QUICK: dict[str, Any] = PINNACLE | {
    "width": 20,
    "depth": 2,
    "collocation": 256,
    "boundary_points": 128,
    "iterations": 200,
}


_UNREAD = {"quadrature": "this method assembles nothing"}


def strong_method(
    name: str,
    loss: Collocation | None = None,
    *,
    network: NetworkRecipe | None = None,
    optimiser: Optimiser | None = None,
    small: Mapping[str, Any] | None = None,
    **published: Any,
) -> Method:
    """A method on the strong form.

    Args:
        name: on the command line.
        loss: its recipe; by default that of the ordinary PINN.
        network, optimiser: its defaults; any other is allowed where none is given, or of the same kind.
        small: what it changes of quick presets, beside fewer iterations.
        published: what it changes of PINNacle's settings.
    """
    offer = partial(_offer, loss or Collocation(), network, optimiser)
    quick = {"iterations": 2000, **(small or {})}
    presets = {
        "quick": quick,
        "pinnacle": PINNACLE | published,
        "pinnacle-quick": PINNACLE_QUICK | published | (dict(small) if small else {}),
    }
    return Method(name, offer, partial(solve_strong, name), presets=presets, mesh=mesh_for_points)


def solve_strong(
    method: str, problem: Problem, settings: Settings | Mapping[str, Any] | None = None, **options: Any
) -> Solution:
    """Solve a problem by a method on the strong form; arguments as of `pcpinn.solve`."""
    return solve_with(partial(run_without_system, collocation_loss), method, problem, settings, **options)


def _offer(
    loss: Collocation,
    network: NetworkRecipe | None,
    optimiser: Optimiser | None,
    slot: str,
    chosen: Chosen,
    over_time: bool,
) -> Offer | Refusal:
    if slot == "optimiser" and optimiser is not None:
        return Offer(optimiser, (type(optimiser),), why="it is what makes this method")
    if slot == "optimiser":
        return offer_optimisers(Adam(), (GaussNewton,), "Gauss-Newton needs a loss on nodal values")
    if slot == "network":
        return Offer(MLP()) if network is None else Offer(network, (type(network),), why="it is what makes this method")
    if slot == "loss":
        return Offer(loss, (type(loss),))
    if slot == "run":
        return Offer(Options(certify=not over_time), without=ALL_FIXED)
    offered = offer_all_at_once(slot, chosen, over_time)
    if slot == "mesh" and isinstance(offered, Offer):
        return replace(offered, without={**offered.without, **_UNREAD, **({} if network is None else network.unseen)})
    return offered
