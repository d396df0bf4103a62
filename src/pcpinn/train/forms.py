"""Which matrix Gauss-Newton takes for a loss on nodal values, and on which nodes."""

from __future__ import annotations

import torch
from torch import Tensor

from ..errors import PcpinnError
from ..team import ALONE, Team
from .model import Forms
from .optimiser import State


def choose_form(recipe: Forms, p: int, n: int, device: torch.device, primal: bool = False) -> tuple[str, int]:
    """The form and the number of rows for p weights and n nodes; `primal` where the matrix must be (p, p).

    Raises:
        PcpinnError: when the form asked for does not fit into memory.
    """
    rows = n if recipe.matrix == "exact" else min(n, recipe.sample or max(4 * p, 4000))
    smaller = p if primal else min(p, rows)
    needed = 8 * (rows * p + 3 * smaller**2) / 2**30
    allowed = max(recipe.memory, _gpu_share(device))
    if recipe.matrix == "matrix-free" or (recipe.matrix == "auto" and needed > allowed):
        return "matrix-free", rows
    if needed > allowed:
        raise PcpinnError(
            f"Gauss-Newton's {recipe.matrix} matrix needs {needed:.1f} GiB for {p} weights and {rows} nodes",
            f"use matrix=matrix-free, a smaller sample or network, or raise memory (now {allowed:g})",
        )
    return ("gram" if recipe.matrix == "auto" else recipe.matrix), rows


def _gpu_share(device: torch.device) -> float:
    """A quarter of a GPU's memory in GiB: products in place of matrices cost far more iterations than memory is worth."""
    if device.type != "cuda":
        return 0.0
    return torch.cuda.get_device_properties(device).total_memory / 2**32


def sample_rows(
    weights: Tensor, m: int, state: State, even: float = 0.0, team: Team = ALONE, count: int | None = None
) -> tuple[Tensor, Tensor] | None:
    """m degrees of freedom drawn in proportion to their weights (N,), one from each m-th part of these, and the weights that
    they then have (m,); or None for all. Advances the random state.

    On a graded mesh most nodes stand for little volume: drawn evenly they would crowd out the rest. `even` is the part that is
    drawn so all the same, where the little volume has a singularity in it. Where a team shares `count` degrees of freedom, all
    its members draw the same sample, each takes its own rows of it, and there are m of them together.
    """
    count = len(weights) if count is None else count
    if m >= count:
        return None
    generator = torch.Generator()
    generator.set_state(state["random"].cpu())
    places = (torch.arange(m) + torch.rand(m, generator=generator, dtype=torch.float64)) / m
    state["random"] = generator.get_state()
    total = team.sum(weights.sum())
    chance = (1 - even) * weights + even * total / count if even else weights
    reached = chance.to(torch.float64).cumsum(0)
    places = places.to(reached.device)
    if team.alone:
        wanted = places * reached[-1]
    else:
        ends = torch.cat([reached.new_zeros(1), team.gather(reached[-1:], [1] * team.size)]).cumsum(0)
        start, end = ends[team.rank], ends[team.rank + 1]
        places = places * ends[-1]
        wanted = places[(places >= start) & (places < end)] - start
    rows = torch.searchsorted(reached, wanted).clamp_(max=len(weights) - 1)
    return rows, (total / m * weights[rows] / chance[rows] if even else (total / m).expand(len(rows)))
