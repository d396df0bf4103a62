"""A small loss on the strong form, with any method's pieces."""

from functools import cache

import torch
from cases import boundary, chosen, general, grid

from pcpinn.baselines.collocation import collocation_loss
from pcpinn.solve.build import make_network

SMALL = {"width": 6, "depth": 2, "features": "none", "collocation": 20, "device": "cpu"}


@cache
def case():
    """A problem with Dirichlet and Robin conditions, and its mesh."""
    made = general(2)
    return made.problem(boundary(made, "robin")), grid(made.domain, 3)


def loss_of(method, **changes):
    """The loss of a method, untrained."""
    problem, mesh = case()
    settings = chosen(method=method, **{**SMALL, **changes})
    return collocation_loss(problem, mesh, make_network(problem, mesh, settings), settings)


def jacobian_by_differences(residual, theta, step=1e-6):
    """d residual() / d theta, column by column."""
    columns = []
    start = theta.detach().clone()
    for k in range(len(start)):
        values = []
        for sign in (1, -1):
            with torch.no_grad():
                theta.copy_(start)
                theta[k] += sign * step
            values.append(residual().detach())
        columns.append((values[0] - values[1]) / (2 * step))
    with torch.no_grad():
        theta.copy_(start)
    return torch.stack(columns, dim=1)
