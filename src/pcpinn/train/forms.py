"""Which matrix Gauss-Newton takes for a loss on nodal values, and on which nodes."""

from __future__ import annotations

import torch
from torch import Tensor

from ..errors import PcpinnError
from ..team import ALONE, Team
from .model import Forms
from .optimiser import State

_USUAL = 4.0  # GiB
_FEW_ROWS = 1024  # of a Jacobian, at least, at a time


def choose_form(
    recipe: Forms, p: int, n: int, device: torch.device, primal: bool = False, in_parts: bool = False
) -> tuple[str, int]:
    """The form and the number of rows for p weights and n nodes; `primal` where the matrix must be (p, p).

    With `in_parts` a Gram matrix (p, p) is added up from few rows at a time where all of them do not fit (`rows_at_once`).

    Raises:
        PcpinnError: when the form asked for does not fit into memory.
    """
    rows = n if recipe.matrix == "exact" else min(n, recipe.sample or max(4 * p, 4000))
    smaller = p if primal else min(p, rows)
    held = min(rows, _FEW_ROWS) if in_parts and smaller == p and recipe.matrix != "exact" else rows
    needed = 8 * (held * p + 3 * smaller**2) / 2**30
    most = allowed(recipe, device)
    if recipe.matrix == "matrix-free" or (recipe.matrix == "auto" and needed > most):
        return "matrix-free", rows
    if needed > most:
        raise PcpinnError(
            f"Gauss-Newton's {recipe.matrix} matrix needs {needed:.1f} GiB for {p} weights and {rows} nodes",
            f"use matrix=matrix-free, a smaller sample or network, or raise memory (now {most:g} GiB for these)",
        )
    return ("gram" if recipe.matrix == "auto" else recipe.matrix), rows


def rows_at_once(recipe: Forms, p: int, device: torch.device) -> int:
    """How many rows of a Jacobian fit beside a Gram matrix (p, p), its copy with damping and the factors of that."""
    return max(_FEW_ROWS, int((allowed(recipe, device) * 2**30 / 8 - 3 * p**2) / p))


def allowed(recipe: Forms, device: torch.device) -> float:
    """GiB. A quarter of a GPU's memory is usual: products in place of matrices cost far more iterations than memory is worth."""
    if recipe.memory is not None:
        return recipe.memory
    if device.type != "cuda":
        return _USUAL
    return max(_USUAL, torch.cuda.get_device_properties(device).total_memory / 2**32)


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
