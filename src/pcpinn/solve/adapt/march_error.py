"""The error of a march of networks without a reference: its distance from a discrete march that is finer in space and in time."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ...clock import Clock
from ...discretize.transfer import by_field, values_in_cells
from ...errors import PcpinnError, PcpinnWarning
from ...mesh.slab_mesh import SlabMesh
from ...network.marched import MarchedNetwork
from ...network.placed_march import PlacedMarch
from ...problem.first_order import first_order
from ...problem.problem import Problem
from ...progress import Progress
from ..finer import CUT
from ..followed import followed
from ..settings import Settings
from .level import Elements
from .marches import PLACES, WEIGHTS, space_of
from .stepping import DiscreteMarch, march_discrete

_MOMENTS = 40  # at most so many moments at which a network is compared
_VALUES = 2e7  # at most so many values of the finer march
_ORDER = 3  # at least so many time levels per step of it


def estimate_march(
    problem: Problem,
    mesh: SlabMesh,
    settings: Settings,
    network: Any,
    seconds: float = math.inf,
    progress: Progress | None = None,
) -> tuple[dict[str, float], int]:
    """Relative L2 errors by field of a march of networks, and the size of the finer discretisation.

    One degree more in space and more time levels per step. Unlike an adaptive solve it has one finer level only: what that misses
    is not seen.

    Raises:
        PcpinnError: when the finer march is too large, cannot be made, or takes longer than the given seconds.
    """
    clock, steps = Clock(), len(mesh.times) - 1

    def told(done: int) -> None:
        if clock.seconds > seconds:
            raise PcpinnError(
                f"it takes longer than the time limit of {seconds:g} s: {done + 1} of {steps} steps of a finer march are done",
                "allow more time (time_limit=...), or call pcpinn.certify(solution)",
            )
        (progress or Progress()).count("error estimate", done + 1, steps)

    elements = Elements(settings.mesh.degree, settings.mesh.element, settings.mesh.quadrature)
    system = first_order(problem)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PcpinnWarning)
        space = space_of(*elements.raised(system, mesh.space), mesh.times)
        most = mesh.space.cell_count * max(1.0, CUT[mesh.space.dimension] / space.size)
        follows = followed(system, space.mesh, space.form.space, most)
        if follows.mesh is not space.mesh:
            space = space_of(*elements.raised(system, follows.mesh), mesh.times)
    order = max(_ORDER, settings.time.order + 1)
    if space.size * order * len(mesh.times) > _VALUES:
        raise PcpinnError("the finer march of an error estimate is too large", "compare with a march of half the steps")
    finest = march_discrete(space, "radau", order, mesh.times, told)
    shown = {f.name for f in problem.unknowns}
    distances = march_distances(finest, network) + follows.hidden_part(space.form)
    found = dict(zip((f.name for f in system.unknowns), distances.tolist(), strict=True))
    return {name: e for name, e in found.items() if name in shown and not problem.field(name).auxiliary}, space.size


def march_distances(finest: DiscreteMarch, network: Any) -> np.ndarray:
    """(F,) relative L2 distances by field of a marched network from a discrete march.

    Over some moments that are spread over all steps, and inside of them.
    """
    space = finest.space.form.space
    times = finest.times
    lengths = np.diff(times)
    count = len(lengths)
    own = np.unique(np.linspace(0, count - 1, min(count, _MOMENTS)).round().astype(int))
    edges = np.concatenate([[0], (own[1:] + own[:-1] + 1) // 2, [count]])
    quadrature = space.quadrature
    x = quadrature.x.reshape(-1, space.mesh.dimension)
    at = _at_moments(network, x)
    error, size = np.zeros(len(space.fields)), np.zeros(len(space.fields))
    for k, step in enumerate(own):
        values = finest.within(int(step), PLACES)
        for j, place in enumerate(PLACES):  # between the time levels too: at the ends of steps errors are the least
            weight = lengths[edges[k] : edges[k + 1]].sum() * WEIGHTS[j]
            u = at(times[step] + place * lengths[step]).double().cpu().numpy().reshape(*quadrature.dx.shape, -1)
            known = np.stack([values_in_cells(space, c, values[j]) for c in range(space.components)], axis=-1)
            error += weight * by_field(space, np.einsum("cq,cqk->k", quadrature.dx, (u - known) ** 2))
            size += weight * by_field(space, np.einsum("cq,cqk->k", quadrature.dx, known**2))
    return np.sqrt(error) / np.maximum(np.sqrt(size), 1e-14 * (np.sqrt(size).max() or 1.0))


def _at_moments(network: Any, x: np.ndarray) -> Callable[[float], torch.Tensor]:
    """A network of space and time at points x (n, d) of space, as a function of the moment."""
    points = torch.as_tensor(x).to(network.theta)
    if isinstance(network, MarchedNetwork):
        return PlacedMarch(network, points).at

    def at(t: float) -> torch.Tensor:
        with torch.no_grad():
            values: torch.Tensor = network(torch.column_stack([points, torch.full_like(points[:, 0], t)]))
            return values

    return at
