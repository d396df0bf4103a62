"""Boundary layers along two sides of a square: -0.001 (u_xx + u_yy) + u_x + u_y = f with u = 0 around.

Truth: closed form, the product of two solutions in one dimension; f follows from it.
"""

import numpy as np
import torch

import pcpinn as pc

eps = 1e-3


def layer(s):
    return s - torch.exp((s - 1) / eps) + np.exp(-1 / eps)  # -eps v'' + v' = 1


def exact(x):
    return layer(x[0]) * layer(x[1])


problem = pc.Problem(
    pc.Rectangle((0, 0), (1, 1), name="sides"),
    flux=lambda x, u: eps * u.grad,
    source=lambda x, u: u.grad.sum() - layer(x[0]) - layer(x[1]),
    boundary={"sides": pc.Dirichlet(0.0)},
)

points = np.random.default_rng(0).random((4000, 2))  # evenly spread, so that means are integrals
reference = pc.Reference(points, exact(torch.tensor(points).T))
