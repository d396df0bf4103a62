"""A boundary layer: -0.001 u'' + u' = 1 with u = 0 at both ends. The layer at the right end is 0.001 wide.

Truth: closed form. Half of the points lie in the last hundredth, so that the layer counts.
"""

import numpy as np
import torch

import pcpinn as pc

eps = 1e-3


def exact(x):
    return x[0] - torch.exp((x[0] - 1) / eps) + np.exp(-1 / eps)


problem = pc.Problem(
    pc.Interval(0, 1),
    flux=lambda x, u: eps * u.grad,
    source=lambda x, u: u.grad[0] - 1,
    boundary={"left": pc.Dirichlet(0.0), "right": pc.Dirichlet(0.0)},
)

points = (np.arange(4000)[::-1, None] + 0.5) / 4000  # even, so that means are integrals
reference = pc.Reference(points, exact(torch.tensor(points).T))
