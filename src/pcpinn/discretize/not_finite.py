"""Which of a problem's functions has no value at an iterate, where, and for which values of the fields."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..errors import PcpinnError
from .batches import Batch
from .discretisation import Discretisation
from .finite_elements import FiniteElements
from .singular import Degenerate

_OTHERS = (1.0, 0.1, 0.0)  # values of fields that are tried where one has none, with slopes of zero and of one


def not_finite(discretisation: Discretisation, u: np.ndarray) -> PcpinnError:
    """The error for an iterate u (N,) at which an equation or its derivative has no value."""
    if isinstance(discretisation, FiniteElements):
        for batch in discretisation.cells():
            found = _in_cells(discretisation, batch, batch.state(torch.from_numpy(u)))
            if found is not None:
                return found
    return Degenerate(
        "the residual or its derivative is not finite at the present iterate",
        "begin from a better guess (start=...), or approach the problem by pcpinn.continuation",
    )


def _in_cells(fe: FiniteElements, batch: Batch, state: Tensor) -> PcpinnError | None:
    """What is wrong at the first point of a batch at which something is."""
    x, derived = batch.points, False
    out = fe.pointwise.evaluate(x, state)
    if bool(torch.isfinite(out).all()):
        out, derived = fe.pointwise.jacobian(x, state).flatten(3).sum(3), True
    bad = ~torch.isfinite(out)
    where = bad.flatten(1).any(1)
    if not where.any():
        return None
    first = int(where.nonzero()[0])
    component, entry = (int(i) for i in bad[first].nonzero()[0])
    fields = fe.problem.unknowns
    names = [f.name for f in fields for _ in range(f.components)]
    what = f"the {'source' if entry == 0 else 'flux'} of {names[component]!r}"
    place = f"x = ({', '.join(f'{v:.6g}' for v in x[first].tolist())})"
    if not derived and _whatever_the_fields(fe, x[first], state[first]):
        return PcpinnError(
            f"{what} is not finite at {place}", "check divisions, logarithms, roots and tables of coefficients there"
        )
    values = ", ".join(f"{name} = {v:.3g}" for name, v in zip(names, state[first, :, 0].tolist(), strict=True))
    return Degenerate(
        f"{'the derivative of ' if derived else ''}{what} is not finite at {place}, where {values}",
        "keep roots, logarithms and divisions where they have values, whatever the fields are on the way "
        "(torch.clamp(u.value, min=1e-6)), or begin from a better guess (start=...)",
    )


def _whatever_the_fields(fe: FiniteElements, x: Tensor, state: Tensor) -> bool:
    """Whether there is no value at a point for other values of the fields either."""
    tried = torch.zeros((2 * len(_OTHERS), *state.shape), dtype=state.dtype)
    tried[:, :, 0] = torch.tensor(2 * _OTHERS, dtype=state.dtype)[:, None]
    tried[len(_OTHERS) :, :, 1:] = 1.0
    out = fe.pointwise.evaluate(x.expand(len(tried), -1), tried)
    return not bool(torch.isfinite(out).flatten(1).all(1).any())
